# Threads of Python share a connection, and keep its lock while they wait for the answer.
# planted: class=lock-contention function=ask
import threading
import time

from planted import lost, write_truth

connection = threading.Lock()
waits = []


def ask(number):
    before_ns = time.monotonic_ns()
    with connection:  # <- cause
        waits.append(time.monotonic_ns() - before_ns)
        time.sleep(0.005)
        return number


def run_thread():
    for number in range(80):
        ask(number)
        time.sleep(0.001)


threads = [threading.Thread(target=run_thread) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
lost(sum(waits))
write_truth()
