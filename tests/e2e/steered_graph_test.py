#!/usr/bin/env python3
"""A dataflow graph that is changed while it runs: by its knobs, and by the alarms of the machine."""

import json
import os
import re
import signal
import subprocess
import sys
import unittest

from attune_e2e import ATTUNE, BUILD, E2E, PATIENCE_S, main, where_cpus_are_free

GRAPH = os.path.join(BUILD, "bin", "steered_graph")


class SteeredGraph(E2E):
    def start(self, *arguments, options=()):
        program = subprocess.Popen([ATTUNE, "run", "-q", "-o", self.path("r.attune"), *options, "--", GRAPH, *arguments], cwd=self.folder,
                                   env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(program.kill)
        return program

    def until_line(self, program, wanted):
        """@return the line that matches, the next one that it prints"""
        for line in program.stdout:
            if re.match(wanted, line):
                return line
        self.fail(f"it ended without '{wanted}'")

    def end(self, program):
        program.stdin.close()
        program.stdout.read()
        self.assertEqual(program.wait(PATIENCE_S), 0)

    def three_knobs(self):
        """Those that the session has heard of, if it has heard of all."""
        knobs = json.loads(self.attune("ctl", "knobs").stdout)["knobs"]
        return knobs if [knob["name"] for knob in knobs] == ["flow.threads", "flow.grain", "flow.ahead"] else None

    def test_knobs(self):
        program = self.start("2")
        self.until_line(program, "runs")
        knobs = self.until(self.three_knobs, "the knobs")
        pid = str(knobs[0]["pid"])
        for setting, decided in (("flow.threads=1", "threads 2 -> 1: the knob was set, now 1 threads"), ("flow.grain=8", "grain 0 -> 8: "),
                                 ("flow.ahead=3", "ages ahead 16 -> 3: "), ("flow.grain=0", "grain 8 -> 0: ")):
            result = self.attune("set", setting, "-p", pid)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.until_line(program, decided)
        self.assertIn(b"1", self.attune("get", "flow.threads", "-p", pid).stdout)
        refused = self.attune("set", "flow.threads=0", "-p", pid)
        self.assertNotEqual(refused.returncode, 0, refused.stdout)
        self.assertIn(b"256", refused.stderr)
        self.assertEqual(self.attune("restore").returncode, 0)
        self.until_line(program, "threads 1 -> 2: the knob was set, now 2 threads")
        self.end(program)

    @where_cpus_are_free
    def test_room_for_other_programs(self):
        cpus = len(os.sched_getaffinity(0))
        if cpus < 2 or cpus != os.cpu_count():
            self.skipTest("needs all CPUs of a machine that has several")
        program = self.start(str(cpus), "follow")
        self.until_line(program, "runs")
        others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(cpus)]
        for other in others:
            self.addCleanup(other.kill)
        self.until_line(program, rf"threads {cpus} -> \d+: other programs have \d+ of {cpus} CPUs")
        for other in others:
            other.kill()
            other.wait()
        self.until_line(program, rf"threads \d+ -> {cpus}: other programs have no CPUs, .* now {cpus} threads")
        self.end(program)

    def test_one_age_after_the_other_where_memory_is_short(self):
        program = self.start("2", "follow", options=["--alarm", "memory.low=99.9%"])
        self.until_line(program, "ages ahead 16 -> 1: an alarm of memory is raised")
        self.end(program)

    def test_a_killed_session_leaves_no_alarm_behind(self):
        program = self.start("2", "follow", options=["--alarm", "memory.low=99.9%"])
        self.until_line(program, "ages ahead 16 -> 1: ")
        os.kill(json.loads(self.attune("list", "sessions", "--json").stdout)[0]["pid"], signal.SIGKILL)
        self.until_line(program, "ages ahead 1 -> 16: no alarm of memory is raised any more")
        program.stdin.close()
        program.stdout.read()
        program.wait(PATIENCE_S)


if __name__ == "__main__":
    main()
