"""What the end-to-end tests share: the binary, a scratch folder, queries. Standard library only.

Environment: ATTUNE_BIN (the binary), ATTUNE_BUILD (the build folder), ATTUNE_FULL=1 (all rounds, not a sample of them),
ATTUNE_MEASURED (1: the tests alone that measure times, which no other test may run beside; 0: all others).
"""

import collections
import ctypes
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ATTUNE = os.path.abspath(os.environ.get("ATTUNE_BIN", "build/release/bin/attune"))
BUILD = os.path.abspath(os.environ.get("ATTUNE_BUILD", "build/release"))
FULL = os.environ.get("ATTUNE_FULL") == "1"
# Ends what hangs, and says nothing of speed: longer than anything takes where there is hardly a CPU for it.
PATIENCE_S = 1800


def needs(*programs):
    """Skips the test, by name of what is missing, where a program is not installed."""
    missing = [p for p in programs if shutil.which(p) is None]
    return unittest.skipIf(missing, "not installed: " + ", ".join(missing))


PYTHON = "/usr/bin/python3"


def needs_python():
    """Skips a test where the system's Python is none whose functions are known (src/wire/python.h)."""
    version = subprocess.run([PYTHON, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True, check=False) \
        if os.path.exists(PYTHON) else None
    return unittest.skipUnless(version is not None and version.stdout == "3 11\n", "needs CPython 3.11")


def throttled_s():
    """For how long the container's limit kept CPUs from us."""
    try:
        with open("/sys/fs/cgroup/cpu.stat", encoding="ascii") as f:
            return int(dict(line.split() for line in f).get("throttled_usec", 0)) * 1e-6
    except OSError:
        return 0.0


def cpu_s_of_tests():
    """CPU time of the process that `alone_with_what_it_starts` watches from, and of all that it started or adopted."""
    of, children = {}, collections.defaultdict(list)
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
                fields = f.read().rpartition(")")[2].split()
        except OSError:
            continue
        children[int(fields[1])].append(int(pid))
        of[int(pid)] = sum(int(ticks) for ticks in fields[11:15])  # utime, stime, cutime, cstime
    pending, ticks = [os.getppid() if is_watched else os.getpid()], 0
    while pending:
        pid = pending.pop()
        ticks += of.get(pid, 0)
        pending += children[pid]
    return ticks / os.sysconf("SC_CLK_TCK")


class OthersLoad:
    """What takes the CPUs that we may use from this process and what it starts: other programs, the host of a virtual machine,
    the limit of a container."""

    MUCH = 0.15

    def __init__(self):
        self.cpus = os.sched_getaffinity(0)
        self.start = self.now()

    def now(self):
        busy = throttled_s()
        with open("/proc/stat", encoding="ascii") as f:
            for name, *ticks in (line.split() for line in f if re.match(r"cpu\d", line)):
                if int(name[3:]) in self.cpus:
                    user, nice, system, _, _, irq, softirq, stolen = (int(each) for each in ticks[:8])
                    busy += (user + nice + system + irq + softirq + stolen) / os.sysconf("SC_CLK_TCK")
        return time.monotonic(), busy - cpu_s_of_tests()

    def share(self):
        """Of those CPUs, since then."""
        t, busy = self.now()
        return (busy - self.start[1]) / (t - self.start[0]) / len(self.cpus)

    def is_much(self):
        return self.share() > self.MUCH


def not_measured(test, share):
    """`./dev test` lists what is skipped in these words."""
    return test.skipTest(f"could not be measured: others had {share:.0%} of the CPUs")


def where_cpus_are_free(test):
    """Of three runs one must do, and a failure counts where others leave the CPUs alone: whose threads get none wait for that, and
    not for what is planted. A virtual machine can lose its CPUs for some milliseconds without seeing it."""
    @functools.wraps(test)
    def run(self):
        others = 0.0
        for left in (2, 1, 0):
            load = OthersLoad()
            try:
                return test(self)
            except unittest.SkipTest:
                raise
            except Exception as error:  # whatever follows from times that were not as wanted
                others = max(others, load.share())
                if left == 0 and others <= OthersLoad.MUCH:
                    raise
                print(f"once more, others had {others:.0%} of the CPUs: {repr(error)[:200]}")
                # The next try finds neither files nor processes of this one.
                self.doCleanups()
                self.setUp()
        return not_measured(self, others)
    run.is_measured = True
    return run


def each_where_cpus_are_free(cases):
    for name in [name for name in vars(cases) if name.startswith("test_")]:
        setattr(cases, name, where_cpus_are_free(getattr(cases, name)))
    return cases


def without_others(report):
    """The report without what is no fault of the program: other programs that had the CPUs."""
    report["findings"] = [finding for finding in report["findings"] if finding["class"] != "other-programs"]
    return report


def unseen_but_cpu(report):
    """What could not be seen, without what an ordinary user is not given of CPU samples."""
    return [what for what in report["unseen"] if not what.startswith("CPU ")]


class E2E(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="attune-e2e-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.runtime = os.path.join(self.folder, "runtime")
        os.mkdir(self.runtime, 0o700)
        # What whoever runs this has set up for themselves is not what is tested.
        self.env = dict(os.environ, XDG_RUNTIME_DIR=self.runtime, XDG_CONFIG_HOME=self.path("no-config"), NO_COLOR="1")
        self.env.pop("ATTUNE_SESSION", None)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text, mode=0o644):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(self.path(name), mode)
        return self.path(name)

    def run_program(self, *command, **kwargs):
        self.last = subprocess.run(list(command), cwd=self.folder, env=kwargs.pop("env", self.env), capture_output=True, timeout=kwargs.pop("timeout", PATIENCE_S), **kwargs)
        return self.last

    def attune(self, *arguments, **kwargs):
        return self.run_program(ATTUNE, *arguments, **kwargs)

    def until(self, condition, what, pause_s=0.02):
        """Waits for it. @return what the condition gave"""
        end = time.monotonic() + PATIENCE_S
        while not (found := condition()):
            self.assertLess(time.monotonic(), end, "waited in vain for " + what)
            time.sleep(pause_s)
        return found

    def query(self, recording, sql):
        result = self.attune("query", recording, sql, "--json")
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        return json.loads(result.stdout)

    def assert_nothing_left(self):
        """No session folder, no rings of this test's sessions."""
        base = os.path.join(self.runtime, "attune")
        left = [n for n in os.listdir(base) if n != "lock"] if os.path.isdir(base) else []
        self.assertEqual(left, [], "session folders are left")


class Loader(unittest.TestLoader):
    """Has those tests of a class that ATTUNE_MEASURED wants."""

    def getTestCaseNames(self, testCaseClass):
        wanted = os.environ.get("ATTUNE_MEASURED")
        names = super().getTestCaseNames(testCaseClass)
        return [name for name in names if wanted is None or hasattr(getattr(testCaseClass, name), "is_measured") == (wanted == "1")]


class Result(unittest.TextTestResult):
    """Says what the last command of a failed test had to say, and in a line of its own what is skipped: `./dev test` lists it."""

    def addFailure(self, test, err):
        super().addFailure(test, err)
        last = getattr(test, "last", None)
        if last is not None:
            errors = last.stderr if isinstance(last.stderr, str) else last.stderr.decode(errors="replace")
            self.stream.writeln(f"the last command was {last.args}: exit code {last.returncode}, {errors[-2000:]!r}")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        name = test.id().removeprefix("__main__.")
        self.stream.writeln(f"skipped: {name} ({' '.join(reason.split())})")


PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
is_watched = False


def alone_with_what_it_starts():
    """Goes on in a child of a process that adopts and reaps what leaves its parent, as sessions of attune do: their CPU time is that
    of the tests, not that of others."""
    global is_watched
    libc = ctypes.CDLL(None, use_errno=True)
    watcher = os.getpid()
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    tests = os.fork()
    if tests == 0:
        libc.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        is_watched = os.getppid() == watcher
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        ended, status = os.waitpid(-1, 0)
        if ended == tests:
            sys.stdout.flush()
            os._exit(os.waitstatus_to_exitcode(status) & 0xff)


def main():
    if os.environ.get("ATTUNE_MEASURED") == "1":
        alone_with_what_it_starts()
    unittest.main(testLoader=Loader(), testRunner=unittest.TextTestRunner(resultclass=Result, verbosity=2))
