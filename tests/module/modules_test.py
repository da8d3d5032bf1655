#!/usr/bin/env python3
"""Monitoring modules on real programs: their series, notifications, verbs; loaded and unloaded under load; bad ones."""

import json
import os
import subprocess
import sys

from attune_e2e import ATTUNE, BUILD, E2E, PATIENCE_S, main

MODULES = os.path.join(BUILD, "tests", "module")
FAULTS = os.path.join(BUILD, "examples", "module", "faults.so")
# Loads and unloads of M5; ATTUNE_FULL=1 takes a minute and more.
ROUNDS = 1000 if os.environ.get("ATTUNE_FULL") == "1" else 30
BUSY = "for i in 1 2 3 4 5 6 7 8; do j=0; while [ $j -lt 20000 ]; do j=$((j+1)); done; sleep 0.05; done"
SLEEPS = """
import mmap, time
for _ in range(100):
    memory = mmap.mmap(-1, 64 * 4096)
    for page in range(64): memory[page * 4096] = 1
    memory.close()
    time.sleep(0.003)
"""
THREADS = """
import hashlib, os, threading
def work():
    while not os.path.exists("enough"): hashlib.sha256(b'x' * 100000).digest()
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
# Each thread leaves the CPU that it began on.
LEAVES = """
import os, threading
cpus = os.sched_getaffinity(0)
def leave():
    with open(f"/proc/self/task/{threading.get_native_id()}/stat") as file:
        here = int(file.read().rsplit(")", 1)[1].split()[36])
    os.sched_setaffinity(0, cpus - {here})
for _ in range(30):
    thread = threading.Thread(target=leave)
    thread.start()
    thread.join()
"""


def module(name, argument=""):
    return os.path.join(MODULES, name + ".so") + ("=" + argument if argument else "")


class Modules(E2E):
    def recorded(self, *arguments, program=("sh", "-c", BUSY)):
        result = self.attune("run", "-q", "-f", "-s", "none", *arguments, "-o", "m.attune", "--", *program)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(self.attune("report", "m.attune", "--json").stdout)

    def series(self, sensor):
        rows = self.query("m.attune", "select s.signal as signal, e.kind as kind, count(v.value) as count, min(v.value) as least, max(v.value) as most "
                          f"from series s join elements e on e.id = s.element join samples v on v.series = s.id where s.sensor = '{sensor}' "
                          "group by s.signal, e.kind")
        return {(row["signal"], row["kind"]): row for row in rows}

    def labels(self):
        return [row["text"] for row in self.query("m.attune", "select text from labels")]

    def sees_each_thread(self):
        return b"are told together" not in self.attune("counters", "-t", "--", "true").stderr

    def start(self, *arguments):
        """A program that computes until end()."""
        program = (sys.executable, "-c", THREADS)
        run = subprocess.Popen([ATTUNE, "run", "-q", "-f", "-s", "none", *arguments, "-o", "m.attune", "--", *program],
                               cwd=self.folder, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(run.kill)
        self.addCleanup(self.write, "enough", "")
        self.until(self.status, "a session")
        return run

    def ctl(self, *words):
        """What it answers, {}: nothing; where it is an error, how it ended."""
        result = self.attune("ctl", *words)
        return json.loads(result.stdout or b"{}") if result.returncode == 0 else result

    def status(self):
        answer = self.ctl("status")
        return answer if isinstance(answer, dict) and answer else None

    def module(self, name):
        return next((row for row in self.status()["modules"] if row["name"] == name), None)

    def end(self, run):
        self.ctl("stop")
        self.write("enough", "")
        _, errors = run.communicate(timeout=PATIENCE_S)
        return errors

    def test_the_example_makes_series_of_threads(self):
        self.recorded("--module", FAULTS)
        rate = self.series("faults")["fault-rate", "thread"]
        self.assertGreater(rate["most"], 0)
        self.assertEqual([text for text in self.labels() if "module" in text], [])

    def test_a_module_is_told_of_what_happens(self):
        self.recorded("--module", module("bad_module"))
        series = self.series("bad_module")
        self.assertGreater(series["value3", "thread"]["count"], 3)
        last = {name: row["most"] // 10**6 for (name, kind), row in series.items() if kind == "machine"}
        self.assertGreaterEqual(last["ticks"], 5)
        self.assertGreaterEqual(last["forks"], 9, "the shell, and eight sleeps")
        self.assertEqual(last["exits"], last["forks"])
        self.assertEqual(last["frees"], last["forks"])
        if self.sees_each_thread():
            self.assertGreaterEqual(last["execs"], 9)
            self.assertGreater(last["switches"], 16)

    def test_a_module_has_samples_of_switches(self):
        if not self.sees_each_thread():
            self.skipTest("switches are seen by eBPF alone")
        program = (sys.executable, "-c", SLEEPS)
        self.recorded("--module", module("moments"), "--count", "page-faults", program=program)
        last = {name: row["most"] / 10**6 for (name, _), row in self.series("moments").items()}
        self.assertGreaterEqual(last["switches"], 100, "one a sleep")
        self.assertGreaterEqual(last["switch-faults"], 100 * 64 * 0.9, "what was touched before it")
        faults = self.query("m.attune", "select sum(count) as count from thread_counts")[0]["count"]
        of_samples = sum(value for name, value in last.items() if name.endswith("faults"))
        self.assertAlmostEqual(of_samples / faults, 1, delta=0.02)

    def test_a_module_has_samples_that_threads_take_of_themselves(self):
        if not self.sees_each_thread():
            self.skipTest("they are seen by eBPF alone")
        self.recorded("--module", module("moments"), program=(os.path.join(BUILD, "tests", "e2e", "samples_itself"),))
        last = {name: row["most"] / 10**6 for (name, _), row in self.series("moments").items()}
        self.assertEqual(last["self"], 100)

    def test_virtual_counters_are_columns_of_rows(self):
        # Each sample of this module has a row: it looks at threads less often than they have rows, and at migrations.
        result = self.attune("counters", "-t", "-e", "page-faults", "--module", module("sixteen1"), "-i", "10ms", "--migrations", "--json",
                             "-o", "rows.json", "--", sys.executable, "-c", SLEEPS)
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(self.path("rows.json"), encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        self.assertGreater(len(rows), 10)
        self.assertEqual(len([name for name in rows[0]["counts"] if name.startswith("sixteen1.")]), 16)
        for row in rows:
            counts = row["counts"]
            self.assertEqual(counts["sixteen1.value0"], counts["page-faults"], row)
            self.assertEqual(counts["sixteen1.value3"], counts["page-faults"] + 3, row)
        table = self.attune("counters", "-t", "--module", "group=scheduler", "--", "sh", "-c", BUSY).stderr.decode()
        self.assertRegex(table, r"group\.CPUs")
        self.assertIn("task-clock", table)

    def test_modules_of_rows_that_fail_are_said(self):
        result = self.attune("counters", "-t", "-i", "20ms", "--module", module("bad_module", "crash-sample"), "--", "sh", "-c", BUSY)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"module bad_module: it crashed (SIGSEGV); it has no values from then on", result.stderr)
        self.assertGreater(result.stderr.count(b"tick"), 3, "rows go on")
        for arguments, why in ((("-t", "--module", "spedup"), b"there is no module 'spedup'"), (("--module", "group=scheduler"), b"needs --per-thread"),
                               (("-t", "--module", module("moments")), b"no virtual counters of threads"),
                               (("-t", "--module", module("bad_module", "fail-open")), b"there is none of it here")):
            result = self.attune("counters", *arguments, "--", "true")
            self.assertEqual((result.returncode in (1, 2, 3), why in result.stderr), (True, True), result.stderr)

    def test_a_module_is_told_the_cpu_that_a_thread_left(self):
        if len(os.sched_getaffinity(0)) < 2 or not self.sees_each_thread():
            self.skipTest("one CPU, or eBPF is not permitted")
        self.recorded("--module", module("migrations_alone"), program=(sys.executable, "-c", LEAVES))
        left = self.series("migrations_alone")["migrations", "machine"]["most"] // 10**6
        self.assertGreaterEqual(left, 30, "migrations from a CPU to another one")

    def test_metrics_of_a_group_are_series(self):
        self.recorded("--module", "group=scheduler")
        values = self.series("group")
        self.assertGreater(values["CPUs", "thread"]["count"], 3)
        # However little others leave to it: neither CPUs nor percent are as many.
        self.assertGreater(values["CPUs", "thread"]["most"], 50_000, "millionths of a CPU")
        result = self.attune("run", "-q", "--module", "group=schedular", "--", "true")
        self.assertEqual((result.returncode in (1, 2, 3), b"scheduler" in result.stderr), (True, True), result.stderr)

    def test_64_virtual_counters_of_four_modules(self):
        self.recorded(*(word for number in range(1, 5) for word in ("--module", module(f"sixteen{number}"))))
        signals = [key for number in range(1, 5) for key in self.series(f"sixteen{number}") if key[1] == "thread"]
        self.assertEqual(len(signals), 64)

    def test_bad_modules_are_contained_and_said(self):
        report = self.recorded("--module", module("bad_module", "crash-sample"), "--module", module("sixteen1"))
        self.assertTrue(any("it crashed (SIGSEGV); it is started again" in what for what in report["unseen"]), report["unseen"])
        self.assertTrue(any("module bad_module: it crashed (SIGSEGV); it is started again" in text for text in self.labels()), self.labels())
        self.assertGreater(self.series("sixteen1")["value3", "thread"]["count"], 3, "another one goes on")
        report = self.recorded("--module", module("bad_module", "lie"))
        self.assertTrue(any("are left out: " in what for what in report["unseen"]), report["unseen"])
        self.assertEqual([key for key in self.series("bad_module") if key[1] == "thread"], [])
        self.recorded("--module", module("bad_module", "hang-close"))
        for argument, why in (("crash-open", b"crashed (SIGABRT)"), ("fail-open", b"there is none of it here"), ("wrong-name", b"is no name")):
            result = self.attune("run", "-q", "--module", module("bad_module", argument), "--", "true")
            self.assertEqual((result.returncode in (1, 2, 3), why in result.stderr), (True, True), (result.returncode, result.stderr))
        result = self.attune("run", "--module", "spedup", "--", "true")
        self.assertEqual((result.returncode, b"no module 'spedup'" in result.stderr), (2, True), result.stderr)

    def test_one_that_hangs_is_ended_and_started_again(self):
        run = self.start("--module", module("bad_module", "hang-sample"))
        self.until(lambda: self.module("bad_module")["restarts"] >= 1, "a restart")
        self.assertIn("did not answer", self.module("bad_module")["problem"])
        self.end(run)
        self.assertTrue(any("did not answer for 1000 ms" in text for text in self.labels()), self.labels())

    def test_modules_come_and_go_under_load(self):
        run = self.start("--module", module("sixteen1"))
        for number in range(ROUNDS):
            loaded = self.ctl("module-load", module("bad_module"))
            self.assertEqual(loaded, {}, (number, loaded))
            if number % 10 == 0:
                self.until(lambda: self.module("bad_module")["values"] > 0, "values")
            self.assertEqual(self.ctl("module-unload", "bad_module"), {}, number)
        self.assertIsNone(self.module("bad_module"))
        twice = self.ctl("module-load", module("sixteen1"))
        self.assertEqual((twice.returncode, b"is loaded already" in twice.stderr), (2, True), twice.stderr)
        self.assertEqual(self.module("sixteen1")["restarts"], 0)
        values = self.module("sixteen1")["values"]
        self.until(lambda: self.module("sixteen1")["values"] > values, "more values of the one that stays")
        self.end(run)
        self.assertEqual(self.labels(), [])

    def test_verbs(self):
        run = self.start("--module", module("bad_module"))
        self.assertEqual(self.ctl("module-set", "bad_module", "setting=fast"), {"ok": True, "text": ""})
        self.assertEqual(self.ctl("module-get", "bad_module")["text"], "setting=fast\n")
        self.assertEqual(self.ctl("module-get", "bad_module", "setting")["text"], "fast")
        self.assertIn("cpu 1", self.ctl("module-dump", "bad_module", "1")["text"])
        self.assertEqual(self.ctl("metric", "77", "ipc"), {"ok": True, "module": "bad_module", "value": 77.5})
        for words, why in ((("module-set", "bad_module", "other=1"), b"does not take other=1"), (("metric", "77", "ipx"), b"speedup-factor, ipc"),
                           (("metric", "77", "power"), b"no module has"), (("module-get", "bad_modul"), b"bad_module"),
                           (("module-load", "/no/such.so"), b"No such file")):
            result = self.ctl(*words)
            self.assertEqual((result.returncode in (1, 2), why in result.stderr), (True, True), (words, result.stderr))
        crashed = self.ctl("module-set", "bad_module", "crash=1")
        self.assertIn(b"crashed (SIGSEGV)", crashed.stderr)
        self.until(lambda: self.module("bad_module")["runs"], "another start")
        self.end(run)


if __name__ == "__main__":
    main()
