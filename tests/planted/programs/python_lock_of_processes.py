# Two processes of Python share a lock (multiprocessing.Lock), and keep it while they compute.
# planted: class=lock-contention|serialisation function=update processes=3
import multiprocessing
import time

from planted import lost_since, write_truth


def compute(milliseconds):
    end = time.thread_time_ns() + milliseconds * 1000000
    while time.thread_time_ns() < end:
        sum(range(500))


def update(lock):
    before_ns = time.monotonic_ns()
    with lock:  # <- cause
        lost_since(before_ns)
        compute(5)


def run_process(lock):
    for _ in range(100):
        update(lock)
        compute(1)
    write_truth()


if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    shared = context.Lock()
    processes = [context.Process(target=run_process, args=(shared,)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
