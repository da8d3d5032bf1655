"""The table of exit codes in docs/command-line.md, a row a test."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
import unittest

from attune_e2e import ATTUNE, E2E, PATIENCE_S, main

CAN_MOUNT = subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "x", "/mnt"], capture_output=True, check=False).returncode == 0
# A recording of some counters a thousand times a second outgrows this at once.
ON_A_SMALL_DISK = "mkdir -p small; mount -t tmpfs -o size=32k tmpfs small; exec \"$@\""


class ExitCodes(E2E):
    def expect(self, code, *arguments, says=(), **kwargs):
        result = self.attune(*arguments, **kwargs)
        err = result.stderr.decode()
        self.assertEqual(result.returncode, code, err)
        for text in (says,) if isinstance(says, str) else says:
            self.assertIn(text, err)
        self.assertNotIn("defect", err)
        return err

    def on_a_small_disk(self, *arguments):
        return self.run_program("unshare", "-rm", "sh", "-c", ON_A_SMALL_DISK, "sh", ATTUNE, *arguments, timeout=PATIENCE_S)

    def test_0_a_recording_that_is_complete(self):
        err = self.expect(0, "record", "-s", "cpu", "--for", "200ms", "-o", "x.attune")
        self.assertRegex(err, r"attune: it ends after 200 ms, or with Ctrl-C\n")
        self.assertRegex(err, r"attune: recorded [\d.]+ m?s in [\d.]+ kB: x\.attune\nattune: attune report x\.attune says")
        self.assertEqual(self.expect(0, "record", "-q", "-s", "cpu", "--for", "200ms", "-o", "y.attune"), "")

    def test_1_a_file_that_is_not_there_or_no_recording(self):
        self.expect(1, "report", "nowhere.attune", says="nowhere.attune")
        self.write("text.attune", "x" * 5000)
        self.expect(1, "report", "text.attune", says="is not a recording")

    def test_1_a_finding_beyond_a_limit(self):
        self.write("wait.py", "import threading, time\nlock = threading.Lock()\ndef hold():\n  for _ in range(20):\n"
                   "    with lock: time.sleep(0.02)\nthreads = [threading.Thread(target=hold) for _ in range(3)]\n"
                   "for t in threads: t.start()\nfor t in threads: t.join()\n")
        self.run_program(ATTUNE, "run", "-q", "-o", "wait.attune", "--", sys.executable, "wait.py", timeout=PATIENCE_S)
        self.expect(1, "report", "wait.attune", "--fail-on", "deadlock", "--fail-on", "any>1%", says="(--fail-on any>1%)")
        self.expect(0, "report", "wait.attune", "--fail-on", "deadlock", "--fail-on", "io-wait>5%")
        self.expect(2, "report", "wait.attune", "--fail-on", "deadlok>5%", says=("names no class of findings", "did you mean deadlock?"))

    @unittest.skipUnless(CAN_MOUNT, "no file system can be mounted here")
    def test_1_a_full_disk(self):
        for command in ("record", "stat", "live"):
            with self.subTest(command):
                result = self.on_a_small_disk(command, "-i", "1kHz", "-s", "cpu,vmstat,interrupts", "--for", "3s", "-o", "small/x.attune")
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertIn(b"the recording is not complete: ", result.stderr)
                self.assertIn(b"No space left on device", result.stderr)

    @unittest.skipUnless(CAN_MOUNT, "no file system can be mounted here")
    def test_a_program_keeps_its_code_on_a_full_disk(self):
        # On a busy machine the disk is full later: what is recorded in three seconds then is more than the two blocks that are left.
        program = "until [ $(stat -f -c %a small) -le 2 ]; do sleep 0.1; done; sleep 3; exit 7"
        for command in ("run", "record"):
            with self.subTest(command):
                result = self.on_a_small_disk(command, "-i", "1kHz", "-s", "cpu,vmstat,interrupts", "-o", "small/x.attune", "--", "sh", "-c", program)
                self.assertEqual(result.returncode, 7, result.stderr)
                self.assertIn(b"No space left on device", result.stderr)

    @unittest.skipUnless(CAN_MOUNT, "no file system can be mounted here")
    def test_a_full_disk_is_said_while_the_program_runs(self):
        # The program ends when it is said.
        program = f"until grep -q 'the recording waits: .*No space left on device' {self.path('said')}; do sleep 0.1; done; exit 7"
        with open(self.path("said"), "wb") as said:
            ended = subprocess.run(["unshare", "-rm", "sh", "-c", ON_A_SMALL_DISK, "sh", ATTUNE, "run", "-i", "1kHz", "-s", "cpu,vmstat,interrupts", "-o", "small/x.attune", "--",
                                    "sh", "-c", program], cwd=self.folder, env=self.env, stdout=subprocess.DEVNULL, stderr=said, timeout=PATIENCE_S, check=False)
        self.assertEqual(ended.returncode, 7)

    def test_2_a_recording_to_standard_output(self):
        err = self.expect(2, "record", "-o", "-", says=("a recording cannot go to standard output", "attune export FILE --to csv"))
        self.assertEqual(os.listdir(self.folder), ["runtime"], err)

    def test_help_of_each_word(self):
        names = re.findall(r"^  ([a-z-]+) ", self.attune("--help").stdout.decode(), re.M)
        self.assertGreater(len(names), 15)
        for name in names:
            with self.subTest(name):
                result = self.attune("help", name)
                self.assertEqual((result.returncode, result.stderr), (0, b""))
                self.assertIn(f"attune {name}", result.stdout.decode())
        self.expect(2, "help", "reprot", says=("there is no subcommand 'reprot'", "did you mean report?"))
        self.expect(2, "help", "xyzzy", says=("there is no subcommand 'xyzzy'", "attune --help lists them"))

    def test_1_a_session_that_was_killed(self):
        for command in ("record", "stat", "live"):
            with self.subTest(command):
                process = subprocess.Popen([ATTUNE, command, "-s", "cpu", "-o", command + ".attune"], cwd=self.folder, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                self.addCleanup(process.kill)
                self.assertIn(b"recording to ", process.stderr.readline())
                session = self.the_session()
                os.kill(session, signal.SIGKILL)
                _, err = process.communicate(timeout=PATIENCE_S)
                self.assertEqual(process.returncode, 1, err)
                self.assertIn(b"the session ended early", err)
                self.assertIn(command.encode() + b".attune", err)

    def the_session(self):
        deadline = time.monotonic() + PATIENCE_S
        while True:
            result = self.attune("list", "sessions", "--names")
            if result.stdout.strip().isdigit() and self.attune("ctl", "status").returncode == 0:
                return int(result.stdout)
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    def test_1_a_sink_that_took_nothing(self):
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))  # and does not listen
            sink = f"influxdb=http://127.0.0.1:{unused.getsockname()[1]}/write?db=x"
            err = self.expect(1, "record", "-s", "cpu", "-i", "100ms", "--for", "5s", "--sink", sink, "-o", "x.attune", says="sink influxdb took none of ")
            self.assertEqual(len(re.findall("attune: sink influxdb: .*; the recording goes on", err)), 1, err)
            err = self.expect(7, "run", "-q", "-s", "cpu", "--sink", sink, "-o", "y.attune", "--", "sh", "-c", "sleep 1; exit 7", says="sink influxdb took none of ")
        self.assertGreater(self.query("x.attune", "select count(*) c from samples")[0]["c"], 0, "the recording is there")

    def test_0_a_sink_that_takes_everything(self):
        self.assertNotIn("sink", self.expect(0, "record", "-s", "cpu", "--for", "300ms", "--sink", "influxdb=x.lp", "-o", "x.attune"))

    def test_2_usage(self):
        for arguments, says in (
                (["reprot"], "did you mean report?"),
                (["record", "-s", "cppu", "--for", "1s"], "did you mean cpu"),
                (["record", "--sink", "influx=x", "--for", "1s"], "did you mean influxdb?"),
                (["record", "--alarm", "memory.lwo=5%", "--for", "1s"], "did you mean memory.low"),
                (["record", "--for", "5"], "has no unit"),
                (["stat", "-e", "memory.MemFree%"], "nothing is known of its largest rate"),
                (["list", "signals", "cppu"], "did you mean cpu")):
            with self.subTest(arguments):
                self.expect(2, *arguments, says=says)

    def test_3_unavailable_here(self):
        self.expect(0, "record", "-q", "-s", "cpu", "--for", "200ms", "-o", "x.attune")
        self.expect(3, "export", "x.attune", "--to", "task-graph-csv", says="has no messages")
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            self.expect(3, "live", "--for", "1s", "--listen", f"127.0.0.1:{taken.getsockname()[1]}", says="in use")

    def test_4_permission(self):
        self.expect(4, "query", self.a_recording(), "create table t(a)")

    def a_recording(self):
        self.expect(0, "record", "-q", "-s", "cpu", "--for", "200ms", "-o", "p.attune")
        return "p.attune"

    def test_5_a_program_that_cannot_be_started(self):
        for command in ("run", "record", "stat", "live"):
            self.expect(5, command, "--", "./nowhere", says="cannot run './nowhere'")

    def test_the_programs_own(self):
        for command in ("run", "record", "stat"):
            self.expect(7, command, "-q", "-o", command + ".attune", "--", "sh", "-c", "exit 7")
            result = self.attune(command, "-q", "-f", "-o", command + ".attune", "--", "sh", "-c", "kill -9 $$")
            self.assertEqual(result.returncode, -signal.SIGKILL)


if __name__ == "__main__":
    main()
