"""Clocks and the figure of the time lost, for the planted programs in Python: as planted.h."""

import os
import time

_lost_ns = 0


def queued_ns():
    """Time that the calling thread waited for a CPU, as the kernel counts it."""
    with open("/proc/thread-self/schedstat", encoding="ascii") as f:
        return int(f.read().split()[1])


def lost(ns):
    global _lost_ns
    _lost_ns += ns


def lost_since(before_ns):
    lost(time.monotonic_ns() - before_ns)


def write_truth():
    """Writes what this process has lost, and starts again at 0."""
    global _lost_ns
    line = f"lost_ns {_lost_ns}\n"
    _lost_ns = 0
    if "PLANTED_TRUTH" not in os.environ:
        print(line, end="")
        return
    with open(os.environ["PLANTED_TRUTH"], "a", encoding="ascii") as f:
        f.write(line)
