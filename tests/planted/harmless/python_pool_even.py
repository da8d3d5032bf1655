# Two processes of a pool compute equal shares.
# planted: class=none
import multiprocessing
import time


def compute(milliseconds):
    end = time.thread_time_ns() + milliseconds * 1000000
    while time.thread_time_ns() < end:
        sum(range(1000))
    return milliseconds


if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        pool.map(compute, [1000, 1000], chunksize=1)
