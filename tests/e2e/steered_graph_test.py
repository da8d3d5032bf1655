#!/usr/bin/env python3
"""A dataflow graph that is changed while it runs: by its knobs, and by the alarms of the machine."""

import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time

from attune_e2e import ATTUNE, BUILD, E2E, PATIENCE_S, main, where_cpus_are_free

GRAPH = os.path.join(BUILD, "bin", "steered_graph")


class SteeredGraph(E2E):
    def start(self, *arguments, options=()):
        program = subprocess.Popen([ATTUNE, "run", "-q", "-o", self.path("r.attune"), *options, "--", GRAPH, *arguments], cwd=self.folder,
                                   env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lines = queue.Queue()
        reader = threading.Thread(target=lambda: [self.lines.put(line) for line in program.stdout], daemon=True)
        reader.start()
        self.addCleanup(self.end, program, reader)
        return program

    def end(self, program, reader):
        program.stdin.close()  # which ends the graph, and that the reader
        reader.join(PATIENCE_S)
        program.stdout.close()
        program.wait(PATIENCE_S)

    def until_line(self, wanted, patience_s=PATIENCE_S):
        """Waits for a line that matches."""
        end = time.monotonic() + patience_s
        while True:
            try:
                if re.match(wanted, self.lines.get(timeout=max(0, end - time.monotonic()))):
                    return
            except queue.Empty:
                self.fail(f"waited in vain for '{wanted}'")

    def three_knobs(self):
        """Those that the session has heard of, if it has heard of all."""
        knobs = json.loads(self.attune("ctl", "knobs").stdout)["knobs"]
        return knobs if [knob["name"] for knob in knobs] == ["flow.threads", "flow.grain", "flow.ahead"] else None

    def test_knobs(self):
        self.start("2")
        self.until_line("runs")
        knobs = self.until(self.three_knobs, "the knobs")
        pid = str(knobs[0]["pid"])
        for setting, decided in (("flow.threads=1", "threads 2 -> 1: the knob was set, now 1 threads"), ("flow.grain=8", "grain 0 -> 8: "),
                                 ("flow.ahead=3", "ages ahead 16 -> 3: "), ("flow.grain=0", "grain 8 -> 0: ")):
            result = self.attune("set", setting, "-p", pid)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.until_line(decided)
        self.assertIn(b"1", self.attune("get", "flow.threads", "-p", pid).stdout)
        refused = self.attune("set", "flow.threads=0", "-p", pid)
        self.assertNotEqual(refused.returncode, 0, refused.stdout)
        self.assertIn(b"256", refused.stderr)
        self.assertEqual(self.attune("restore").returncode, 0)
        self.until_line("threads 1 -> 2: the knob was set, now 2 threads")

    @where_cpus_are_free
    def test_room_for_other_programs(self):
        cpus = len(os.sched_getaffinity(0))
        if cpus < 2 or cpus != os.cpu_count():
            self.skipTest("needs all CPUs of a machine that has several")
        self.start(str(cpus), "follow")
        self.until_line("runs")
        others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(cpus)]
        for other in others:
            self.addCleanup(other.kill)
        self.until_line(rf"threads {cpus} -> \d+: other programs have \d+ of {cpus} CPUs", 60)
        for other in others:
            other.kill()
            other.wait()
        self.until_line(rf"threads \d+ -> {cpus}: other programs have no CPUs, .* now {cpus} threads", 60)

    def test_one_age_after_the_other_where_memory_is_short(self):
        self.start("2", "follow", options=["--alarm", "memory.low=99.9%"])
        self.until_line("ages ahead 16 -> 1: an alarm of memory is raised")

    def test_a_killed_session_leaves_no_alarm_behind(self):
        self.start("2", "follow", options=["--alarm", "memory.low=99.9%"])
        self.until_line("ages ahead 16 -> 1: ")
        os.kill(json.loads(self.attune("list", "sessions", "--json").stdout)[0]["pid"], signal.SIGKILL)
        self.until_line("ages ahead 1 -> 16: no alarm of memory is raised any more")


if __name__ == "__main__":
    main()
