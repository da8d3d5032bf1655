#!/usr/bin/env python3
"""Tuning programs while they run: what is found, tried, kept and taken back; kills at any moment; bad input."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import unittest

from attune_e2e import ATTUNE, BUILD, E2E, FULL, PATIENCE_S, main, where_cpus_are_free

CROWD = os.path.join(BUILD, "tests", "e2e", "crowd")
LOOPS = os.path.join(BUILD, "tests", "e2e", "loops")
# Two threads that always have work, in C code that lets go of the interpreter's lock.
HASHING = """
import hashlib, sys, threading, time
data, end, done = bytes(1 << 20), time.time() + float(sys.argv[1]), []
def work():
    count = 0
    while time.time() < end:
        hashlib.sha256(data).digest()
        count += 1
    done.append(count)
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(done), "done")
"""
CPUS = len(os.sched_getaffinity(0))


def affinities(pid):
    try:
        return {tid: os.sched_getaffinity(int(tid)) for tid in os.listdir(f"/proc/{pid}/task")}
    except (FileNotFoundError, ProcessLookupError):
        return {}


class Tune(E2E):
    def setUp(self):
        super().setUp()
        self.state = self.path("state")
        self.env["XDG_STATE_HOME"] = self.state

    def tune(self, *arguments, prefix=()):
        result = self.run_program(*prefix, ATTUNE, "tune", "--json", "-q", "-f", "-o", self.path("t.attune"), *arguments)
        text = result.stderr.decode()
        document = json.loads(text[text.index("{\n"):]) if "{\n" in text else None
        return result, document

    def changes(self):
        return json.loads(self.attune("list", "changes", "--json").stdout)

    @unittest.skipUnless(CPUS >= 2 and CPUS < 8, "teams of eight threads are too many on less than eight CPUs")
    @where_cpus_are_free
    def test_teams_that_are_too_wide_are_narrowed(self):
        result, tuned = self.tune("--", CROWD, "15")
        self.assertTrue(result.stdout.startswith(b"0 wrong, "), result.stdout)
        self.assertEqual(result.returncode, 0)
        of_team = [row for row in tuned["decisions"] if row["knob"] == "openmp.team"]
        self.assertTrue(of_team, tuned)
        self.assertIn(tuned["objective"]["unit"], ("regions/s",), tuned)
        for row in of_team:
            self.assertIn(row["state"], ("kept", "undone"))
            if row["state"] == "kept":
                self.assertGreater(row["low"], 0.03)
                self.assertIn("OMP_THREAD_LIMIT", row["permanent"])
        self.assertEqual(self.changes(), [])
        report = self.attune("report", self.path("t.attune"), "--full").stdout.decode()
        self.assertIn("What was changed while it ran", report)
        if any(row["state"] == "kept" for row in of_team):
            tuned_folder = os.path.join(self.state, "attune", "tuned")
            remembered, = os.listdir(tuned_folder)
            self.assertTrue(remembered.startswith("crowd-"), remembered)
            with open(os.path.join(tuned_folder, remembered), encoding="utf-8") as file:
                self.assertIn('knob = "openmp.team"', file.read())

    @unittest.skipUnless(2 <= CPUS < 8 and os.path.exists(CROWD + "_llvm"), "no clang with OpenMP, or too many CPUs")
    @unittest.skipUnless(FULL, "in ./dev test --full")
    @where_cpus_are_free
    def test_teams_of_llvm_are_narrowed(self):
        self.env["OMP_NUM_THREADS"] = "8"
        result, tuned = self.tune("--", CROWD + "_llvm", "15")
        self.assertTrue(result.stdout.startswith(b"0 wrong, "), result.stdout)
        of_team = [row for row in tuned["decisions"] if row["knob"] == "openmp.llvm-team"]
        self.assertTrue(of_team, tuned)
        self.assertEqual((of_team[0]["before"], of_team[0]["after"]), ("8", str(CPUS)))
        self.assertEqual(self.changes(), [])

    @unittest.skipUnless(CPUS >= 2, "one CPU")
    @where_cpus_are_free
    def test_threads_on_one_cpu_are_let_go(self):
        first = str(min(os.sched_getaffinity(0)))
        result, tuned = self.tune("--", "taskset", "-c", first, sys.executable, "-c", HASHING, "15")
        self.assertEqual(result.stdout, b"4 done\n")
        of_cpus = [row for row in tuned["decisions"] if row["knob"] == "cpu.affinity"]
        self.assertTrue(of_cpus, tuned)
        self.assertEqual(of_cpus[0]["before"].split(", ")[0], first)
        self.assertEqual(self.changes(), [])

    @where_cpus_are_free
    def test_a_knob_of_the_programs_own_is_searched(self):
        result, tuned = self.tune("--", os.path.join(BUILD, "bin", "own_knob"), "20")
        self.assertTrue(result.stdout.startswith(b"0 wrong, batch "), result.stdout)
        of_batch = [row for row in tuned["decisions"] if row["knob"] == "queue.batch"]
        self.assertTrue(of_batch, tuned)
        self.assertEqual((of_batch[0]["before"], of_batch[0]["after"], of_batch[0]["tunlet"]), ("16", "32", "search"))

    def test_a_dry_run_changes_nothing(self):
        result, tuned = self.tune("--dry-run", "--", CROWD, "6")
        self.assertTrue(result.stdout.startswith(b"0 wrong, "), result.stdout)
        self.assertLessEqual({row["state"] for row in tuned["decisions"]}, {"advised"})
        self.assertFalse(os.path.exists(os.path.join(self.state, "attune", "changes")) and os.listdir(os.path.join(self.state, "attune", "changes")))

    def test_what_is_never_to_be_tried_is_not(self):
        result, tuned = self.tune("--never", "team", "--only", "team", "--", CROWD, "6")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(tuned["decisions"], [])

    @unittest.skipUnless(CPUS >= 2, "one CPU")
    def test_a_killed_session_gives_everything_back(self):
        first = min(os.sched_getaffinity(0))
        program = subprocess.Popen(["taskset", "-c", str(first), ATTUNE, "tune", "-q", "-f", "-o", self.path("k.attune"), "--", "taskset",
                                    "-c", str(first), sys.executable, "-c", HASHING, "20"], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        # The session may use one CPU only, and so sees no narrow affinity: it is changed by hand, as another tuner would.
        try:
            pid = self.wait_for(lambda: self.hashing_of(program.pid))
            changed = self.attune("set", f"cpu.affinity={min(os.sched_getaffinity(0))}-{max(os.sched_getaffinity(0))}", "-p", str(pid))
            self.assertEqual(changed.returncode, 0, changed.stderr)
            self.assertTrue(all(len(cpus) > 1 for cpus in affinities(pid).values()))
            self.assertTrue(self.changes())
            restored = self.attune("restore")
            self.assertEqual(restored.returncode, 0, restored.stderr)
            self.assertEqual({frozenset(cpus) for cpus in affinities(pid).values()}, {frozenset({first})})
            self.assertEqual(self.changes(), [])
        finally:
            program.send_signal(signal.SIGTERM)
            program.wait()

    def hashing_of(self, launcher):
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            try:
                with open(f"/proc/{entry}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
                if words[:4] == [sys.executable.encode(), b"-c", HASHING.encode(), b"20"] and len(affinities(entry)) >= 5:
                    return int(entry)
            except OSError:
                continue
        return None

    def wait_for(self, what, seconds=120):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if value := what():
                return value
            time.sleep(0.05)
        self.fail("it did not come")

    @unittest.skipUnless(2 <= CPUS < 8, "teams of eight threads are too many on less than eight CPUs")
    @where_cpus_are_free
    def test_the_guardian_undoes_a_trial_of_a_killed_session(self):
        program = subprocess.Popen([ATTUNE, "tune", "-q", "-f", "-o", self.path("g.attune"), "--", CROWD, "25"],
                                   env=self.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(self.end, program)
        self.wait_for(self.changes, 25)
        sessions = json.loads(self.attune("list", "sessions", "--json").stdout)
        os.kill(sessions[-1]["pid"], signal.SIGKILL)
        end = time.monotonic() + 60
        while self.changes() and time.monotonic() < end:
            time.sleep(0.02)
        self.assertEqual(self.changes(), [])
        output, _ = program.communicate(timeout=PATIENCE_S)
        self.assertEqual(output, b"0 wrong, 8 threads\n")

    def end(self, program):
        """With the program that is tuned, and with a session that a test had stopped."""
        for session in json.loads(self.attune("list", "sessions", "--json").stdout):
            with contextlib.suppress(ProcessLookupError):
                os.kill(session["pid"], signal.SIGCONT)
        program.terminate()
        program.wait(PATIENCE_S)

    def stopped_on_trial(self, session, knob):
        """Whether the session is stopped now, with a change of this knob."""
        def is_changed():
            return any(change["knob"] == knob for change in self.changes())

        if not is_changed():
            return False
        os.kill(session, signal.SIGSTOP)
        if is_changed():
            return True
        os.kill(session, signal.SIGCONT)
        return False

    @unittest.skipUnless(2 <= CPUS < 8, "teams of eight threads are too many on less than eight CPUs")
    @where_cpus_are_free
    def test_a_knob_in_the_program_is_restored_when_nobody_is_left(self):
        program = subprocess.Popen([ATTUNE, "tune", "-q", "-f", "-o", self.path("n.attune"), "--", CROWD, "25"],
                                   env=self.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(self.end, program)
        session = self.wait_for(lambda: json.loads(self.attune("list", "sessions", "--json").stdout))[-1]["pid"]
        self.wait_for(lambda: self.stopped_on_trial(session, "openmp.team"), 25)
        guardian = self.run_program("pgrep", "-x", "-P", str(session), "attune-guardian").stdout.strip()
        for pid in (int(guardian), session):
            os.kill(pid, signal.SIGKILL)
        self.assertTrue(self.changes())
        restored = self.attune("restore")
        self.assertIn(b"1 setting as before, 0 of what has ended", restored.stderr)
        self.assertEqual(self.changes(), [])
        output, _ = program.communicate(timeout=PATIENCE_S)
        self.assertEqual(output, b"0 wrong, 8 threads\n")

    @unittest.skipUnless(2 <= CPUS < 8, "teams of eight threads are too many on less than eight CPUs")
    @where_cpus_are_free
    def test_trials_are_asked_for_by_hand(self):
        recording = self.path("h.attune")
        program = subprocess.Popen([ATTUNE, "tune", "-q", "-f", "-o", recording, "--only", "search", "--", CROWD, "25"],
                                   env=self.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(self.end, program)
        self.wait_for(lambda: json.loads(self.attune("list", "sessions", "--json").stdout))
        for wrong, said in (("try openmp.tam=2", b"openmp.team"), ("try openmp.team=999", b"0 to 255"), ("try openmp.team", b"KNOB=VALUE")):
            self.assertIn(said, self.attune("ctl", *wrong.split()).stderr)
        self.assertEqual(self.attune("ctl", "try", "openmp.team=2").returncode, 0)
        self.wait_for(self.changes, 25)
        subprocess.run(["pkill", "-P", str(program.pid), "crowd"], check=False)
        program.communicate(timeout=PATIENCE_S)
        row, = self.query(recording, "select tunlet, knob, after, state from decisions where state in ('kept', 'undone')")
        self.assertEqual((row["tunlet"], row["knob"], row["after"]), ("by hand", "openmp.team", "2"))

    @unittest.skipUnless(2 <= CPUS < 8, "teams of eight threads are too many on less than eight CPUs")
    @unittest.skipUnless(FULL, "in ./dev test --full")
    @where_cpus_are_free
    def test_a_short_program_is_tuned_from_run_to_run(self):
        save = self.path("fast.toml")
        result = self.run_program(ATTUNE, "tune", "--json", "--runs", "17", "--only", "team", "--save", save, "--", CROWD, "1500x")
        self.assertEqual(result.returncode, 0, result.stderr)
        text = result.stderr.decode()
        document = json.loads(text[text.index("{\n"):])
        kept = [row for row in document["decisions"] if row["state"] == "kept"]
        self.assertEqual([row["knob"] for row in kept], ["openmp.team"], document)
        self.assertGreater(kept[0]["low"], 0)
        self.assertLessEqual(document["whole_run"]["runs"], 17)
        self.assertEqual(result.stdout.count(b"0 wrong"), document["whole_run"]["runs"])
        with open(save, encoding="utf-8") as file:
            self.assertIn("openmp.team", file.read())

    def test_runs_that_fail_are_not_repeated(self):
        result = self.attune("tune", "--runs", "20", "--", "sh", "-c", "echo once; exit 3")
        self.assertEqual((result.returncode, result.stdout), (5, b"once\n"), result.stderr)
        self.assertIn(b"exit code 3", result.stderr)
        for arguments, said in ((("--runs", "2", "--", "true"), b"too few"), (("--runs", "x", "--", "true"), b"no number"),
                                (("--runs", "20", "-p", str(os.getpid())), b"exclude each other"), (("--runs", "20"), b"no program")):
            result = self.attune("tune", *arguments)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(said, result.stderr)

    @unittest.skipUnless(2 <= CPUS < 8, "teams of eight threads are too many on less than eight CPUs")
    def test_what_was_kept_is_set_again(self):
        self.write("settings.toml", '[[set]]\nknob = "openmp.team"\nvalue = "2"\n')
        # So long that the session gets a CPU meanwhile: its eight threads have them all.
        result = self.attune("run", "-q", "-f", "-o", self.path("s.attune"), "--settings", self.path("settings.toml"), "--", CROWD, "10")
        self.assertEqual(result.stdout, b"0 wrong, 2 threads\n")
        row, = self.query(self.path("s.attune"), "select knob, state, after from decisions")
        self.assertEqual(row, {"knob": "openmp.team", "state": "kept", "after": "2"})
        self.write("wrong.toml", '[[set]]\nknob = "openmp.team"\nvalue = "999"\n')
        result = self.attune("run", "--settings", self.path("wrong.toml"), "--", "true")
        self.assertIn(b"wrong.toml", result.stderr)
        self.assertIn(b"0 to 255", result.stderr)

    def loops(self, *settings):
        """The pieces of both loops with these settings, and the schedule that the program sees."""
        text = "".join(f'[[set]]\nknob = "{knob}"\nvalue = "{value}"\n' for knob, value in settings)
        self.write("settings.toml", text)
        with_them = ["--settings", self.path("settings.toml")] if settings else []
        self.env["OMP_SCHEDULE"] = "static"
        self.env["OMP_PROC_BIND"] = "true"  # beside load both threads could stay on one CPU, one after the other
        result = self.attune("run", "-q", "-f", "-o", self.path("s.attune"), *with_them, "--", LOOPS, "2")
        words = result.stdout.decode().split()
        return int(words[3]), int(words[6]), words[-2:]

    def test_loops_are_shared_out_otherwise(self):
        bare = self.loops()
        self.assertEqual(bare[0], 2, "static: a half for each thread")
        self.assertLessEqual(bare[1], 4, "pieces of 64 of 256")
        scheduled = self.loops(("openmp.schedule", "dynamic"))
        self.assertGreater(scheduled[0], 8)
        self.assertEqual(scheduled[2], bare[2], "the program sees the schedule that it has asked for")
        cut = self.loops(("openmp.chunk", "1"))
        self.assertGreater(cut[1], 8)
        self.assertEqual(cut[0], bare[0])

    @where_cpus_are_free
    def test_a_loop_with_costly_iterations_is_shared_out(self):
        self.env["OMP_SCHEDULE"] = "static"
        result, tuned = self.tune("--only", "openmp.schedule", "--", LOOPS, "20")
        self.assertEqual(result.returncode, 0)
        kept = [decision for decision in tuned["decisions"] if decision["state"] == "kept"]
        self.assertEqual([decision["knob"] for decision in kept], ["openmp.schedule"], tuned)
        self.assertGreater(kept[0]["low"], 0.03)

    @where_cpus_are_free
    def test_the_objective_is_a_formula(self):
        formula = "rate(program.done) / 1000"
        seconds = "20" if FULL else "6"
        result, tuned = self.tune("--objective", formula, *(() if FULL else ("--dry-run",)), "--", os.path.join(BUILD, "bin", "own_knob"), seconds)
        self.assertEqual(result.returncode, 0)
        self.assertEqual(tuned["objective"]["name"], formula, tuned)
        items = int(result.stderr.split(b" items")[0].split()[-1])
        self.assertAlmostEqual(tuned["whole_run"]["rate_before"], items / int(seconds) / 1000, delta=0.5 * items / int(seconds) / 1000)
        for wrong, said in (("rate(program.done", b"column 18"), ("rate(vmstat.pgfautl)", b"pgfault"), ("rate(vmsta.pgfault)", b"did you mean vmstat")):
            refused = self.attune("tune", "--objective", wrong, "--", "true")
            self.assertEqual(refused.returncode, 2)
            self.assertIn(said, refused.stderr)

    def test_knobs_of_the_machine_need_a_word(self):
        self.write("settings.toml", '[[set]]\nknob = "machine.swappiness"\nvalue = "10"\n')
        result = self.attune("run", "--settings", self.path("settings.toml"), "--", "true")
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"--allow machine", result.stderr)
        result = self.attune("set", "machine.wake-latency=10", "--allow", "machine")
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"holds only as long as who sets it", result.stderr)

    def test_bad_input_is_named(self):
        for arguments, said in [(("tune", "--only", "tean", "--", "true"), b"team"),
                                (("tune", "--allow", "all", "--", "true"), b"machine"),
                                (("tune",), b"attune tune -- PROGRAM"),
                                (("get", "openmp.tem", "-p", "1"), b"openmp.team"),
                                (("get", "cpu.nice"), b"-p PID"),
                                (("set", "cpu.nice", "-p", "1"), b"KNOB=VALUE"),
                                (("set", "cpu.nice=99", "-p", str(os.getpid())), b"-20 to 19"),
                                (("set", "cpu.nice=5", "-p", "x"), b"is not a process id"),
                                (("set", "machine.swappiness=10"), b"--allow machine"),
                                (("get", "openmp.team", "-p", str(os.getpid())), b"probe")]:
            result = self.attune(*arguments)
            self.assertNotEqual(result.returncode, 0, arguments)
            self.assertIn(said, result.stderr, arguments)

    def test_knobs_by_hand_are_listed_and_restored(self):
        child = subprocess.Popen(["sleep", "30"])
        try:
            self.assertEqual(self.attune("set", "cpu.policy=batch", "-p", str(child.pid)).returncode, 0)
            self.assertEqual(os.sched_getscheduler(child.pid), os.SCHED_BATCH)
            listed = {row["name"]: row["settings"] for row in json.loads(self.attune("list", "knobs", "-p", str(child.pid), "--json").stdout)}
            self.assertEqual(listed["cpu.policy"], [{"place": f"thread {child.pid}", "value": "batch"}])
            self.assertNotIn("openmp.team", listed)
            row, = self.changes()
            self.assertEqual((row["knob"], row["before"], row["after"]), ("cpu.policy", "other", "batch"))
            again = self.attune("set", "cpu.policy=idle", "-p", str(child.pid))
            self.assertEqual(again.returncode, 0, again.stderr)
            row, = self.changes()
            self.assertEqual((row["knob"], row["before"], row["after"]), ("cpu.policy", "other", "idle"))
            self.assertEqual(self.attune("restore", "-p", str(child.pid)).returncode, 0)
            self.assertEqual(os.sched_getscheduler(child.pid), os.SCHED_OTHER)
        finally:
            child.kill()
            child.wait()
        self.assertEqual(self.changes(), [])


if __name__ == "__main__":
    main()
