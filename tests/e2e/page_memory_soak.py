"""The memory of a live session whose page is opened and left again and again: within 10 MB of what it was after a twelfth of the time.

    ATTUNE_SOAK_SECONDS=3600 python3 tests/e2e/page_memory_soak.py

prints the resident memory of the session's process each minute.
"""

import os
import sys
import tempfile
import time

from flood_test import Live
from page_client import Page

SECONDS = float(os.environ.get("ATTUNE_SOAK_SECONDS", "3600"))
BOUND_KIB = 10 << 10
VISITS_A_SECOND = 2


def session_of(runtime):
    """The process that serves the page: the launcher only waits for it."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as f:
                ours = f"XDG_RUNTIME_DIR={runtime}".encode() in f.read().split(b"\0")
            with open(f"/proc/{name}/comm", encoding="utf-8") as f:
                ours = ours and f.read().startswith("attune")
            if ours and os.path.realpath(f"/proc/{name}/cwd") == "/":
                return int(name)
        except OSError:
            continue
    raise AssertionError("there is no session")


def resident_kib(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS:"))


def visit(url):
    page = Page(url)
    page.log_in()
    page.once("GET", "/")
    socket = page.web_socket()
    socket.until("hello")
    socket.send({"credits": 4, "view": {"id": 1, "series": list(range(1, 40)), "follow": 600_000_000_000, "pixels": 1000}})
    socket.until("update")
    for name in ("waits", "sync-graph", "sites", "flames", "messages"):
        socket.send({"document": {"name": name, "version": 0}})
        socket.until("document", name=name)
    socket.close()


def main():
    with tempfile.TemporaryDirectory(prefix="attune-soak-") as folder:
        live = Live(folder, *sys.argv[1:])
        try:
            pid = session_of(os.path.join(folder, "runtime"))
            begin, visits, reference, said = time.monotonic(), 0, None, -1
            while (now := time.monotonic() - begin) < SECONDS:
                visit(live.url)
                visits += 1
                if int(now // min(60, SECONDS / 12)) > said:
                    said = int(now // min(60, SECONDS / 12))
                    print(f"{now:6.0f} s {visits:6} visits {resident_kib(pid) / 1024:7.1f} MiB", flush=True)
                if reference is None and now > SECONDS / 12:
                    reference = resident_kib(pid)
                time.sleep(max(0, 1 / VISITS_A_SECOND - (time.monotonic() - begin - now)))
            grown = resident_kib(pid) - reference
            print(f"{grown / 1024:+.1f} MiB since {SECONDS / 12:.0f} s (limit: 10)")
            return 0 if grown <= BOUND_KIB else 1
        finally:
            live.stop()


if __name__ == "__main__":
    sys.exit(main())
