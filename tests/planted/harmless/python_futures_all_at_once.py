# All pieces are given to a pool of two processes before the first result is waited for; they take the same time.
# planted: class=none
import time
from concurrent.futures import ProcessPoolExecutor


def compute(milliseconds):
    end = time.thread_time_ns() + milliseconds * 1000000
    while time.thread_time_ns() < end:
        sum(range(500))
    return milliseconds


if __name__ == "__main__":
    with ProcessPoolExecutor(2) as pool:
        futures = [pool.submit(compute, 25) for _ in range(80)]
        for future in futures:
            assert future.result() == 25
