"""A program under limits, and beside processes of attune's that are stopped or killed: its output and exit code are as without attune.

    python3 tests/e2e/limits_test.py --rounds 100      the table: condition, rounds that were the same, rounds that differed
"""

import glob
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from attune_e2e import ATTUNE, BUILD, FULL, E2E, PATIENCE_S

ROUNDS = 100 if FULL else 2
PROGRAM = """
import os, threading, resource
threading.stack_size(1 << 18)  # two of the usual size fit into the address space only if the first one has ended
lock = threading.Lock()
def work():
    for _ in range(1000):
        with lock:
            pass
threads = [threading.Thread(target=work) for _ in range(2)]
for t in threads: t.start()
for t in threads: t.join()
print([resource.getrlimit(r) for r in (resource.RLIMIT_NOFILE, resource.RLIMIT_AS, resource.RLIMIT_FSIZE, resource.RLIMIT_CPU, resource.RLIMIT_STACK, resource.RLIMIT_NICE, resource.RLIMIT_RTPRIO)])
print(len(os.listdir('/proc/self/fd')))
print(os.popen('echo child').read())
raise SystemExit(7)
"""
ULIMITS = {"address space": "-v 95000", "descriptors": "-n 20", "processes": "-u 200", "file size": "-f 16", "stack": "-s 256", "locked memory": "-l 16",
           "core": "-c 0", "CPU time": "-t 5", "data": "-d 60000", "signals": "-i 8", "file locks": "-x 1", "niceness": "-e 0", "real-time priority": "-r 0", "message queues": "-q 1000"}
MOUNTS = {"full /dev/shm": "mount -t tmpfs -o size=4k none /dev/shm && head -c 4096 /dev/zero > /dev/shm/full",
          "read-only /dev/shm": "mount -t tmpfs -o ro none /dev/shm",
          "full /tmp": "mount -t tmpfs -o size=4k none /tmp && head -c 4096 /dev/zero > /tmp/full",
          "read-only /tmp": "mount -t tmpfs -o ro none /tmp"}


class Limits(E2E):
    def setUp(self):
        super().setUp()
        self.env["PROGRAM"] = PROGRAM
        self.env["PATH"] = os.path.dirname(sys.executable) + ":" + self.env["PATH"]

    def limited(self, limit, program, env):
        return self.run_program("bash", "-c", f'ulimit {limit} || exit 99; exec {program}', env=env)

    def same(self, run):
        """How many rounds ended as without attune. @param run how a command runs under the condition"""
        alone = 'python3 -c "$PROGRAM"'
        observed = f"{ATTUNE} run -q -- {alone}"
        same = 0
        for _ in range(ROUNDS):
            expected, seen = run(alone), run(observed)
            is_same = (expected.stdout, expected.returncode) == (seen.stdout, seen.returncode)
            same += is_same
            if not is_same:
                print(f"alone {expected.returncode} {expected.stdout!r} {expected.stderr!r}\nseen  {seen.returncode} {seen.stdout!r} {seen.stderr!r}", flush=True)
        return same

    def check(self, name, run):
        same = self.same(run)
        print(f"{name:24} {same:5} same {ROUNDS - same:5} different", flush=True)
        self.assertEqual(same, ROUNDS, name)

    def test_resource_limits(self):
        for name, limit in ULIMITS.items():
            with self.subTest(name):
                self.check(name, lambda command, limit=limit: self.limited(limit, command, self.env))

    @unittest.skipUnless(os.geteuid() == 0, "mounts need root")
    def test_file_systems(self):
        env = dict(self.env)
        env.pop("XDG_RUNTIME_DIR")
        # Recordings go to where the program runs, which must not be below /tmp.
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            for name, mounts in MOUNTS.items():
                with self.subTest(name):
                    self.check(name, lambda command, mounts=mounts: self.run_program("unshare", "-m", "bash", "-c", f"cd {folder}; {mounts}; exec {command}", env=env))

    @unittest.skipUnless(os.geteuid() == 0, "mounts need root")
    def test_locks_are_recorded_without_shared_memory(self):
        gone = {"missing /dev/shm": "mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3"}
        for name, mounts in {**MOUNTS, **gone}.items():
            if "/tmp" in name:
                continue
            with self.subTest(name):
                command = f'cd {self.folder}; {mounts}; exec {ATTUNE} run -q -s none -f -o r.attune -- {os.path.join(BUILD, "tests/e2e/contention")}'
                result = self.run_program("unshare", "-m", "bash", "-c", command)
                self.assertEqual(result.returncode, 0, result.stderr)
                counted = self.query("r.attune", "select sum(count) as n from sync where kind = 'mutex'")
                self.assertGreater(counted[0]["n"] or 0, 0)
                unseen = self.query("r.attune", "select value from info where key like 'unseen%' and value like 'locks%'")
                self.assertEqual(unseen, [])

    def test_a_program_that_takes_its_rings_ends_as_alone(self):
        program = os.path.join(BUILD, "tests/probe/hard_cases")
        for case in ("unmaps", "truncates"):
            for level in ("off", "profile", "blame", "trace"):
                with self.subTest(case=case, level=level):
                    result = self.attune("run", "-q", "-s", "none", "--level", level, "-f", "-o", "r.attune", "--", program, case)
                    self.assertEqual((result.returncode, result.stdout), (0, b"100020\n"), result.stderr)

    def session(self):
        limit = time.monotonic() + 60
        while time.monotonic() < limit:
            for path in glob.glob(os.path.join(self.runtime, "attune", "*", "info.json")):
                with open(path, encoding="utf-8") as f:
                    text = f.read()
                if os.path.exists(self.path("running")) and text:
                    return json.loads(text)["pid"]
            time.sleep(0.005)
        raise AssertionError("there is no session")

    def start(self):
        """A program that runs until there is a file `end`."""
        for name in ("running", "end"):
            if os.path.exists(self.path(name)):
                os.unlink(self.path(name))
        script = "echo begin; : > running; until [ -e end ]; do sleep 0.01; done; echo done; exit 5"
        return subprocess.Popen([ATTUNE, "run", "-q", "-s", "none", "--", "sh", "-c", script], cwd=self.folder, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def ends(self, running):
        self.write("end", "")
        out, err = running.communicate(timeout=PATIENCE_S)
        self.assertEqual((out, running.returncode), (b"begin\ndone\n", 5), err)
        return err

    def test_stopped_session(self):
        for _ in range(ROUNDS):
            running = self.start()
            session = self.session()
            os.kill(session, signal.SIGSTOP)
            try:
                self.assertIn(b"does not answer: it is stopped", self.ends(running))
            finally:
                os.kill(session, signal.SIGCONT)
            limit = time.monotonic() + 60
            while os.path.exists(os.path.join(self.runtime, "attune", str(session))):
                self.assertLess(time.monotonic(), limit, "the session does not end")
                time.sleep(0.01)

    def test_stopped_launcher(self):
        for _ in range(ROUNDS):
            running = self.start()
            self.session()
            os.kill(running.pid, signal.SIGSTOP)
            self.write("end", "")
            self.assertEqual(running.stdout.readline(), b"begin\n")
            self.assertEqual(running.stdout.readline(), b"done\n")
            os.kill(running.pid, signal.SIGCONT)
            running.communicate(timeout=PATIENCE_S)
            self.assertEqual(running.returncode, 5)

    def test_killed_session(self):
        for _ in range(ROUNDS):
            running = self.start()
            os.kill(self.session(), signal.SIGKILL)
            self.ends(running)

    def test_usage_errors_still_refuse(self):
        self.write("there.attune", "")
        for options in (["-o", "there.attune"], ["-s", "nosuchsensor"], ["--level", "nosuch"]):
            result = self.attune("run", *options, "--", "echo", "ran")
            self.assertEqual(result.stdout, b"", options)
            self.assertNotEqual(result.returncode, 0)


if __name__ == "__main__":
    if "--rounds" in sys.argv:
        at = sys.argv.index("--rounds")
        ROUNDS = int(sys.argv[at + 1])
        del sys.argv[at:at + 2]
    unittest.main(verbosity=2)
