# Two threads of Python compute, and one lock of the interpreter lets one of them at a time.
# planted: class=interpreter-lock function=count_primes
import threading
import time

from planted import lost, queued_ns, write_truth


def count_primes(limit):
    # <- cause: begin
    count = 0
    for number in range(2, limit):
        for divisor in range(2, int(number**0.5) + 1):
            if number % divisor == 0:
                break
        else:
            count += 1
    return count
    # <- cause: end


def run_thread():
    before = time.monotonic_ns(), time.thread_time_ns(), queued_ns()
    count_primes(350000)
    lost((time.monotonic_ns() - before[0]) - (time.thread_time_ns() - before[1]) - (queued_ns() - before[2]))


threads = [threading.Thread(target=run_thread) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
write_truth()
