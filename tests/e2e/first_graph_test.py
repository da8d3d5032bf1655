#!/usr/bin/env python3
"""docs/first-graph.md: its commands work as they stand in an empty folder, and what it says of the program is so."""

import json
import os
import subprocess
import unittest

from attune_e2e import ATTUNE, BUILD, E2E, PATIENCE_S, main, needs, where_cpus_are_free

SOURCE = os.environ.get("ATTUNE_SOURCE", os.path.abspath(os.path.join(os.path.dirname(__file__), "../..")))


@needs("g++", "patch")
class FirstGraph(E2E):
    def take(self):
        work = self.path("work")
        env = dict(self.env, PATH=os.path.dirname(ATTUNE) + ":" + self.env["PATH"], CPATH=os.path.join(SOURCE, "include"), LIBRARY_PATH=os.path.join(BUILD, "lib"))
        result = subprocess.run([os.path.join(SOURCE, "tools/run_page.py"), os.path.join(SOURCE, "docs/first-graph.md"), work],
                                capture_output=True, text=True, env=env, timeout=PATIENCE_S, check=False)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        reports = []
        for name in ("before", "after"):
            report = self.attune("report", os.path.join(work, name + ".attune"), "--json")
            self.assertEqual(report.returncode, 0, report.stderr)
            reports.append(json.loads(report.stdout))
        return reports

    def test_its_commands_work(self):
        for report in self.take():
            self.assertEqual({row["kernel"] for row in report["work"]["kernels"]}, {"start", "draw", "zoom", "print"})
        self.assert_nothing_left()

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "two threads on one CPU")
    @where_cpus_are_free
    def test_what_it_says_is_so(self):
        before, after = self.take()
        held_up = [[row["object"]["name"] for row in report["findings"] if row["class"] == "serial-kernel"] for report in (before, after)]
        self.assertEqual(held_up, [["kernel draw"], []])
        forecasts = [report["work"]["forecast"] for report in (before, after)]
        for forecast in forecasts:
            self.assertTrue(forecast["fits"], forecast)
            self.assertEqual(forecast["halved"][0]["kernel"], "draw")
        self.assertLess(forecasts[0]["threads_gain_ns"], 0.05 * forecasts[0]["measured_ns"])
        self.assertGreater(forecasts[1]["threads_gain_ns"], 0.3 * forecasts[1]["measured_ns"])
        self.assertLess(after["work"]["wall_ns"], before["work"]["wall_ns"])


if __name__ == "__main__":
    main()
