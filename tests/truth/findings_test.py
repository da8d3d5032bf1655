"""What is planted in a program is what attune finds first: the class, the place, the time. In balanced programs nothing.

Each program measures itself what its threads lose, in the very run that attune observes.
"""

import functools
import json
import os
import subprocess
import sys
import unittest

SOURCE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(SOURCE, os.pardir, "e2e"))
from attune_e2e import BUILD, E2E, each_where_cpus_are_free, main, needs, unseen_but_cpu, without_others  # noqa: E402

PROGRAMS = os.path.join(BUILD, "tests", "truth")


def planted_line(program, mark="// the planted line"):
    with open(os.path.join(SOURCE, program + ".c"), encoding="utf-8") as f:
        return next(number for number, text in enumerate(f, 1) if text.rstrip().endswith(mark))


def needs_program(name, why):
    return unittest.skipUnless(os.path.exists(os.path.join(PROGRAMS, name)), why)


needs_gcc = needs_program("openmp_loop", "not built by GCC")
needs_libomp = needs_program("openmp_loop_llvm", "not installed: clang with OpenMP (libomp-19-dev)")


def needs_cpu_samples(test):
    """Where the kernel permits none, it says so."""
    @functools.wraps(test)
    def checked(self):
        self.attune("run", "-q", "-f", "-o", "probe.attune", "--", "true")
        unseen = json.loads(self.attune("report", "probe.attune", "--json").stdout)["unseen"]
        refused = [what for what in unseen if what.startswith("CPU samples:")]
        if refused:
            self.skipTest(refused[0])
        test(self)
    return checked


@each_where_cpus_are_free
class Findings(E2E):
    def observe(self, *command, level="profile", **kwargs):
        """Runs under attune; what the program printed, and what was found."""
        result = self.attune("run", "-q", "-f", "--level", level, "-o", "r.attune", "--", *command, **kwargs)
        self.assertEqual(result.returncode, 0, result.stderr)
        report = self.attune("report", "r.attune", "--json")
        self.assertEqual(report.returncode, 0, report.stderr.decode())
        return result.stdout, without_others(json.loads(report.stdout))

    def check(self, expected_class, program, *arguments, has_place=True, mark="// the planted line", source=None, **kwargs):
        """@param source of the program, if it is called otherwise"""
        source = source or program
        output, report = self.observe(os.path.join(PROGRAMS, program), *arguments, **kwargs)
        truth = int(output.split()[1]) * 1e-9
        self.assertTrue(report["findings"], report["waits"])
        finding = report["findings"][0]
        self.assertEqual(finding["class"], expected_class, report["findings"])
        if has_place:
            site = finding["site"]
            self.assertEqual((os.path.basename(site["file"]), site["line"]), (source + ".c", planted_line(source, mark)), finding)
            self.assertEqual(os.path.realpath(site["module"]), os.path.realpath(os.path.join(PROGRAMS, program)))
        else:
            self.assertIsNone(finding["site"])
        print(f"{expected_class} {arguments}: found {finding['seconds']:.4f} s, true {truth:.4f} s, "
              f"{100 * (finding['seconds'] / truth - 1):+.2f} %")
        self.assertAlmostEqual(finding["seconds"], truth, delta=0.05 * truth)
        self.assertAlmostEqual(finding["share"], finding["seconds"] * 1e9 / report["waits"]["thread_ns"], places=6)
        self.assertTrue(finding["threads"] and finding["evidence"] and finding["advice"], finding)
        return finding

    def check_contention(self, kind, program="lock_contention", threads=4):
        finding = self.check("lock-contention", program, kind, source="lock_contention")
        self.assertEqual(len(finding["threads"]), threads)
        # Where it is waited for is another place than the cause.
        self.assertIn("peek", {waiter["site"]["function"] for waiter in finding["waiters"]})
        return finding

    def test_mutex_contention(self):
        self.check_contention("mutex")

    def test_many_locks_that_are_little_each(self):
        finding = self.check_contention("many", threads=2)
        self.assertGreater(finding["figures"]["objects"], 60)

    def test_locks_of_several_processes(self):
        program = os.path.join(PROGRAMS, "lock_contention")
        output, report = self.observe("sh", "-c", f"{program} mutex & {program} mutex & {program} mutex & wait")
        truth = sum(int(line.split()[1]) for line in output.splitlines()) * 1e-9
        found = [finding for finding in report["findings"] if finding["class"] == "lock-contention"]
        self.assertEqual(len(found), 1, found)
        self.assertAlmostEqual(found[0]["seconds"], truth, delta=0.05 * truth)
        self.assertEqual((found[0]["figures"]["objects"], found[0]["figures"]["processes"]), (3, 3))

    def test_contention_in_a_static_program(self):
        dynamic = self.check_contention("mutex")
        static = self.check_contention("mutex", "lock_contention_static")
        self.assertEqual(static["site"]["function"], dynamic["site"]["function"])
        self.assertEqual(unseen_but_cpu(json.loads(self.attune("report", "r.attune", "--json").stdout)), [])

    def test_what_a_lock_costs_at_most(self):
        output, report = self.observe(os.path.join(PROGRAMS, "one_lock"), "shared")
        took = int(output.split()[1]) * 1e-9
        own = subprocess.run([os.path.join(PROGRAMS, "one_lock"), "own"], stdout=subprocess.PIPE, check=True).stdout
        saved = took - int(own.split()[1]) * 1e-9
        finding = report["findings"][0]
        self.assertIn(finding["class"], ("lock-contention", "lock-convoy"))
        at_most = finding["figures"]["shorter_at_most_seconds"]
        print(f"one lock: at most {at_most:.4f} s shorter, with locks of their own {saved:.4f} s")
        self.assertAlmostEqual(at_most, saved, delta=0.05 * saved)
        self.assertIn(b"would be at most", self.attune("report", "r.attune", "--full").stdout)

    def test_rwlock_contention(self):
        self.check_contention("rwlock")

    def test_spin_lock_contention(self):
        self.check_contention("spin")

    def test_lock_contention_with_the_holders_recorded(self):
        finding = self.check("lock-contention", "lock_contention", "mutex", level="blame")
        holders = {thread["tid"] for thread in finding["caused_by"][:2]}
        self.assertEqual(len(holders), 2)
        first_two = {thread["tid"] for thread in sorted(finding["threads"], key=lambda row: row["tid"])[:2]}
        self.assertEqual(holders, first_two, "the first two threads hold it for long")

    def test_lock_convoy(self):
        self.check("lock-convoy", "lock_convoy")

    def test_load_imbalance(self):
        self.check_imbalance("late")

    def test_load_imbalance_of_threads_that_compute(self):
        self.check_imbalance("uneven")

    def check_loop(self, program):
        finding = self.check("load-imbalance", program, "late", source="openmp_loop")
        self.assertEqual(len(finding["caused_by"]), 1)
        self.assertEqual(finding["threads_in_all"], 4)
        self.assertIn("schedule(", finding["advice"])

    @needs_gcc
    def test_load_imbalance_of_a_loop(self):
        self.check_loop("openmp_loop")

    @needs_libomp
    def test_load_imbalance_of_a_loop_of_clangs(self):
        self.check_loop("openmp_loop_llvm")
        others = json.loads(self.attune("report", "r.attune", "--json").stdout)["waits"]["others"]
        # The runtime waits by conditions and mutexes of its own inside these: that is one wait, not two.
        self.assertEqual({other["kind"] for other in others}, {"OpenMP barrier"}, others)

    def check_imbalance(self, kind):
        finding = self.check("load-imbalance", "barrier", kind)
        self.assertEqual(len(finding["caused_by"]), 1)
        late = finding["caused_by"][0]["tid"]
        waited = {thread["tid"]: thread["seconds"] for thread in finding["threads"]}
        self.assertLessEqual(waited.get(late, 0), min(waited.values()), "who makes the others wait waits least")

    def test_wait_at_barrier(self):
        finding = self.check("wait-at-barrier", "barrier", "turns")
        self.assertEqual(finding["caused_by"], [])

    def test_condition_wait(self):
        finding = self.check("condition-wait", "condition_wait")
        self.assertEqual(len(finding["threads"]), 3)
        waiters = {thread["tid"] for thread in finding["threads"]}
        self.assertTrue(finding["caused_by"][0]["tid"] not in waiters, "who makes them wait does not wait")

    def check_disk(self, kind):
        if subprocess.run(["stat", "-f", "-c", "%T", self.folder], stdout=subprocess.PIPE, check=True).stdout == b"tmpfs\n":
            self.skipTest("there is no disk behind " + self.folder)
        finding = self.check("io-wait", "disk", kind, self.folder, mark="// the planted line of " + kind)
        self.assertGreaterEqual(finding["threads_in_all"], 2)
        report = self.attune("report", "r.attune", "--full").stdout
        self.assertIn(b"files", report[report.index(b"What the threads waited for"):])

    def test_reading_past_the_cache(self):
        self.check_disk("read")

    def test_writing_to_the_disk(self):
        self.check_disk("sync")

    @needs_cpu_samples
    def test_false_sharing(self):
        output, report = self.observe(os.path.join(PROGRAMS, "cache_line"), "shared")
        self.assertTrue(report["findings"], report)
        finding = report["findings"][0]
        self.assertEqual(finding["class"], "false-sharing", report["findings"])
        site = finding["site"]
        self.assertEqual((os.path.basename(site["file"]), site["line"]), ("cache_line.c", planted_line("cache_line")), finding)
        self.assertEqual(len(finding["threads"]), 2)
        truth = int(output.split()[1]) * 1e-9
        print(f"false-sharing: {finding['seconds']:.4f} s of {truth:.4f} s of CPU time")
        self.assertLessEqual(finding["seconds"], 1.02 * truth)
        self.assertIn(b"false-sharing at count (cache_line.c", self.attune("report", "r.attune", "--full").stdout)

    def test_serialisation(self):
        finding = self.check("serialisation", "turns")
        self.assertEqual(len(finding["threads"]), 4)

    @unittest.skipIf(not getattr(sys, "_is_gil_enabled", lambda: True)(), "this Python has no lock of its own")
    def test_pythons_threads_wait_for_the_interpreter(self):
        script = self.write("threads.py", "import threading\n"
                            "def add():\n"
                            "    for i in range(4000000): i + i\n"
                            "threads = [threading.Thread(target=add) for _ in range(4)]\n"
                            "for thread in threads: thread.start()\n"
                            "for thread in threads: thread.join()\n")
        _, report = self.observe(os.path.realpath(sys.executable), script)
        self.assertTrue(report["findings"], report["waits"])
        self.assertEqual(report["findings"][0]["class"], "interpreter-lock", report["findings"])

    def test_oversubscription(self):
        two_cpus = sorted(os.sched_getaffinity(0))[:2]
        for kind, classes in (("turns", []), ("spinning", ["oversubscription"])):
            _, report = self.observe(os.path.join(PROGRAMS, "crowd"), kind, preexec_fn=lambda: os.sched_setaffinity(0, two_cpus))
            self.assertEqual([finding["class"] for finding in report["findings"][:1]], classes, (kind, report["findings"]))
        self.assertEqual(report["findings"][0]["threads_in_all"], 8)


class LockOrder(E2E):
    """Nothing is lost by it, so nothing depends on what else runs."""

    def observe(self, kind, level):
        program = os.path.join(PROGRAMS, "lock_order")
        result = self.attune("run", "-q", "-f", "--level", level, "-o", "r.attune", "--", program, kind)
        self.assertEqual(result.returncode, 0, result.stderr)
        report = json.loads(self.attune("report", "r.attune", "--json").stdout)
        return [finding for finding in report["findings"] if finding["class"] == "lock-order-cycle"]

    def check(self, kind, level, locks, line):
        findings = self.observe(kind, level)
        self.assertEqual(len(findings), 1, findings)
        finding = findings[0]
        site = finding["site"]
        self.assertEqual((os.path.basename(site["file"]), site["line"]), ("lock_order.c", line), finding)
        self.assertEqual((finding["seconds"], finding["figures"]["locks"]), (0, locks))
        self.assertEqual(len({thread["tid"] for thread in finding["threads"]}), locks, finding)
        self.assertEqual(len(finding["places"]), 2 * locks)
        self.assertEqual(len(finding["evidence"]), locks)
        return finding

    def test_two_locks(self):
        line = planted_line("lock_order")
        for level in "profile", "blame":
            finding = self.check("cycle", level, 2, line)
            functions = [place["site"]["function"] for place in finding["places"]]
            self.assertEqual(sorted(functions), ["against_it"] * 2 + ["in_order"] * 2)
            self.assertIn({"line": line - 1, "what": "acquired"},
                          [{"line": place["site"]["line"], "what": place["what"].split()[-1]} for place in finding["places"]])
            text = self.attune("report", "r.attune", "--full").stdout.decode()
            self.assertIn(f"lock-order-cycle at against_it (lock_order.c:{line})", text)

    def test_three_locks(self):
        self.check("three", "profile", 3, planted_line("lock_order", "// the planted line of three"))

    def test_what_cannot_hang(self):
        for kind in "consistent", "alone", "try", "gate", "readers", "recursive":
            for level in "profile", "blame":
                self.assertEqual(self.observe(kind, level), [], (kind, level))


@each_where_cpus_are_free
class Balanced(E2E):
    def check(self, *command, allowed=()):
        result = self.attune("run", "-q", "-f", "-o", "r.attune", "--", *command)
        self.assertEqual(result.returncode, 0, result.stderr)
        report = json.loads(self.attune("report", "r.attune", "--json").stdout)
        if not report["findings"]:
            self.assertNotIn(b"What holds it back", self.attune("report", "r.attune", "--full").stdout)
        report = without_others(report)
        self.assertEqual(unseen_but_cpu(report), [], "its waits are recorded")
        self.assertEqual([finding for finding in report["findings"] if finding["class"] not in allowed], [])

    def own(self, kind):
        self.check(os.path.join(PROGRAMS, "balanced"), kind)

    def file_of_lines(self):
        """Some MB that neither compress to nothing nor not at all."""
        value = 1
        lines = []
        for _ in range(200000):
            value = value * 6364136223846793005 % 2**64
            lines.append(f"{value % 10000000} {value % 97}\n")
        return self.write("lines", "".join(lines))

    def test_parallel_sum(self):
        self.own("sum")

    def test_even_work_between_barriers(self):
        self.own("forkjoin")

    @needs_gcc
    def test_even_loop(self):
        self.check(os.path.join(PROGRAMS, "openmp_loop"), "even")

    @needs_gcc
    def test_tasks_that_need_nothing_of_what_is_around_them(self):
        self.check(os.path.join(PROGRAMS, "openmp_loop"), "tasks")

    @needs_libomp
    def test_even_loop_of_clangs(self):
        self.check(os.path.join(PROGRAMS, "openmp_loop_llvm"), "even")

    def test_producer_and_consumer(self):
        self.own("queue")

    def test_pipeline(self):
        self.own("pipeline")

    def test_busy_thread_pool(self):
        self.own("pool")

    def test_pool_with_little_to_do(self):
        self.own("idlepool")

    def test_readers(self):
        self.own("readers")

    def test_counters_on_lines_of_their_own(self):
        self.check(os.path.join(PROGRAMS, "cache_line"), "own")

    def test_one_counter_for_all(self):
        self.check(os.path.join(PROGRAMS, "cache_line"), "one", allowed=("true-sharing",))  # which is no false sharing

    def test_a_table_that_all_read(self):
        self.check(os.path.join(PROGRAMS, "cache_line"), "read")

    def test_single_thread(self):
        self.own("single")

    def test_sleepers(self):
        self.own("sleepers")

    def test_files_that_are_in_memory(self):
        self.check(os.path.join(PROGRAMS, "disk"), "cached", self.folder)

    def test_a_pipe_is_no_disk(self):
        self.check(os.path.join(PROGRAMS, "disk"), "pipe", self.folder)

    @needs("xz")
    def test_xz(self):
        self.check("xz", "-T2", "--block-size=256KiB", "-4", "-k", "-f", self.file_of_lines())

    @needs("sort")
    def test_sort(self):
        self.check("sort", "--parallel=2", "-n", "-o", "sorted", self.file_of_lines())

    @needs("gzip")
    def test_gzip(self):
        self.check("gzip", "-k", "-f", self.file_of_lines())


if __name__ == "__main__":
    main()
