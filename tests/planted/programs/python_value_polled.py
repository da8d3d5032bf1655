# A process of Python reads a shared value in a loop until its child has counted it up.
# planted: class=busy-wait function=await_count processes=2
import multiprocessing
import time

from planted import lost, write_truth

STEPS = 60


def count_up(counter):
    for _ in range(STEPS):
        end = time.thread_time_ns() + 20000000
        while time.thread_time_ns() < end:
            sum(range(500))
        counter.value += 1


def await_count(counter, count):
    before_ns = time.thread_time_ns()
    while counter.value < count:  # <- cause
        pass  # <- cause
    lost(time.thread_time_ns() - before_ns)


if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    shared = context.RawValue("i", 0)
    child = context.Process(target=count_up, args=(shared,))
    child.start()
    for step in range(1, STEPS + 1):
        await_count(shared, step)
    child.join()
    write_truth()
