# A parent gets its results through a pipe from a child that computes each for long.
# planted: class=slow-peer function=make_results|take_results processes=2
import multiprocessing
import time

from planted import lost_since, write_truth

RESULTS = 100


def make_results(connection):
    for number in range(RESULTS):
        end = time.thread_time_ns() + 12000000
        while time.thread_time_ns() < end:
            sum(range(2000))
        connection.send(number)  # <- cause


def take_results(connection):
    for _ in range(RESULTS):
        before_ns = time.monotonic_ns()
        connection.recv()  # <- cause
        lost_since(before_ns)


if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)
    child = context.Process(target=make_results, args=(sending,))
    child.start()
    take_results(receiving)
    child.join()
    write_truth()
