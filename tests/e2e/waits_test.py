"""What a program's threads waited for is in the report, by place and time, and the program runs as without attune."""

import json
import os
import signal
import subprocess
import sys
import time
import unittest
import xml.etree.ElementTree

from attune_e2e import ATTUNE, BUILD, E2E, PATIENCE_S, PYTHON, main, needs, needs_python, unseen_but_cpu, where_cpus_are_free

PROGRAMS = os.path.join(BUILD, "tests", "e2e")
CONTENTION = os.path.join(PROGRAMS, "contention")
OPENMP = os.path.join(BUILD, "tests", "probe", "openmp_program")  # GCC's; with _llvm behind it clang's
LIBRARY = os.path.realpath(os.path.join(BUILD, "lib", "libattune_probe.so"))
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "contention.c")


def planted_line(comment="the line that the report shall name"):
    with open(SOURCE, encoding="utf-8") as f:
        return next(number for number, text in enumerate(f, 1) if comment in text)


WAITING = """import queue, threading, time

items = queue.Queue()


class Consumer:
    def take(self):
        return items.get()


consumer = threading.Thread(target=Consumer().take)
consumer.start()
while not items.not_empty._waiters:
    time.sleep(0.01)
time.sleep(0.1)
items.put(1)
consumer.join()
"""


LOCKING = """import threading, time

lock = threading.Lock()


def work():
    for _ in range(10):
        with lock:
            time.sleep(0.02)


threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def needs_openmp(of):
    return unittest.skipUnless(os.path.exists(OPENMP + of), "not built: GCC's OpenMP by GCC, LLVM's by a clang with libomp-19-dev")


class Waits(E2E):
    def observe(self, *command, options=(), **kwargs):
        """Runs under attune; the result, and the report as an object."""
        result = self.attune("run", "-q", "-f", "-o", "r.attune", *options, "--", *command, **kwargs)
        report = self.attune("report", "r.attune", "--json")
        self.assertEqual(report.returncode, 0, report.stderr.decode())
        return result, json.loads(report.stdout)

    def start(self, *arguments):
        """attune run, which goes on; its program is ended with it where a test fails."""
        running = subprocess.Popen([ATTUNE, "run", "-q", "-f", "-o", "r.attune", *arguments], cwd=self.folder, env=self.env,
                                   stdout=subprocess.PIPE)
        self.addCleanup(running.stdout.close)
        self.addCleanup(running.wait)
        self.addCleanup(running.terminate)
        return running

    @where_cpus_are_free
    def test_the_report_names_the_line_and_the_time(self):
        result, report = self.observe(CONTENTION, "5", "60", "say")
        self.assertEqual(result.returncode, 0, result.stderr)
        waited_ns = int(result.stderr)
        lock = report["waits"]["locks"][0]
        self.assertEqual(lock["kind"], "mutex")
        self.assertEqual(lock["count"], 10)
        self.assertEqual(lock["threads"], 2)
        self.assertGreaterEqual(lock["waits"], 1)
        self.assertLess(abs(lock["wait_ns"] - waited_ns), 0.2 * waited_ns, (lock, waited_ns))
        site = lock["sites"][0]
        self.assertEqual((os.path.basename(site["file"]), site["line"]), ("contention.c", planted_line()), site)
        self.assertEqual(os.path.realpath(site["module"]), os.path.realpath(CONTENTION))
        self.assertAlmostEqual(lock["share"], lock["wait_ns"] / report["waits"]["thread_ns"], places=6)
        kinds = {other["kind"] for other in report["waits"]["others"]}
        self.assertEqual(kinds, {"barrier", "join"})
        self.assertEqual(unseen_but_cpu(report), [])
        # Every single wait is an event, and they add up.
        rows = self.query("r.attune", "select count(*) as n, sum(a) as ns from events where kind = 'wait' and b = 1")
        self.assertEqual((rows[0]["n"], rows[0]["ns"] > 0), (lock["waits"], True))
        text = self.attune("report", "r.attune", "--full").stdout.decode()
        self.assertIn("What the threads waited for", text)
        self.assertIn(f"(contention.c:{planted_line()})", text)

    def test_calls_of_futex_are_said_or_why_not(self):
        _, report = self.observe(CONTENTION, "40", "25")
        influence = report["influence"]
        self.assertEqual((influence["compared"], influence["not_compared"]), (None, "--check-influence was not given"))
        self.assertEqual(influence["waits"], sum(row["waits"] for row in report["waits"]["locks"] + report["waits"]["others"]))
        text = self.attune("report", "r.attune", "--full").stdout
        if influence["futex_calls"] is None:
            self.assertNotEqual(influence["not_counted"], "")
            self.assertIn(b" calls of futex by its mutexes without attributes\n  others are not counted: ", text)
        else:  # each wait for the lock is one of one thread and a wake-up by the other one
            self.assertGreater(influence["futex_calls"], 80)
        self.assertGreater(influence["mutex_futex_calls"], 0)

    def compare_mutexes(self, *command, options=()):
        """The comparison where the kernel counts no calls of futex."""
        return self.observe(*command, options=["--check-influence", *options], env=dict(self.env, ATTUNE_TRACKING="polling"))

    def test_a_program_that_hardly_contends_is_never_touched(self):
        _, report = self.compare_mutexes(CONTENTION, "40", "25")
        compared = report["influence"]["compared"]
        self.assertEqual((compared["passed"], compared["turns"], compared["passed_ns"]), ("mutexes", 0, 0))
        self.assertIn(b"too few to be compared with where free mutexes are passed through", self.attune("report", "r.attune", "--full").stdout)

    @where_cpus_are_free  # threads that get none hardly contend
    def test_where_free_mutexes_pass_all_are_counted_all_the_same(self):
        for level in ("profile", "blame"):
            _, report = self.compare_mutexes(CONTENTION, "20000", "0", options=["--level", level])
            influence = report["influence"]
            compared = influence["compared"]
            waits = report["waits"]["locks"][0]["waits"]
            self.assertGreater(waits, 0)
            self.assertGreaterEqual(influence["mutex_futex_calls"], waits, "each is one call at least")
            self.assertEqual(compared["passed"], "mutexes")
            self.assertGreater(compared["turns"], 0, compared)
            self.assertLessEqual(compared["low95"], compared["ratio"])
            self.assertLessEqual(compared["ratio"], compared["high95"])
            self.assertEqual(report["waits"]["locks"][0]["count"], 40000)
            self.assertEqual([gap for gap in report["gaps"] if gap["reason"] == "paused"], [])
            text = self.attune("report", "r.attune", "--full").stdout
            self.assertIn(b" times as many as where free mutexes are passed through", text)

    def test_why_a_program_is_not_compared(self):
        _, report = self.compare_mutexes(CONTENTION, "40", "25", options=["--level", "trace"])
        self.assertIsNone(report["influence"]["compared"])
        self.assertIn("levels profile and blame", report["influence"]["not_compared"])

    @where_cpus_are_free
    def test_they_are_compared_with_passing_calls_through(self):
        result, report = self.observe(CONTENTION, "2000", "1", options=["--check-influence"])
        self.assertEqual(result.returncode, 0, result.stderr)
        influence = report["influence"]
        if influence["futex_calls"] is None:
            self.assertNotEqual(influence["not_counted"], "")
            self.skipTest(influence["not_counted"])
        self.assertGreater(influence["futex_calls"], report["waits"]["locks"][0]["waits"])
        compared = influence["compared"]
        self.assertGreater(compared["passed_ns"], 0)
        self.assertGreater(compared["turns"], 0)
        self.assertLessEqual(compared["low95"], compared["ratio"])
        self.assertLessEqual(compared["ratio"], compared["high95"])
        paused = [gap for gap in report["gaps"] if gap["reason"] == "paused"]
        self.assertEqual(len(paused), 1, report["gaps"])
        self.assertLess(abs(paused[0]["duration_ns"] - compared["passed_ns"]), 0.1 * compared["passed_ns"])
        self.assertLess(report["waits"]["locks"][0]["count"], 4000, "what was passed through is not there")
        text = self.attune("report", "r.attune", "--full").stdout
        self.assertIn(b"events: paused in ", text)
        self.assertIn(b" times as many as where its calls are passed through", text)

    def test_a_deadlock_that_is_ended_is_in_the_report(self):
        running = self.start("--", os.path.join(PROGRAMS, "deadlock"))
        pid = int(running.stdout.readline())  # which it says when its threads are about to wait for each other
        time.sleep(3)
        os.kill(pid, signal.SIGKILL)
        self.assertEqual(running.wait(PATIENCE_S), -signal.SIGKILL)
        report = json.loads(self.attune("report", "r.attune", "--json").stdout)
        locks = report["waits"]["locks"]
        self.assertEqual([(lock["waits"], lock["count"]) for lock in locks], [(1, 1), (1, 1)])
        for lock in locks:
            self.assertGreater(lock["wait_ns"], 0.5e9)
        self.assertIn("lock-order-cycle", {finding["class"] for finding in report["findings"]})

    def test_a_comparison_needs_what_it_compares(self):
        for options in (["--level", "off"], ["--no-interpose"]):
            result = self.attune("run", "--check-influence", *options, "--", "true")
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(b"--check-influence", result.stderr)

    @where_cpus_are_free
    def test_blame_names_who_had_it(self):
        _, report = self.observe(CONTENTION, "5", "40", options=["--level", "blame"])
        lock = report["waits"]["locks"][0]
        holder = lock["holders"][0]
        self.assertEqual((holder["function"], os.path.basename(holder["file"]), holder["line"]),
                         ("hold", "contention.c", planted_line("who has it meanwhile")), holder)
        self.assertGreater(holder["wait_ns"], 0.95 * lock["wait_ns"])
        self.assertLessEqual(sum(each["wait_ns"] for each in lock["holders"]), lock["wait_ns"] * 1.001)
        self.assertIn(b"had by hold (contention.c:", self.attune("report", "r.attune", "--full").stdout)
        _, report = self.observe(CONTENTION, "5", "20")
        self.assertEqual(report["waits"]["locks"][0]["holders"], [], "not at level profile")

    def validated(self, path):
        schema = os.path.join(os.path.dirname(SOURCE), "..", "..", "docs", "schema", "sync-graph.xsd")
        result = subprocess.run(["xmllint", "--noout", "--schema", schema, path], capture_output=True)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        return xml.etree.ElementTree.parse(path).getroot()

    @needs("xmllint")
    def test_the_graph_is_valid_and_says_what_the_report_says(self):
        _, report = self.observe(CONTENTION, "10", "10", options=["--level", "blame"])
        lock = report["waits"]["locks"][0]
        for kind in ("sync-xml", "sync-graphml", "sync-json"):
            exported = self.attune("export", "r.attune", "--to", kind, "-o", self.path(kind))
            self.assertEqual(exported.returncode, 0, exported.stderr)
        graph = self.validated(self.path("sync-xml"))
        event = next(e for e in graph.iter("event") if e.get("name") == lock["name"])
        self.assertEqual((event.get("kind"), int(event.get("occurrences")), int(event.get("waits")), int(event.get("wait_ns"))),
                         ("mutex", lock["count"], lock["waits"], lock["wait_ns"]))
        threads = {thread.get("id"): thread for thread in graph.iter("thread")}
        hand_over = next(h for h in graph.iter("handover") if h.get("event") == event.get("id"))
        holder, waiter = threads[hand_over.get("holder")], threads[hand_over.get("waiter")]
        self.assertEqual(holder.get("tid"), holder.get("pid"), "the main thread holds it")
        self.assertNotEqual(waiter.get("tid"), waiter.get("pid"))
        singles = self.query("r.attune", "select min(a) as least, max(a) as most from events where kind = 'wait' and b = 1")
        self.assertEqual((int(event.get("min_ns")), int(event.get("max_ns"))), (singles[0]["least"], singles[0]["most"]))
        keys = "{http://graphml.graphdrawing.org/xmlns}"
        graphml = xml.etree.ElementTree.parse(self.path("sync-graphml")).getroot()
        nodes = {node.get("id") for node in graphml.iter(keys + "node")}
        edges = list(graphml.iter(keys + "edge"))
        self.assertEqual(len(nodes), len(threads) + len(list(graph.iter("event"))))
        self.assertTrue(edges and all(edge.get("source") in nodes and edge.get("target") in nodes for edge in edges))
        with open(self.path("sync-json"), encoding="utf-8") as file:
            self.assertEqual(len(json.load(file)["links"]), len(list(graph.iter("link"))))

    @needs("xmllint")
    def test_graphs_are_written_while_it_runs(self):
        folder = self.path("graphs")
        options = ["--xml", folder, "--every", "50ms"]
        self.observe(CONTENTION, "120", "10", options=options)
        names = sorted(os.listdir(folder))
        self.assertGreater(len(names), 3)
        graphs = [self.validated(os.path.join(folder, name)) for name in names]
        occurrences = [sum(int(e.get("occurrences")) for e in graph.iter("event")) for graph in graphs]
        self.assertEqual(occurrences, sorted(occurrences))
        last = self.query("r.attune", "select sum(max(count, contended)) as n from sync")[0]["n"]
        self.assertEqual(occurrences[-1], last)
        refused = self.attune("run", "-q", "-o", "other.attune", *options[:2], "--", "/bin/true")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn(b"sync-000001.xml is there already", refused.stderr)
        self.assertFalse(os.path.exists(self.path("other.attune")))
        self.assertNotEqual(self.attune("run", "-q", "-o", "other.attune", "--every", "1s", "--", "/bin/true").returncode, 0)

    def assert_near(self, measured_ns, expected_ns):
        self.assertLess(abs(measured_ns - expected_ns), 0.2 * expected_ns, (measured_ns, expected_ns))

    def check_openmp_team(self, program):
        result, report = self.observe(program, "imbalance", "4", "40")
        expected = sorted(int(ns) for ns in result.stderr.split())
        barriers = sorted((other for other in report["waits"]["others"] if other["kind"] == "OpenMP barrier"),
                          key=lambda other: other["wait_ns"])
        self.assertEqual([(barrier["waits"], barrier["threads"]) for barrier in barriers], [(4, 4), (4, 4)])
        for barrier, expected_ns in zip(barriers, expected):
            self.assert_near(barrier["wait_ns"], expected_ns)
            self.assertEqual(os.path.basename(barrier["sites"][0]["file"]), "openmp_program.cpp", barrier)
        text = self.attune("report", "r.attune", "--full").stdout.decode()
        self.assertIn("OpenMP barrier", text)

    def check_openmp_tasks(self, program):
        result, report = self.observe(program, "work", "20")
        wait_ns, task_ns = (int(ns) for ns in result.stderr.split())
        self.assertGreater(task_ns, 0.2 * wait_ns)
        self.assert_near(report["waits"]["others"][0]["wait_ns"], wait_ns - task_ns)

    def check_openmp_critical(self, program):
        result, report = self.observe(program, "held", "3", "20", options=["--level", "blame"])
        lock = report["waits"]["locks"][0]
        self.assertEqual((lock["kind"], lock["count"], lock["threads"]), ("OpenMP critical", 15, 3))
        self.assert_near(lock["wait_ns"], int(result.stderr))
        self.assertEqual(os.path.basename(lock["sites"][0]["file"]), "openmp_program.cpp", lock)
        self.assertGreater(sum(holder["wait_ns"] for holder in lock["holders"]), 0.9 * lock["wait_ns"], lock)

    @needs_openmp("")
    @where_cpus_are_free
    def test_waiting_for_a_critical_section(self):
        self.check_openmp_critical(OPENMP)

    @needs_openmp("_llvm")
    @where_cpus_are_free
    def test_waiting_for_a_critical_section_of_clangs(self):
        self.check_openmp_critical(OPENMP + "_llvm")

    @needs_openmp("")
    @where_cpus_are_free
    def test_each_thread_of_an_openmp_team_waits_for_the_others(self):
        self.check_openmp_team(OPENMP)

    @needs_openmp("_llvm")
    @where_cpus_are_free
    def test_each_thread_of_a_team_of_clangs_waits_for_the_others(self):
        self.check_openmp_team(OPENMP + "_llvm")

    @needs_openmp("_llvm")
    def test_another_tool_for_openmp_is_said(self):
        for variables in {"OMP_TOOL_LIBRARIES": "/no/such/tool.so"}, {"OMP_TOOL": "disabled"}:
            result, report = self.observe(OPENMP + "_llvm", "criticals", "2", "10", env=dict(self.env, **variables))
            self.assertEqual(result.stdout, b"criticals 20 20 20\n")
            self.assertEqual(len(unseen_but_cpu(report)), 1)
            self.assertIn(f"{next(iter(variables))} leaves no room", unseen_but_cpu(report)[0])

    @needs_openmp("")
    @where_cpus_are_free
    def test_tasks_that_a_waiting_thread_does_are_no_waiting(self):
        self.check_openmp_tasks(OPENMP)

    @needs_openmp("_llvm")
    @where_cpus_are_free
    def test_tasks_that_a_waiting_thread_of_clangs_does_are_no_waiting(self):
        self.check_openmp_tasks(OPENMP + "_llvm")

    def test_a_stripped_program_has_places_without_lines(self):
        subprocess.run(["strip", "-o", self.path("stripped"), CONTENTION], check=True)
        _, report = self.observe("./stripped", "5", "20")
        site = report["waits"]["locks"][0]["sites"][0]
        self.assertRegex(site["name"], r"^stripped\+0x[0-9a-f]+$")
        self.assertIsNone(site["line"])

    @needs_python()
    def test_a_program_of_python_waits_at_its_own_line(self):
        self.write("waiting.py", WAITING)
        result, report = self.observe(PYTHON, "waiting.py")
        self.assertEqual(result.returncode, 0, result.stderr)
        line = WAITING[:WAITING.index("items.get()")].count("\n") + 1
        sites = [site for other in report["waits"]["others"] for site in other["sites"]]
        places = {(site["function"], os.path.basename(site["file"] or ""), site["line"]) for site in sites}
        self.assertIn(("Consumer.take", "waiting.py", line), places)

    @needs_python()
    def test_a_lock_of_python_is_a_mutex(self):
        self.write("locking.py", LOCKING)
        result, report = self.observe(PYTHON, "locking.py")
        self.assertEqual(result.returncode, 0, result.stderr)
        mutexes = [lock for lock in report["waits"]["locks"] if lock["kind"] == "mutex" and
                   any(site["function"] == "work" for site in lock["sites"])]
        self.assertEqual(len(mutexes), 1, report["waits"]["locks"])
        self.assertEqual((mutexes[0]["threads"], mutexes[0]["count"]), (2, 20))
        self.assertGreater(mutexes[0]["wait_ns"], 20_000_000)

    def test_the_program_is_as_without(self):
        bare = self.run_program(CONTENTION, "2", "1")
        for options in ([], ["--level", "off"], ["--no-interpose"]):
            observed, _ = self.observe(CONTENTION, "2", "1", options=options)
            self.assertEqual((observed.returncode, observed.stdout, observed.stderr),
                             (bare.returncode, bare.stdout, bare.stderr))
        self.assert_nothing_left()

    def test_a_program_that_does_not_wait_has_no_section(self):
        self.observe("/bin/true")
        self.assertNotIn(b"What the threads waited for", self.attune("report", "r.attune", "--full").stdout)

    def test_off_records_nothing_and_can_be_switched_on(self):
        _, report = self.observe(CONTENTION, "2", "1", options=["--level", "off"])
        self.assertEqual(report["waits"]["locks"], [])
        self.assertEqual(self.query("r.attune", "select count(*) as n from sync")[0]["n"], 0)
        fifo = self.path("control")
        running = self.start("--level", "off", "--fifo", fifo, "--", CONTENTION, "100000", "5")
        self.until(lambda: os.path.exists(fifo), "the FIFO")
        with open(fifo, "w", encoding="utf-8") as control:
            control.write("level profile\n")

        def waited():
            found = self.attune("query", "r.attune", "select count(*) as n from events where kind = 'wait'", "--json")
            return found.returncode == 0 and json.loads(found.stdout)[0]["n"] > 0

        self.until(waited, "a wait after the level was raised")
        with open(fifo, "w", encoding="utf-8") as control:
            control.write("stop\n")
        running.terminate()
        running.wait(PATIENCE_S)

    def test_without_interposing_the_environment_is_left_alone(self):
        result, report = self.observe(sys.executable, "-c", "import os; print(os.environ.get('LD_PRELOAD'))",
                                      options=["--no-interpose"])
        self.assertEqual(result.stdout, b"None\n")
        self.assertEqual(unseen_but_cpu(report), ["locks and waits: --no-interpose"])

    def test_a_preload_of_the_users_own_stays(self):
        own = os.path.join(PROGRAMS, "own_preload.so")
        env = dict(self.env, LD_PRELOAD=own)
        result = self.run_program(ATTUNE, "run", "-q", "-f", "-o", "r.attune", "--", "/usr/bin/env", env=env)
        # attune has it as well, and so has its process.
        self.assertIn(b"own preload\n", result.stderr)
        self.assertIn(f"LD_PRELOAD={LIBRARY}:{own}\n".encode(), result.stdout)

    def test_a_lock_checker_sees_every_call(self):
        env = dict(self.env, LD_PRELOAD=os.path.join(PROGRAMS, "lock_checker.so"))
        scenarios = os.path.join(BUILD, "tests", "probe", "sync_scenarios")
        for command in ([CONTENTION, "20", "5"], [scenarios, "counts", "2", "100"], [scenarios, "hands_over"]):
            bare = self.run_program(*command, env=env)
            self.assertEqual(bare.returncode, 0)
            for level in ("profile", "blame", "trace", "stamped"):
                seen = self.run_program(ATTUNE, "run", "-q", "-f", "-o", "r.attune", "--level", level, "--", *command, env=env)
                self.assertEqual((seen.returncode, seen.stdout), (0, bare.stdout))
                self.assertIn(bare.stderr, seen.stderr)  # attune has the library as well
            counted = self.query("r.attune", "select sum(count) as n from sync where kind = 'mutex'")[0]["n"]
            self.assertGreater(counted, 0)

    def test_a_static_program_is_said(self):
        static = os.path.join(PROGRAMS, "contention_static")
        result, report = self.observe(static, "2", "1")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"2 rounds\n", b""))
        self.assertEqual(report["waits"]["locks"], [])
        self.assertEqual(len(unseen_but_cpu(report)), 1)
        self.assertIn("linked statically", unseen_but_cpu(report)[0])
        loud = self.attune("run", "-f", "-o", "r.attune", "--", static, "1", "1")
        self.assertEqual(loud.stderr.count(b"not seen: "), 1)
        self.assertEqual(loud.stderr.count(b"linked statically"), 1, "at the start")
        self.assertIn(b"linked statically", self.attune("report", "r.attune", "missed").stdout)

    def test_scripts_and_their_children_are_seen(self):
        script = self.write("job.sh", f"#!/bin/sh\n{CONTENTION} 5 20\n{CONTENTION} 5 20\n", 0o755)
        result, report = self.observe(script)
        self.assertEqual(result.stdout, b"5 rounds\n5 rounds\n")
        self.assertEqual(len({lock["pid"] for lock in report["waits"]["locks"]}), 2)

    def test_a_process_that_runs_already_is_said(self):
        running = subprocess.Popen(["sleep", "6000"])
        self.addCleanup(running.wait)
        self.addCleanup(running.kill)
        self.attune("run", "-q", "-f", "-o", "r.attune", "--for", "200ms", "-p", str(running.pid))
        report = json.loads(self.attune("report", "r.attune", "--json").stdout)
        self.assertEqual(len(unseen_but_cpu(report)), 1)
        self.assertIn("ran already", unseen_but_cpu(report)[0])

    def test_five_hundred_short_processes(self):
        script = self.write("many.sh", "#!/bin/sh\ni=0\nwhile [ $i -lt 500 ]; do /bin/true; i=$((i+1)); done\necho done\n", 0o755)
        result, report = self.observe(script)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"done\n", b""))
        self.assertEqual(report["damage"], [])
        self.assert_nothing_left()


if __name__ == "__main__":
    main()
