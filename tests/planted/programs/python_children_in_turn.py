# A build script starts independent commands by subprocess.run, each when the one before has ended.
# planted: class=child-wait function=build_all|build processes=5
import subprocess
import sys
import time

from planted import lost_since, write_truth

COMMAND = [sys.executable, "-S", "-c", "import time\nend = time.thread_time() + 0.15\nwhile time.thread_time() < end: pass"]


def build():
    before_ns = time.monotonic_ns()
    subprocess.run(COMMAND, check=True)  # <- cause
    lost_since(before_ns)


def build_all(targets):
    for _ in range(targets):
        build()  # <- cause


build_all(8)
write_truth()
