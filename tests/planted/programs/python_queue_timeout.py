# A consumer waits for a queue that nobody fills, with a limit of 50 ms, and only then looks into the list that has its work.
# planted: class=timeout-wait function=next_item
import queue
import time

from planted import lost_since, write_truth

wrong_queue = queue.Queue()
work = list(range(25))


def next_item():
    before_ns = time.monotonic_ns()
    try:
        return wrong_queue.get(timeout=0.05)  # <- cause
    except queue.Empty:
        lost_since(before_ns)
        return work.pop()


while work:
    item = next_item()
    sum(range(10000 + item))
write_truth()
