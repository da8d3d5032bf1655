# Python computes with one thread.
# planted: class=none
import time


def collatz(start):
    steps = 0
    while start != 1:
        start = start // 2 if start % 2 == 0 else 3 * start + 1
        steps += 1
    return steps


end = time.monotonic() + 1.3
number = 1
while time.monotonic() < end:
    collatz(number)
    number += 1
