# A file is read by os.read one byte at a time.
# planted: class=small-io function=count_lines tolerance=none
import os
import tempfile
import time

from planted import write_truth


def count_lines(file):
    os.lseek(file, 0, os.SEEK_SET)
    lines = 0
    while byte := os.read(file, 1):  # <- cause
        lines += byte == b"\n"
    return lines


with tempfile.TemporaryFile() as table:
    table.write(b"0123456789012345678\n" * 5000)
    table.flush()
    stop_ns = time.monotonic_ns() + 1300000000
    while time.monotonic_ns() < stop_ns:
        count_lines(table.fileno())
write_truth()
