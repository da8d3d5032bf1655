"""docs/tour.md: its commands work as they stand in an empty folder, and what it says of the program is so."""

import json
import os
import subprocess
import unittest

from attune_e2e import ATTUNE, E2E, PATIENCE_S, main, needs, where_cpus_are_free, without_others

SOURCE = os.environ.get("ATTUNE_SOURCE", os.path.abspath(os.path.join(os.path.dirname(__file__), "../..")))
LOCKS = {"lock-contention", "lock-convoy"}


@needs("g++", "patch")
class Tour(E2E):
    def setUp(self):
        super().setUp()
        self.work = self.path("work")

    def take(self):
        env = dict(self.env, PATH=os.path.dirname(ATTUNE) + ":" + self.env["PATH"])
        result = subprocess.run([os.path.join(SOURCE, "tools/run_page.py"), os.path.join(SOURCE, "docs/tour.md"), self.work],
                                capture_output=True, text=True, env=env, timeout=PATIENCE_S, check=False)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return [self.report(name) for name in ("before", "after")]

    def report(self, name):
        result = self.attune("report", os.path.join(self.work, name + ".attune"), "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return without_others(json.loads(result.stdout))

    def test_its_commands_work(self):
        before, after = self.take()
        for report in (before, after):
            self.assertEqual(report["processes"][0]["exit_code"], 0)
            self.assertGreaterEqual(report["totals"]["threads"], 3)
        self.assert_nothing_left()

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "two threads on one CPU")
    @where_cpus_are_free
    def test_what_it_says_is_so(self):
        before, after = self.take()
        finding = before["findings"][0]
        self.assertIn(finding["class"], LOCKS)
        self.assertEqual(os.path.basename(finding["site"]["file"]), "words.cpp")
        with open(os.path.join(SOURCE, "docs/tour.md"), encoding="utf-8") as file:
            code = file.read().split("```cpp\n", 1)[1].splitlines()
        self.assertIn("guard(table_lock)", code[finding["site"]["line"] - 1])
        self.assertFalse(LOCKS & {finding["class"] for finding in after["findings"]}, after["findings"])
        self.assertLess(after["duration_ns"], before["duration_ns"])


if __name__ == "__main__":
    main()
