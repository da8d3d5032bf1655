"""What holds a program back is in the table `findings` while it runs, and is what its report says afterwards."""

import json
import os
import subprocess
import unittest

from attune_e2e import ATTUNE, BUILD, E2E, PATIENCE_S, main

PROGRAMS = os.path.join(BUILD, "tests", "e2e")
CONTENTION = os.path.join(PROGRAMS, "contention")
LOCK_CONTENTION = os.path.join(BUILD, "tests", "truth", "lock_contention")


class LiveFindings(E2E):
    def start(self, *arguments):
        running = subprocess.Popen([ATTUNE, "run", "-q", "-f", "-o", "r.attune", "--", *arguments], cwd=self.folder, env=self.env,
                                   stdout=subprocess.PIPE)
        self.addCleanup(running.stdout.close)
        self.addCleanup(running.wait)
        self.addCleanup(running.terminate)
        return running

    def findings(self, where="1"):
        """The last revisions; none as long as the recording cannot be read."""
        result = self.attune("query", "r.attune", f"select * from findings where {where}", "--json")
        return json.loads(result.stdout) if result.returncode == 0 and result.stdout.strip() else []

    def test_they_come_while_the_program_runs(self):
        running = self.start(LOCK_CONTENTION, "mutex", "10000")
        self.until(lambda: running.poll() is not None or self.findings("class = 'lock-contention' and state = 'open'"), "the finding")
        self.assertIsNone(running.poll(), "the program still runs")
        found = self.findings("class = 'lock-contention'")
        self.assertEqual(len(found), 1, found)  # of each the last revision
        self.assertGreaterEqual(found[0]["cost_ns"], 100_000_000)
        self.assertTrue(found[0]["advice"] and found[0]["evidence"], found)
        # Place and lock are looked up behind the first row.
        self.until(lambda: "lock_contention.c:" in self.findings("class = 'lock-contention'")[0]["title"], "the line in its title")
        self.until(lambda: "mutex mutexes[" in self.findings("class = 'lock-contention'")[0]["title"], "the lock's name in its title")
        self.until(lambda: self.findings("class = 'lock-contention'")[0]["revision"] >= 3, "further revisions")

    def test_at_the_end_they_are_what_the_report_says(self):
        running = self.start(LOCK_CONTENTION, "mutex", "4")
        self.assertEqual(running.wait(PATIENCE_S), 0)
        report = json.loads(self.attune("report", "r.attune", "--json").stdout)
        reported = {finding["class"]: finding["seconds"] for finding in report["findings"]}
        written = {row["class"]: row["cost_ns"] * 1e-9 for row in self.findings("state != 'withdrawn'")}
        self.assertIn("lock-contention", reported)
        self.assertEqual(written.keys(), reported.keys())
        for name, seconds in reported.items():
            self.assertAlmostEqual(written[name], seconds, delta=0.02 * seconds)

    def test_threads_that_have_nothing_else_to_do_have_none(self):
        running = self.start(CONTENTION, "60", "50")
        self.assertEqual(running.wait(PATIENCE_S), 0)
        # One of them waits while the other one sleeps, all the time. Where both wait for a CPU, 1 % may be to gain.
        self.assertEqual(self.findings("class = 'lock-contention' and gain_ns > 0.05 * (t1_ns - t0_ns)"), [])

    def test_what_is_not_held_back_has_none(self):
        running = self.start("sleep", "2.5")
        self.assertEqual(running.wait(PATIENCE_S), 0)
        self.assertEqual(self.findings(), [])


if __name__ == "__main__":
    main()
