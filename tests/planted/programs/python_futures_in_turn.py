# Independent pieces are given to a pool of two processes, each when the result of the one before is there.
# planted: class=sequential-futures function=evaluate processes=3
import time
from concurrent.futures import ProcessPoolExecutor

from planted import lost_since, write_truth


def compute(milliseconds):
    end = time.thread_time_ns() + milliseconds * 1000000
    while time.thread_time_ns() < end:
        sum(range(500))
    return milliseconds


def evaluate(pieces):
    with ProcessPoolExecutor(2) as pool:
        for _ in range(pieces):
            future = pool.submit(compute, 20)  # <- cause
            before_ns = time.monotonic_ns()
            future.result()  # <- cause
            lost_since(before_ns)


if __name__ == "__main__":
    evaluate(60)
    write_truth()
