#!/usr/bin/env python3
"""attune counters: real programs' counts beside what perf and the kernel say, exit codes, bad input."""

import csv
import io
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import unittest

from attune_e2e import ATTUNE, BUILD, E2E, PATIENCE_S, main

# Touches a thousand pages in each of four children, one after the other, with threads.
BUSY = """
import mmap, os, threading
def touch():
    memory = mmap.mmap(-1, 1000 * 4096)
    memory.madvise(15)
    for page in range(1000):
        memory[page * 4096] = 1
for _ in range(4):
    pid = os.fork()
    if pid == 0:
        thread = threading.Thread(target=touch)
        thread.start()
        thread.join()
        os._exit(0)
    os.waitpid(pid, 0)
"""


# Four threads that sleep and compute in turns; then what the kernel accounts of the process so far.
SELF_ACCOUNT = """
import hashlib, json, resource, threading, time
def work():
    for _ in range(200):
        time.sleep(0.0005)
        hashlib.sha256(b'x' * 100000).digest()
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"switches": used.ru_nvcsw + used.ru_nivcsw, "faults": used.ru_minflt + used.ru_majflt, "cpu_s": used.ru_utime + used.ru_stime}))
"""


# Is on each CPU in turn.
MOVES = """
import os
cpus = sorted(os.sched_getaffinity(0))
for turn in range(20):
    os.sched_setaffinity(0, {cpus[turn % len(cpus)]})
    sum(range(200000))
"""


# Two threads on a CPU each, and then one that goes from one to the other, touch pages; the CPU time and the page faults on each CPU.
ON_TWO_CPUS = """
import json, mmap, os, resource, threading, time
cpus = sorted(os.sched_getaffinity(0))[:2]
used = {cpu: [0, 0] for cpu in cpus}
def now():
    return [time.thread_time_ns(), resource.getrusage(resource.RUSAGE_THREAD).ru_minflt]
def work(cpu, seconds):
    os.sched_setaffinity(0, {cpu})
    begin = end = now()
    while end[0] < begin[0] + seconds * 1e9:
        with mmap.mmap(-1, 100 * 4096) as memory:
            memory.write(bytes(100 * 4096))
        end = now()
    for event in (0, 1):
        used[cpu][event] += end[event] - begin[event]
threads = [threading.Thread(target=work, args=(cpu, seconds)) for cpu, seconds in zip(cpus, (0.2, 0.6))]
for thread in threads: thread.start()
for thread in threads: thread.join()
for turn in range(100): work(cpus[turn % 2], (0.006, 0.002)[turn % 2])
print(json.dumps({"on": used, "whole": [time.process_time_ns(), resource.getrusage(resource.RUSAGE_SELF).ru_minflt]}))
"""


# A mount over the CPU's capacity makes it one of a less capable kind.
ON_A_SMALL_CPU = 'echo 512 > small; mount --bind small "/sys/devices/system/cpu/cpu$1/cpu_capacity" || exit 99; shift; exec "$@"'


# Computes for 0.4 s; then a thread that is not the first becomes another program, which tells the process's CPU time.
EXEC_OF_THREAD = """
import os, threading, time
while time.process_time() < 0.4: pass
thread = threading.Thread(target=os.execvp, args=("sh", ["sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; times"]))
thread.start()
thread.join()
"""


class Counters(E2E):
    def counts(self, *arguments, **kwargs):
        result = self.attune("counters", "--json", *arguments, **kwargs)
        text = result.stderr if "--" in arguments else result.stdout
        document = json.loads(text[text.index(b"{"):])
        return result, {row["event"]: row["count"] for row in document["events"] if "event" in row}, document

    def test_a_program_with_its_threads_and_children(self):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        result, counts, document = self.counts("--", sys.executable, "-c", BUSY)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.assertEqual((result.returncode, result.stdout), (0, b""))
        self.assertGreaterEqual(counts["page-faults"], 4000)
        cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        self.assertLess(counts["task-clock"] * 1e-9, cpu_s)
        self.assertGreater(counts["task-clock"] * 1e-9, 0.5 * cpu_s, "attune's own is a small part")
        self.assertGreaterEqual(counts["context-switches"], 4)
        self.assertGreater(document["seconds"], 0)

    def test_what_the_kernel_accounts_is_what_perf_counts(self):
        """Faults in the program and in the kernel, which perf counts, beside all faults, which the kernel accounts."""
        program = ("--", "sh", "-c", "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; sh -c true; sh -c true")
        by_perf = [self.counts("-e", "page-faults:u,page-faults:k", *program)[1] for _ in range(3)]
        if any(value is None for counts in by_perf for value in counts.values()):
            self.skipTest("the kernel lets nobody count its part")
        of_perf = sorted(sum(counts.values()) for counts in by_perf)[1]
        accounted = sorted(self.counts("-e", "page-faults", *program)[1]["page-faults"] for _ in range(3))[1]
        self.assertAlmostEqual(accounted, of_perf, delta=0.03 * of_perf + 10)

    def test_exit_codes_and_signals_are_the_programs(self):
        self.assertEqual(self.attune("counters", "--", "sh", "-c", "exit 7").returncode, 7)
        self.assertEqual(self.attune("counters", "--", "sh", "-c", "kill -TERM $$").returncode, -signal.SIGTERM)
        self.assertEqual(self.attune("counters", "--", "./not-there").returncode, 5)
        echoed = self.attune("counters", "--csv", "--", "sh", "-c", "cat; echo said >&2", input=b"in\n")
        self.assertEqual(echoed.stdout, b"in\n")
        self.assertTrue(echoed.stderr.startswith(b"said\n"), echoed.stderr)

    def test_several_runs_have_bounds(self):
        result, counts, document = self.counts("-r", "5", "--", "true")
        self.assertEqual((result.returncode, document["runs"]), (0, 5))
        self.assertGreater(document["bound_s"], 0)
        self.assertGreater(counts["page-faults"], 10)
        text = self.attune("counters", "-r", "2", "--", "true").stderr.decode()
        self.assertRegex(text, r"(?m)^true: 0\.\d+ s .*\(2 runs\)$")
        self.assertRegex(text, r"(?m)^  task-clock +[\d.]+ ms")

    def test_a_run_that_fails_is_not_hidden_by_later_ones(self):
        program = f"echo run >>{self.path('runs')}; case $(wc -l <{self.path('runs')}) in 2) exit 3;; 3) exit 4;; esac"
        result, _, document = self.counts("-r", "5", "--", "sh", "-c", program)
        self.assertEqual((result.returncode, document["runs"]), (3, 5))
        os.remove(self.path("runs"))
        killed = program.replace("exit 3", "kill -KILL $$")
        self.assertEqual(self.attune("counters", "-r", "4", "--", "sh", "-c", killed).returncode, -signal.SIGKILL)

    def test_cpu_time_has_the_children_that_were_waited_for(self):
        spin = "import time\nwhile time.process_time() < 0.2: pass"
        result, counts, document = self.counts("-e", "task-clock", "--", "sh", "-c", f"{sys.executable} -c '{spin}'; true")
        self.assertEqual(result.returncode, 0)
        self.assertGreater(document["user_s"] + document["system_s"], 0.2)
        self.assertAlmostEqual(document["user_s"] + document["system_s"], counts["task-clock"] / 1e9, delta=0.02)
        _, _, of_machine = self.counts("-a", "--for", "100ms")
        self.assertIsNone(of_machine["user_s"])

    def test_csv_and_files(self):
        self.attune("counters", "--csv", "-o", "c.csv", "-e", "page-faults,context-switches", "--", "true")
        with open(self.path("c.csv"), encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([row["event"] for row in rows], ["wall-time", "user-time", "system-time", "page-faults", "context-switches"])

    def test_a_process_that_runs(self):
        program = subprocess.Popen([sys.executable, "-c", "import time\nend = time.time() + 60\nwhile time.time() < end: pass"])
        try:
            time.sleep(0.1)
            _, counts, document = self.counts("-p", str(program.pid), "--for", "1s", "-e", "task-clock,cpu-migrations")
            self.assertGreater(counts["task-clock"], 0)
            self.assertLess(counts["task-clock"] * 1e-9, 1.1 * document["seconds"])
            rows = self.attune("counters", "-p", str(program.pid), "--for", "1s", "-i", "200ms", "--csv").stdout.decode()
            read = list(csv.reader(io.StringIO(rows)))
            self.assertEqual(read[0][0], "seconds")
            self.assertGreaterEqual(len(read), 3)
        finally:
            program.kill()
            program.wait()
        self.assertEqual(self.attune("counters", "-p", str(program.pid), "--for", "1s").returncode, 1)

    def test_rows_end_and_programs_are_bound(self):
        cpu = min(os.sched_getaffinity(0))
        asks = "import os; print(sorted(os.sched_getaffinity(0)))"
        for options in (("--bind", str(cpu)), ("-t", "--bind", str(cpu))):
            self.assertEqual(self.attune("counters", *options, "--", sys.executable, "-c", asks).stdout.decode(), f"[{cpu}]\n")
        for options in (("--bind-attune", str(cpu)), ("-t", "--bind-attune", str(cpu))):
            self.assertEqual(self.attune("counters", *options, "--", sys.executable, "-c", asks).stdout.decode(), f"{sorted(os.sched_getaffinity(0))}\n")
        for options in ((), ("-t",)):
            rows = self.attune("counters", *options, "-p", str(os.getpid()), "-i", "50ms", "-n", "3", "-e", "task-clock", "--csv").stdout.decode()
            seconds = {row["seconds"].partition(".")[0] for row in csv.DictReader(io.StringIO(rows))}
            self.assertLessEqual(len(seconds), 3)
            self.assertGreaterEqual(len(rows.splitlines()), 4)
        program = self.attune("counters", "-i", "50ms", "-n", "2", "--csv", "-o", "two.csv", "--", "sh", "-c", "sleep 0.5; exit 3")
        self.assertEqual(program.returncode, 3)
        with open(self.path("two.csv"), encoding="utf-8") as file:
            self.assertEqual(len(file.readlines()), 3)

    @unittest.skipUnless(os.geteuid() == 0, "another user is needed")
    def test_programs_in_which_the_kernel_counts_no_events_are_named(self):
        os.chmod(self.folder, 0o755)
        unreadable, gains = self.path("unreadable"), self.path("gains")
        for copy, mode in ((unreadable, 0o711), (gains, 0o4755)):
            shutil.copy("/bin/sleep", copy)
            os.chmod(copy, mode)
        for program, why in (("sleep", None), (unreadable, b"may not be read"), (gains, b"rights of its own")):
            result = self.attune("counters", "-e", "cpu-clock", "--", program, "0.01", user=65534, group=65534, extra_groups=[])
            self.assertEqual(result.returncode, 0, result.stderr)
            if b"not permitted" in result.stderr or b"denied" in result.stderr:
                self.skipTest("the kernel lets this user count nothing")
            self.assertEqual(b"counts no events of perf in it" in result.stderr, why is not None, result.stderr)
            self.assertIn(why or b"", result.stderr)

    def test_rows_as_lines_of_json(self):
        program = (sys.executable, "-c", BUSY)
        self.attune("counters", "-i", "20ms", "-e", "task-clock,page-faults", "--json", "-o", "rows.json", "--", *program)
        with open(self.path("rows.json"), encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        self.assertGreaterEqual(sum(row["counts"]["page-faults"] for row in rows), 4000)
        self.assertEqual([row["seconds"] for row in rows], sorted(row["seconds"] for row in rows))
        self.attune("counters", "-t", "-i", "20ms", "-e", "page-faults", "--json", "-o", "threads.json", "--", *program)
        with open(self.path("threads.json"), encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        self.assertLessEqual({row["kind"] for row in rows}, {"tick", "exit", "rest"})
        self.assertGreaterEqual(sum(row["counts"]["page-faults"] for row in rows), 4000)

    def test_counting_ends_when_nobody_reads_it(self):
        for options in (("-a",), ("-p", str(os.getpid()), "-t"), ("-p", str(os.getpid()))):
            running = subprocess.Popen([ATTUNE, "counters", "-i", "20ms", "-e", "task-clock", "--csv", *options], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.addCleanup(running.stderr.close)
            self.addCleanup(running.kill)
            heading = running.stdout.readline()
            running.stdout.close()
            if options == ("-a",) and not heading:
                continue  # the kernel lets nobody count whole CPUs
            self.assertIn(b"task-clock", heading)
            self.assertEqual(running.wait(PATIENCE_S), -signal.SIGPIPE, options)
            self.assertEqual(running.stderr.read(), b"")

    def test_a_program_goes_on_when_nobody_reads_its_counts(self):
        for options in ((), ("-t",)):
            program = f"read line; i=0; while [ $i -lt 20 ]; do sleep 0.01; i=$((i+1)); done; echo whole >{self.path('end')}; exit 9"
            running = subprocess.Popen([ATTUNE, "counters", "-i", "20ms", "-e", "task-clock", *options, "--", "sh", "-c", program], env=self.env,
                                       stdin=subprocess.PIPE, stderr=subprocess.PIPE)
            self.addCleanup(running.kill)
            self.assertIn(b"task-clock", running.stderr.readline())
            running.stderr.close()
            running.stdin.close()
            self.assertEqual(running.wait(PATIENCE_S), 9)
            with open(self.path("end"), encoding="utf-8") as file:
                self.assertEqual(file.read(), "whole\n")
            os.remove(self.path("end"))

    def test_rows_add_up_to_the_whole(self):
        program = ("-e", "page-faults", "--", sys.executable, "-c", BUSY)
        _, whole, _ = self.counts(*program)
        for interval in ("50ms", "1h"):
            result = self.attune("counters", "-i", interval, "--csv", "-o", "rows.csv", *program)
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(self.path("rows.csv"), encoding="utf-8") as file:
                rows = [float(row["page-faults"]) for row in csv.DictReader(file)]
            self.assertAlmostEqual(sum(rows), whole["page-faults"], delta=0.03 * whole["page-faults"] + 10, msg=rows)
        rows = self.attune("counters", "-p", str(os.getpid()), "-i", "1h", "--for", "50ms", "-e", "task-clock", "--csv").stdout.splitlines()
        self.assertEqual(len(rows), 2, rows)

    def test_a_refusal_has_no_heading(self):
        for options in (("-i", "1s", "-p", "999999999"), ("-t", "-i", "1s", "-p", "999999999")):
            result = self.attune("counters", *options)
            self.assertEqual((result.returncode, result.stdout), (1, b""), result.stderr)
        for options in ((), ("-t",)):
            result = self.attune("counters", "-i", "1s", *options, "--", "./not-there")
            self.assertEqual(result.returncode, 5)
            self.assertTrue(result.stderr.startswith(b"attune: cannot run"), result.stderr)

    def test_the_whole_machine(self):
        result = self.attune("counters", "-a", "--for", "500ms", "-e", "context-switches,task-clock", "--json")
        if result.returncode == 4:
            self.skipTest("the kernel lets nobody count whole CPUs")
        counts = {row["event"]: row["count"] for row in json.loads(result.stdout)["events"]}
        self.assertGreater(counts["context-switches"], 0)

    def threads(self, *arguments):
        """Rows of threads, as CSV."""
        result = self.attune("counters", "-t", "--csv", "-o", "threads.csv", *arguments)
        with open(self.path("threads.csv"), encoding="utf-8") as file:
            return result, list(csv.DictReader(file))

    def sees_each_thread(self):
        return b"are told together" not in self.attune("counters", "-t", "--", "true").stderr

    def test_a_control_group(self):
        with open("/proc/self/mountinfo", encoding="utf-8") as file:
            mounts = [line.split()[4] for line in file if " - cgroup2 " in line]
        groups = [os.path.join(mount, f"attune-test-{os.getpid()}-{name}") for mount in mounts[:1] for name in ("busy", "idle")]
        try:
            for group in groups:
                os.mkdir(group)
                self.addCleanup(os.rmdir, group)
        except OSError as error:
            self.skipTest(f"no control group can be made: {error}")
        if not groups:
            self.skipTest("no cgroup2 is mounted")
        program = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        with open(os.path.join(groups[0], "cgroup.procs"), "w", encoding="utf-8") as file:
            file.write(str(program.pid))
        for name, least, most in ((groups[0], 0.01, 10), (os.path.basename(groups[0]), 0.01, 10), (groups[1], 0, 0)):
            result, counts, document = self.counts("-e", "cpu-clock", "--cgroup", name, "--for", "500ms")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertTrue(least <= counts["cpu-clock"] * 1e-9 <= most, (name, counts))
        self.assertIn("control group", document["of"])
        none = self.attune("counters", "--cgroup", "no/such/group", "--for", "100ms")
        self.assertEqual((none.returncode != 0, b"there is no control group" in none.stderr), (True, True), none.stderr)

    def test_each_thread_has_a_row(self):
        program = (os.path.join(BUILD, "tests/e2e/short_threads"), "1000")
        for events in ("task-clock,context-switches,page-faults", "cpu-clock,task-clock,page-faults"):
            result, rows = self.threads("-e", events, "--", *program)
            self.assertEqual((result.returncode, result.stdout), (0, b"done\n"), result.stderr)
            if self.sees_each_thread():
                self.assertEqual(len(rows), 2002)
                self.assertEqual(len({(row["tid"], row["seconds"]) for row in rows}), 2002)
                self.assertEqual({row["kind"] for row in rows}, {"exit"})
                seconds = [float(row["seconds"]) for row in rows]
                self.assertEqual(seconds, sorted(seconds))
                self.assertLessEqual({int(row["cpu"]) for row in rows}, os.sched_getaffinity(0))
            self.assertEqual(len({row["pid"] for row in rows} - {"0"}), 2)
            threads = sum(float(row["page-faults"]) for row in rows)
            _, whole, _ = self.counts("-e", "page-faults", "--", *program)
            self.assertAlmostEqual(threads, whole["page-faults"], delta=0.05 * threads + 30)

    def test_what_threads_counted_is_what_the_kernel_says_of_the_program(self):
        if not self.sees_each_thread():
            self.skipTest("eBPF is not permitted")
        result, rows = self.threads("-e", "task-clock,context-switches,page-faults,cpu-clock", "--", sys.executable, "-c", SELF_ACCOUNT)
        says = json.loads(result.stdout)
        self.assertEqual(len(rows), 5)
        counted = {event: sum(float(row[event]) for row in rows) for event in ("task-clock", "context-switches", "page-faults", "cpu-clock")}
        # Its end, and what was before its exec, are not in both.
        self.assertAlmostEqual(counted["context-switches"], says["switches"], delta=0.1 * says["switches"] + 10)
        self.assertAlmostEqual(counted["page-faults"], says["faults"], delta=0.1 * says["faults"] + 100)
        for event in ("task-clock", "cpu-clock"):
            self.assertAlmostEqual(counted[event] * 1e-9, says["cpu_s"], delta=0.25 * says["cpu_s"] + 0.02, msg=event)

    def test_a_thread_that_becomes_a_program_is_counted_once(self):
        """It gets the id of the first thread, which ends."""
        if not self.sees_each_thread():
            self.skipTest("eBPF is not permitted")
        program = ("--", sys.executable, "-c", EXEC_OF_THREAD)

        def used_ns(stdout):
            times = re.findall(rb"(\d+)m([\d.]+)s", stdout.splitlines()[0])
            return sum(60 * int(minutes) + float(seconds) for minutes, seconds in times) * 1e9

        for interval in ((), ("-i", "100ms")):
            result, rows = self.threads(*interval, "-e", "task-clock", *program)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(len({row["tid"] for row in rows}), 2, rows)
            self.assertEqual([row["kind"] for row in rows].count("exit"), 2, rows)
            counted = sum(float(row["task-clock"]) for row in rows)
            self.assertAlmostEqual(counted, used_ns(result.stdout), delta=0.1 * counted)
        whole = used_ns(self.attune("run", "-q", "--count", "task-clock", "-o", "exec.attune", *program).stdout)
        recorded = json.loads(self.attune("report", "exec.attune", "--json").stdout)["thread_counts"]["threads"]
        counted = {row["tid"] == row["pid"]: sum(row["counts"]) for row in recorded}
        self.assertGreater(counted[True], 0.9 * whole, "of the process's own thread, before and behind the exec")
        self.assertLess(sum(counted.values()), 1.1 * whole)

    def test_rows_of_threads_while_they_live(self):
        program = "for i in 1 2 3 4 5 6; do j=0; while [ $j -lt 20000 ]; do j=$((j+1)); done; sleep 0.1; done"
        result, rows = self.threads("-i", "100ms", "-e", "task-clock,cpu-clock", "--", "sh", "-c", program)
        self.assertEqual(result.returncode, 0, result.stderr)
        tids = [row["tid"] for row in rows]
        first = max(set(tids), key=tids.count)  # the shell: each sleep lives for a tick or two
        own = [row for row in rows if row["tid"] == first]
        self.assertEqual([row["kind"] for row in own][-1], "exit")
        self.assertGreaterEqual([row["kind"] for row in own].count("tick"), 3)
        self.assertTrue(all(float(row[event]) >= 0 for row in own for event in ("task-clock", "cpu-clock")), own)

    def test_threads_of_a_process_that_runs(self):
        text = "import threading, time\nfor _ in range(3): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n" \
               "end = time.time() + 60\nwhile time.time() < end: pass"
        program = subprocess.Popen([sys.executable, "-c", text])
        try:
            self.until(lambda: len(os.listdir(f"/proc/{program.pid}/task")) == 4, "threads")
            rows = []
            while not any(float(row["task-clock"]) > 0 for row in rows):
                _, rows = self.threads("-p", str(program.pid), "--for", "300ms", "-e", "task-clock")
                self.assertEqual({row["tid"] for row in rows if row["kind"] == "tick"}, set(os.listdir(f"/proc/{program.pid}/task")))
            busiest = max(rows, key=lambda row: float(row["task-clock"]))
            self.assertEqual(busiest["tid"], str(program.pid))
            result = self.attune("counters", "-t", "-p", str(program.pid), "--for", "300ms", "--json")
            document = json.loads(result.stdout)
            for thread in document["threads"]:
                self.assertLess(thread["lived_s"], document["seconds"] + 0.05, "nothing is counted behind the end")
        finally:
            program.kill()
            program.wait()

    def test_threads_where_ebpf_is_refused(self):
        """What threads were too short-lived to be seen is told, in sum."""
        self.write("no_bpf.py", REFUSED % '{"x86_64": 321, "aarch64": 280}')
        program = (os.path.join(BUILD, "tests/e2e/short_threads"), "400")
        result = self.run_program(sys.executable, "no_bpf.py", ATTUNE, "counters", "-t", "--json", "-e", "page-faults:u", "--", *program)
        self.assertEqual((result.returncode, result.stdout), (0, b"done\n"), result.stderr)
        document = json.loads(result.stderr[result.stderr.index(b"{"):])
        self.assertIn("are told together", document["notes"][0]["why"])
        counted = sum(row["counts"]["page-faults:u"] for row in document["threads"])
        _, whole, _ = self.counts("-e", "page-faults:u", "--", *program)
        self.assertAlmostEqual(counted, whole["page-faults:u"], delta=0.1 * counted + 30)

    def threads_without_ebpf(self, events, *program):
        self.write("no_bpf.py", REFUSED % '{"x86_64": 321, "aarch64": 280}')
        result = self.run_program(sys.executable, "no_bpf.py", ATTUNE, "counters", "-t", "--json", "-e", events, "--", *program)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stderr[result.stderr.index(b"{"):])["threads"]

    def test_without_ebpf_a_short_program_has_its_own_name(self):
        self.assertEqual(self.threads_without_ebpf("page-faults:u", "true")[0]["thread"], "true")

    def test_without_ebpf_cpu_time_before_a_thread_was_found_is_its_own(self):
        """They compute, and sleep until they are found."""
        program = "import threading, time\n" \
                  "def work():\n while time.thread_time() < 0.005: pass\n time.sleep(0.1)\n" \
                  "for _ in range(20):\n thread = threading.Thread(target=work)\n thread.start()\n thread.join()"
        rows = self.threads_without_ebpf("task-clock", sys.executable, "-c", program)
        own = [row["counts"]["task-clock"] for row in rows if row["tid"] not in (0, row["pid"])]
        self.assertGreater(sum(own), 0.8 * 20 * 5e6, rows)

    def test_events_are_sampled(self):
        if not self.sees_each_thread():
            refused = self.attune("counters", "-t", "--period", "page-faults=100", "--", "true")
            self.assertEqual((refused.returncode, b"eBPF" in refused.stderr), (4, True), refused.stderr)
            return
        result, rows = self.threads("-e", "task-clock", "--period", "page-faults=100", "--", sys.executable, "-c", BUSY)
        self.assertEqual((result.returncode, result.stdout), (0, b""), result.stderr)
        faults, samples = {}, {}
        for row in rows:
            faults[row["tid"]] = faults.get(row["tid"], 0) + float(row["page-faults"])
            samples.setdefault(row["tid"], []).extend([float(row["page-faults"])] if row["kind"] == "ebs" else [])
        busiest = sorted(faults, key=faults.get)[-4:]
        for tid in busiest:
            # Threads share the event with those that they start (docs/counters.md).
            self.assertAlmostEqual(len(samples[tid]), faults[tid] / 100, delta=3, msg=rows)
            exact = sum(95 <= growth <= 105 for growth in samples[tid])
            self.assertGreaterEqual(exact, 0.7 * len(samples[tid]), samples[tid])
        self.assertAlmostEqual(sum(map(len, samples.values())), sum(faults.values()) / 100, delta=len(samples))
        result, rows = self.threads("-n", "3", "--period", "page-faults=50", "--", sys.executable, "-c", BUSY)
        self.assertEqual([row["kind"] for row in rows].count("ebs"), 3)

    def test_migrations_have_rows(self):
        cpus = sorted(os.sched_getaffinity(0))
        if len(cpus) < 2:
            self.skipTest("one CPU")
        if not self.sees_each_thread():
            self.skipTest("eBPF is not permitted")
        result, rows = self.threads("-e", "task-clock,cpu-migrations", "--migrations", "--", sys.executable, "-c", MOVES)
        self.assertEqual(result.returncode, 0, result.stderr)
        own = [row for row in rows if row["pid"] == row["tid"]]
        moved = [row for row in own if row["kind"] == "migration"]
        self.assertGreaterEqual(len(moved), 19, rows)
        self.assertTrue(all(before["cpu"] != after["cpu"] for before, after in zip(moved, moved[1:])), moved)
        self.assertLessEqual(set(row["core_type"] for row in own), {"0", "1", "2", "3"})
        self.assertAlmostEqual(sum(float(row["cpu-migrations"]) for row in own), len(moved), delta=1)
        self.assertGreater(sum(float(row["task-clock"]) for row in moved), 0)

    def test_threads_that_sample_themselves_have_rows(self):
        if not self.sees_each_thread():
            self.skipTest("eBPF is not permitted")
        # page-faults is what the kernel accounts, page-faults:u a counter of the CPUs.
        result, rows = self.threads("-e", "page-faults,page-faults:u", "--self", "--", os.path.join(BUILD, "tests/e2e/samples_itself"))
        self.assertEqual(result.returncode, 0, result.stderr)
        own = [float(line) for line in result.stdout.split()]
        self.assertEqual(len(own), 2 * 49)
        by_thread = {}
        for row in rows:
            if row["kind"] == "self":
                by_thread.setdefault(row["tid"], []).append(row)
        self.assertEqual([len(samples) for samples in by_thread.values()], [50, 50])
        for event in ("page-faults", "page-faults:u"):
            seen = [float(row[event]) for samples in by_thread.values() for row in samples[1:]]
            self.assertAlmostEqual(sum(seen), sum(own), delta=20, msg="of 980 and more")
            self.assertGreater(sum(abs(count - 10) <= 1 for count in seen), 90, seen)

    def test_rows_that_find_no_room_are_counted(self):
        if not self.sees_each_thread():
            self.skipTest("eBPF is not permitted")
        # Nobody takes rows while the threads come and go.
        script = f"kill -STOP $PPID; {os.path.join(BUILD, 'tests/e2e/short_threads')} 2000; kill -CONT $PPID"
        result, every = self.threads("-e", "page-faults:u", "--buffer", "32M", "--", "sh", "-c", script)
        self.assertNotIn(b"found no room", result.stderr)
        self.assertGreaterEqual(len(every), 2000)
        result, rows = self.threads("-e", "page-faults:u", "--buffer", "64K", "--", "sh", "-c", script)
        self.assertEqual((result.returncode, result.stdout), (0, b"done\n"), result.stderr)
        self.assertIn(b"rows found no room in the buffer", result.stderr)
        self.assertLess(len(rows), len(every) / 2)
        result = self.attune("counters", "-t", "--buffer", "3", "--", "true")
        self.assertEqual((result.returncode, b"between 64K and 1G" in result.stderr), (2, True), result.stderr)

    def test_counts_of_threads_are_recorded(self):
        program = (os.path.join(BUILD, "tests/e2e/short_threads"), "200")
        result = self.attune("run", "-q", "--count", "task-clock,page-faults", "-o", "c.attune", "--", *program)
        self.assertEqual((result.returncode, result.stdout), (0, b"done\n"), result.stderr)
        counts = json.loads(self.attune("report", "c.attune", "--json").stdout)["thread_counts"]
        events = {row["event"]: row["count"] for row in counts["events"]}
        self.assertEqual(set(events), {"task-clock", "page-faults"})
        _, whole, _ = self.counts("-e", "page-faults", "--", *program)
        self.assertAlmostEqual(events["page-faults"], whole["page-faults"], delta=0.2 * whole["page-faults"] + 100, msg="the probe's own are few")
        if self.sees_each_thread():
            self.assertEqual(len(counts["threads"]), 402)
        summed = self.query("c.attune", "select event, sum(count) as count from thread_counts group by event")
        self.assertEqual({row["event"]: row["count"] for row in summed}, {event: int(count) for event, count in events.items()})
        text = self.attune("report", "c.attune", "thread-counts").stdout.decode()
        self.assertRegex(text, r"task-clock +page-faults +thread")
        self.assertRegex(text, r"(?m)^ +[\d,.]+ ms +[\d,]+ +all$")
        self.assertIn(b"thread-counts", self.attune("report", "c.attune").stdout)
        again = json.loads(self.attune("counters", "--from", "c.attune", "-g", "memory", "--json").stdout)
        self.assertEqual(sum(row["counts"]["page-faults"] for row in again["threads"]), events["page-faults"])
        for row in again["threads"]:
            if row["counts"]["task-clock"] > 0:
                self.assertAlmostEqual(row["counts"]["fault-rate"], 1e9 * row["counts"]["page-faults"] / row["counts"]["task-clock"], places=3)
        self.assertTrue(any(note["why"] == "major-faults was not recorded" for note in again["notes"]), again["notes"])
        none = self.attune("counters", "--from", "missing.attune")
        self.assertEqual((none.returncode != 0, b"missing.attune" in none.stderr), (True, True), none.stderr)
        wrong = self.attune("run", "--count", "page-fault", "--", "true")
        self.assertEqual((wrong.returncode, b"page-faults" in wrong.stderr), (2, True), wrong.stderr)

    def test_counts_of_threads_are_of_the_cpus_that_they_ran_on(self):
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("one CPU")
        result = self.attune("run", "-q", "--count", "task-clock,page-faults", "-o", "c.attune", "--", sys.executable, "-c", ON_TWO_CPUS)
        self.assertEqual(result.returncode, 0, result.stderr)
        told = json.loads(result.stdout)
        report = json.loads(self.attune("report", "c.attune", "--json").stdout)
        counts = report["thread_counts"]
        on = {row["cpu"]: row["counts"] for row in counts["cpus"]}
        self.assertEqual(len(on), len(counts["cpus"]))
        for event, row in enumerate(counts["events"]):
            self.assertEqual(sum(of_cpu[event] for of_cpu in on.values()), row["count"], row)
            self.assertEqual(sum(thread["counts"][event] for thread in counts["threads"]), row["count"], row)
        if not self.sees_each_thread():
            self.skipTest("CPUs are approximate without eBPF")
        for cpu, known in told["on"].items():
            for event, least in enumerate(known):
                beside = told["whole"][event] - sum(of_cpu[event] for of_cpu in told["on"].values())  # on whichever CPU
                self.assertGreater(on[int(cpu)][event], 0.97 * least, (told, counts))
                self.assertLess(on[int(cpu)][event], 1.03 * least + 1.1 * beside, (told, counts))
        rows = self.query("c.attune", "select count(*) as rows from thread_counts")[0]["rows"]
        looks = 2 + report["duration_ns"] / 1e9
        self.assertLess(rows, looks * len(counts["threads"]) * len(on) * len(counts["events"]), "a thread that migrates often has no more rows")

    def test_counts_of_threads_by_core_type(self):
        cpus = sorted(os.sched_getaffinity(0))
        if len(cpus) < 2 or not os.path.exists(f"/sys/devices/system/cpu/cpu{cpus[0]}/cpu_capacity"):
            self.skipTest("one CPU, or the kernel says nothing of capacities")
        namespace = ("unshare", "-m") if os.geteuid() == 0 else ("unshare", "-rm")
        result = self.run_program(*namespace, "sh", "-c", ON_A_SMALL_CPU, "sh", str(cpus[0]),
                                  ATTUNE, "run", "-q", "--count", "task-clock,page-faults", "-o", "c.attune", "--", sys.executable, "-c", ON_TWO_CPUS)
        if result.returncode == 99:
            self.skipTest("nothing can be mounted")
        self.assertEqual(result.returncode, 0, result.stderr)
        report = json.loads(self.attune("report", "c.attune", "--json").stdout)
        others = report["info"]["core_types"].split()[0]
        self.assertEqual(report["info"]["core_types"], f"{others} {cpus[0]}")
        counts = report["thread_counts"]
        small, = (row["counts"] for row in counts["cpus"] if row["cpu"] == cpus[0])
        self.assertEqual({row["core_type"]: (row["cpus"] > 0, row["counts"]) for row in counts["core_types"] if row["core_type"] is not None}[1], (True, small))
        self.assertEqual([sum(row["counts"][event] for row in counts["core_types"]) for event in (0, 1)], [row["count"] for row in counts["events"]])
        self.assertRegex(self.attune("report", "c.attune", "thread-counts").stdout.decode(), r"task-clock +page-faults +core type\n[^\n]+ 0 \(\d+ CPUs?\)\n[^\n]+ 1 \(1 CPU\)")

    def test_events_that_the_machine_has_not_are_left_out(self):
        # No machine has both units.
        lacking = ("cpu_core/event=1/", "armv8_cortex_a53/event=1/")
        for options in ((), ("-t",)):
            result = self.attune("counters", "--json", *options, "-e", ",".join(("task-clock", *lacking)), "--", "true")
            self.assertEqual(result.returncode, 0, result.stderr)
            notes = {note["event"]: note["why"] for note in json.loads(result.stderr[result.stderr.index(b"{"):])["notes"]}
            self.assertTrue(any("no unit" in notes.get(event, "") for event in lacking), notes)
        rows = self.attune("counters", "--csv", "-e", ",".join(("task-clock", *lacking)), "--", "true").stderr.decode()
        self.assertRegex(rows, r'(?m)^"?(cpu_core|armv8_cortex_a53)/event=1/"?,,,,,1$')
        for options in (("-t",), ("-i", "100ms")):
            result = self.attune("counters", "--csv", "-o", "rows.csv", *options, "-e", ",".join(("task-clock", *lacking)), "--", "true")
            self.assertEqual((result.returncode, b"event=1/: this machine has no unit" in result.stderr), (0, True), result.stderr)
        elsewhere = lacking[os.uname().machine == "x86_64"]
        for arguments in (("counters", "-e"), ("run", "-o", "none.attune", "--count"), ("run", "-o", "none.attune", "--event-samples")):
            none = self.attune(*arguments, elsewhere, "--", "true")
            self.assertEqual((none.returncode, b"no unit" in none.stderr), (3, True), none.stderr)
        none = self.attune("counters", "-e", "vendors_core/event=1/", "--", "true")
        self.assertEqual((none.returncode, b"no unit" in none.stderr), (2, True), none.stderr)
        program = ("sh", "-c", "j=0; while [ $j -lt 100000 ]; do j=$((j+1)); done")
        result = self.attune("run", "-q", "--count", ",".join((*lacking, "page-faults")), "--event-samples", ",".join((*lacking, "page-faults")), "-o", "l.attune",
                             "--", *program)
        self.assertEqual(result.returncode, 0, result.stderr)
        unseen = json.loads(self.attune("report", "l.attune", "--json").stdout)["unseen"]
        for what in ("counts of ", "samples of "):
            self.assertTrue(any(line.startswith(what) and "this machine has no unit" in line for line in unseen), unseen)

    def test_counts_are_recorded_without_ebpf(self):
        self.write("no_bpf.py", REFUSED % '{"x86_64": 321, "aarch64": 280}')
        program = ("sh", "-c", "j=0; while [ $j -lt 300000 ]; do j=$((j+1)); done")
        result = self.run_program(sys.executable, "no_bpf.py", ATTUNE, "run", "-q", "--count", "page-faults:u", "-o", "c.attune", "--", *program)
        self.assertEqual(result.returncode, 0, result.stderr)
        report = json.loads(self.attune("report", "c.attune", "--json").stdout)
        counts = report["thread_counts"]
        self.assertEqual(counts["events"][0]["event"], "page-faults:u")
        self.assertLessEqual({row["cpu"] for row in counts["cpus"]}, os.sched_getaffinity(0) | {None})
        self.assertTrue(any(row["cpu"] is not None for row in counts["cpus"]), counts)
        self.assertEqual(sum(row["counts"][0] for row in counts["cpus"]), counts["events"][0]["count"])
        self.assertTrue(any("are told together" in what for what in report["unseen"]), report["unseen"])

    def test_groups(self):
        _, counts, document = self.counts("-g", "scheduler,memory", "--", sys.executable, "-c", SELF_ACCOUNT)
        metrics = {row["metric"]: row["count"] for row in document["events"] if "metric" in row}
        self.assertEqual(list(metrics), ["CPUs", "slice", "migrations", "fault-rate", "major-share"])
        self.assertAlmostEqual(metrics["CPUs"], counts["task-clock"] * 1e-9 / document["seconds"], delta=1e-6 * metrics["CPUs"])
        self.assertAlmostEqual(metrics["fault-rate"], 1e9 * counts["page-faults"] / counts["task-clock"], delta=1e-3)
        # Each thread and their sum, and a user's own group.
        os.makedirs(os.path.join(self.env["XDG_CONFIG_HOME"], "attune", "groups"))
        self.write("no-config/attune/groups/mine.toml", '[[group]]\nname = "mine"\nevents = { time = "task-clock" }\n[[group.metric]]\nname = "busy"\nunit = "%"\nformula = "1e-7 * time / seconds"\n')
        _, rows = self.threads("-g", "mine", "--", sys.executable, "-c", "while sum(range(3000000)) == 0: pass")
        for row in rows:
            if row["kind"] == "exit":
                self.assertAlmostEqual(float(row["busy"]), 1e-7 * float(row["task-clock"]) / float(row["lived"]), delta=0.01 * float(row["busy"]) + 0.01)
        listed = {row["name"]: row for row in json.loads(self.attune("list", "groups", "--json").stdout)}
        self.assertEqual((listed["mine"]["here"], listed["mine"]["metrics"]), ("yes", "busy"))
        self.assertIn("IPC", listed["ipc"]["metrics"])
        formulas = {row["name"]: row["formula"] for row in json.loads(self.attune("list", "groups", "ipc", "--json").stdout)}
        self.assertEqual(formulas["IPC"], "instructions / cycles")
        wrong = self.attune("counters", "-g", "schedular", "--", "true")
        self.assertEqual((wrong.returncode, b"scheduler" in wrong.stderr), (1, True), wrong.stderr)
        self.write("no-config/attune/groups/wrong.toml", '[[group]]\nname = "wrong"\nevents = { a = "task-clock" }\n[[group.metric]]\nname = "m"\nformula = "b / 2"\n')
        # A file that is wrong is told, and the others count.
        for arguments in (("counters", "-g", "mine", "--", "true"), ("list", "groups"), ("list", "groups", "mine")):
            other = self.attune(*arguments)
            self.assertEqual((other.returncode, other.stderr.count(b"wrong.toml:6")), (0, 1), other.stderr)
        self.assertEqual(self.attune("counters", "-g", "wrong", "--", "true").returncode, 1)

    def test_a_wrong_file_of_events_is_told(self):
        os.makedirs(os.path.join(self.env["XDG_CONFIG_HOME"], "attune", "events"))
        self.write("no-config/attune/events/a_wrong.json", '[\n{"EventName": }\n]')
        self.write("no-config/attune/events/right.json", '[{"EventName": "MADE_UP.EVENT", "EventCode": "0x42", "Unit": "nowhere"}]')
        result = self.attune("counters", "-e", "task-clock,MADE_UP.EVENT", "--", "true")
        self.assertEqual((result.returncode, result.stderr.count(b"a_wrong.json:2")), (0, 1), result.stderr)
        self.assertIn(b"MADE_UP.EVENT: this machine shows no unit that counts it", result.stderr)

    def test_metrics_that_overflow_are_not_known(self):
        os.makedirs(os.path.join(self.env["XDG_CONFIG_HOME"], "attune", "groups"))
        self.write("no-config/attune/groups/huge.toml", '[[group]]\nname = "huge"\nevents = { time = "task-clock" }\n'
                   '[[group.metric]]\nname = "m"\nformula = "1e308 * time * 1e308"\n[[group.metric]]\nname = "edge"\nformula = "1.5e308 + time"\n')
        for runs in ("1", "2"):
            said = self.attune("counters", "-r", runs, "-g", "huge", "--", "true").stderr
            self.assertEqual((b"inf" in said, b"nan" in said), (False, False), said)
            rows = self.attune("counters", "-r", runs, "-g", "huge", "--csv", "--", "true").stderr.decode()
            self.assertRegex(rows, r"(?m)^m,,,,,%s$" % runs)
            _, _, document = self.counts("-r", runs, "-g", "huge", "--", "true")
            self.assertIsNone({row.get("metric"): row["count"] for row in document["events"]}["m"])

    def test_regions_of_a_program_that_counts_itself(self):
        program = os.path.join(BUILD, "examples/example_regions")
        alone = self.run_program(program, "2", "task-clock:u,page-faults:u")
        if alone.returncode == 1 and b"permi" in alone.stderr:
            self.skipTest("events of perf are not permitted")
        self.assertEqual((alone.returncode, alone.stdout), (0, b"1\n"), alone.stderr)
        self.assertRegex(alone.stderr.decode(), r"(?m)^by columns +8 +[\d.]+ ms +[\d.]+ ms +\d+$")
        watched = self.attune("run", "-q", "-o", "regions.attune", "--", program, "2", "task-clock:u,page-faults:u")
        self.assertEqual((watched.returncode, watched.stdout), (0, b"1\n"), watched.stderr)
        regions = self.query("regions.attune", "select name, count(*) as calls from regions group by name order by name")
        self.assertEqual([(row["name"], row["calls"]) for row in regions], [("by columns", 8), ("by rows", 8)])
        counters = self.query("regions.attune", "select s.signal as name, max(v.value) as most from series s join samples v on v.series = s.id "
                              "where s.signal like 'by %' group by s.signal")
        most = {row["name"]: row["most"] for row in counters}
        printed = re.search(r"(?m)^by columns +8 +[\d.]+ ms +([\d.]+) ms", watched.stderr.decode())
        self.assertAlmostEqual(most["by columns: task-clock:u"] * 1e-6, float(printed.group(1)), delta=0.01)
        report = json.loads(self.attune("report", "regions.attune", "--json").stdout)["program"]
        counted = {region["name"]: {count["event"]: count["total"] for count in region["counts"]} for region in report["regions"]}
        self.assertEqual(counted["by columns"]["task-clock:u"], most["by columns: task-clock:u"])
        by_columns = next(region for region in report["regions"] if region["name"] == "by columns")
        metrics = {metric["metric"]: metric["value"] for metric in by_columns["metrics"]}
        self.assertAlmostEqual(metrics["CPUs"], most["by columns: task-clock:u"] / by_columns["total_ns"], places=6)
        self.assertEqual(report["counters"], [], "those of regions are theirs")
        shown = self.attune("report", "regions.attune", "regions").stdout.decode()
        self.assertRegex(shown, r"(?m)^ *task-clock:u +page-faults:u +[^\n]*CPUs +region$")

    def test_counters_of_markers_are_in_the_report(self):
        result = self.attune("run", "-q", "-o", "markers.attune", "--", os.path.join(BUILD, "examples/example_pipeline"))
        self.assertEqual(result.returncode, 0, result.stderr)
        report = json.loads(self.attune("report", "markers.attune", "--json").stdout)["program"]
        counters = {row["name"]: row for row in report["counters"]}
        self.assertGreater(counters["bytes kept"]["last"], 0)
        self.assertEqual(counters["bytes kept"]["high"], counters["bytes kept"]["last"], "it only grows")
        self.assertRegex(self.attune("report", "markers.attune", "counters").stdout.decode(), r"(?m) bytes kept$")

    def test_bad_input_is_named(self):
        for arguments, said in [((), b"what is to be counted?"), (("-a", "--", "true"), b"exclude each other"),
                                (("-e", "page-fualts", "--", "true"), b"page-faults"), (("-r", "0", "--", "true"), b"1 to"),
                                (("-e", "faults,,cs", "--", "true"), b"empty name"), (("-p", "x"), b"not a process id"),
                                (("-C", "999", "--for", "1s"), b"online"), (("--json", "--csv", "--", "true"), b"exclude"),
                                (("-n", "3", "--", "true"), b"needs --interval"), (("--bind", "999", "--", "true"), b"online"),
                                (("-p", "1", "--bind", "0"), b"that attune starts"), (("-t", "-a"), b"for a program or a process"),
                                (("-t", "-r", "3", "--", "true"), b"exclude"), (("-r", "2"), b"what is to be counted?")]:
            result = self.attune("counters", *arguments)
            self.assertEqual(result.returncode, 2, (arguments, result.stderr))
            self.assertIn(said, result.stderr)

    def test_a_recording_takes_no_choice_of_what_is_counted(self):
        for option in (("-i", "1s"), ("-n", "3"), ("--for", "1s"), ("--bind", "0"), ("--bind-attune", "0"), ("--migrations",), ("-t",),
                       ("--period", "page-faults=10"), ("-e", "page-faults"), ("-r", "2")):
            result = self.attune("counters", "--from", "missing.attune", *option)
            self.assertEqual(result.returncode, 2, (option, result.stderr))
            self.assertRegex(result.stderr.decode(), r"--[a-z-]+ and --from exclude each other(?s:.*)hint: .*attune run --count", option)

    def test_names_of_threads_do_not_steer_a_terminal(self):
        program = "import ctypes, time\nctypes.CDLL(None).prctl(15, b'a\\x1b]0;\\x07\\n\\xff,b', 0, 0, 0)\ntime.sleep(0.2)"
        for options in (("--csv",), (), ("--csv", "-i", "50ms"), ("-i", "50ms")):
            result = self.attune("counters", "-t", *options, "-e", "task-clock", "-o", "names", "--", sys.executable, "-c", program)
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(self.path("names"), "rb") as file:
                text = file.read()
            self.assertIn(b"a?]0;???,b", text)
            self.assertEqual(re.findall(rb"[\x00-\x09\x0b-\x1f\x7f-\xff]", text), [], text)

    def test_events_are_listed(self):
        names = self.attune("list", "events", "--names").stdout.split()
        self.assertIn(b"page-faults", names)
        skylake = json.loads(self.attune("list", "events", "skl", "--json").stdout)
        self.assertGreater(len(skylake), 100)
        self.assertTrue(all(row["code"].startswith(("0x", "cpu/config=0x")) for row in skylake))
        if os.uname().machine == "x86_64":
            near = self.attune("counters", "-e", "INST_RETIRED:ANY_PP", "--", "true", env={**self.env, "LIBPFM_FORCE_PMU": "skl"})
            self.assertEqual((near.returncode, b"INST_RETIRED:ANY_P" in near.stderr), (2, True), near.stderr)
        wrong = self.attune("list", "events", "sklake")
        self.assertEqual(wrong.returncode, 1)
        self.assertIn(b"neither a unit", wrong.stderr)

    def listed(self, *arguments, **kwargs):
        result = self.attune("list", "events", "--json", *arguments, **kwargs)
        self.assertEqual(result.returncode, 0, result.stderr)
        return {row["name"]: row["code"] for row in json.loads(result.stdout)}

    def test_names_and_numbers_of_events(self):
        if os.uname().machine != "x86_64":
            self.skipTest("libpfm4 has the models of x86 there alone")
        skylake = self.listed("skl")
        self.assertEqual(self.listed("--pmu", "skl"), skylake)
        # Offcore events differ in their second register alone; some have two names.
        offcore = {name: code for name, code in skylake.items() if name.startswith("OFFCORE_RESPONSE_0:")}
        self.assertGreater(len(set(offcore.values())), 20, offcore)
        reads = offcore["OFFCORE_RESPONSE_0:DMND_DATA_RD"]
        self.assertRegex(reads, r"^cpu/config=0x1b7,config1=0x[0-9a-f]+/$")
        self.assertIn("OFFCORE_RESPONSE_0:DMND_DATA_RD", self.listed(reads, "--pmu", "skl"))
        self.assertNotIn("OFFCORE_RESPONSE_0:DMND_RFO", self.listed(reads, "--pmu", "skl"))
        self.assertEqual(set(self.listed("r1b7", "--pmu", "skl")), set(offcore))
        for code in ("r5101c0", "0x5101c0", "r1c0", "cpu/event=0xc0,umask=0x1/"):
            self.assertEqual(set(self.listed(code, "--pmu", "skl")), {name for name, one in skylake.items() if one == "0x5101c0"}, code)
        of_machine = self.listed("r5101c4", env={**self.env, "LIBPFM_FORCE_PMU": "skl"})
        self.assertTrue(of_machine and all(code == "0x5101c4" for code in of_machine.values()), of_machine)
        self.write("made_up.json", '[{"EventName": "MADE_UP", "EventCode": "0x42", "UMask": "0x1"}, {"EventName": "OTHER", "EventCode": "0x42"}]')
        self.assertEqual(set(self.listed("r142", "--pmu", "made_up.json")), {"MADE_UP"})
        for arguments, said in [(("rffff", "--pmu", "skl"), b"no event of skl has the code"), (("skl", "--pmu", "skl"), b"is no code")]:
            wrong = self.attune("list", "events", *arguments)
            self.assertEqual((wrong.returncode != 0, said in wrong.stderr), (True, True), wrong.stderr)
        self.assertEqual(self.attune("list", "knobs", "--pmu", "skl").returncode, 2)

    def test_a_program_without_perf(self):
        """Where perf is refused, what the kernel accounts anyway is told."""
        self.write("no_perf.py", REFUSED % '{"x86_64": 298, "aarch64": 241}')
        result = self.run_program(sys.executable, "no_perf.py", ATTUNE, "counters", "--json", "--", "true")
        document = json.loads(result.stderr[result.stderr.index(b"{"):])
        counts = {row["event"]: row["count"] for row in document["events"]}
        self.assertGreater(counts["page-faults"], 10)


# Refuses a system call by a filter, then becomes the program.
REFUSED = """
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
NUMBER = %s[os.uname().machine]
code = struct.pack("HBBI", 0x20, 0, 0, 0) + struct.pack("HBBI", 0x15, 0, 1, NUMBER) + struct.pack("HBBI", 0x06, 0, 0, 0x00050000 | 13) \\
    + struct.pack("HBBI", 0x06, 0, 0, 0x7fff0000)
buffer = ctypes.create_string_buffer(code)
program = struct.pack("HxxxxxxP", 4, ctypes.addressof(buffer))
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.create_string_buffer(program)) == 0
os.execvp(sys.argv[1], sys.argv[1:])
"""


if __name__ == "__main__":
    main()
