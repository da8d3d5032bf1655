"""`attune compare` on real runs: the same program twice, and a program that was changed."""

import json
import os
import sys

from attune_e2e import BUILD, E2E, main, where_cpus_are_free

LOCK_CONTENTION = os.path.join(BUILD, "tests", "truth", "lock_contention")
CONTENTION = os.path.join(BUILD, "tests", "e2e", "contention")

SWITCHER = "import time,sys\nend=time.monotonic()+1.5\nwhile time.monotonic()<end: time.sleep(float(sys.argv[1]))"


class Compare(E2E):
    def record(self, name, pause_s):
        result = self.attune("run", "-q", "-f", "-s", "thread@20ms,cpu@20ms", "-o", name, "--", sys.executable, "-c", SWITCHER, str(pause_s))
        self.assertEqual(result.returncode, 0, result.stderr)

    def compare(self, *arguments):
        result = self.attune("compare", "--json", *arguments)
        self.assertIn(result.returncode, (0, 6), result.stderr)
        report = json.loads(result.stdout)
        self.assertEqual(result.returncode == 6, report["changed"] > 0)
        return report

    @where_cpus_are_free  # one that gets none cannot sleep often
    def test_a_changed_program(self):
        self.record("often.attune", 0.001)
        self.record("seldom.attune", 0.05)
        report = self.compare("often.attune", "seldom.attune")
        switches = next(s for s in report["signals"] if s["sensor"] == "thread" and s["signal"] == "voluntary_switches")
        self.assertTrue(switches["changed"], switches)
        self.assertLess(switches["relative"], -0.5)
        self.assertLess(switches["difference_high"], 0)
        back = self.compare("seldom.attune", "often.attune")
        reverse = next(s for s in back["signals"] if s["sensor"] == "thread" and s["signal"] == "voluntary_switches")
        self.assertAlmostEqual(reverse["before"], switches["after"])
        text = self.attune("compare", "often.attune", "seldom.attune")
        self.assertEqual(text.returncode, 6)
        self.assertIn(b"thread.voluntary_switches", text.stdout)

    def test_a_recording_with_itself(self):
        self.record("one.attune", 0.01)
        report = self.compare("one.attune", "one.attune")
        self.assertEqual(report["changed"], 0)
        self.assertTrue(all(s["before"] == s["after"] for s in report["signals"]))

    @where_cpus_are_free
    def test_what_no_longer_holds_it_back(self):
        for name, program in (("before", (LOCK_CONTENTION, "mutex")), ("after", (CONTENTION, "5", "1"))):
            result = self.attune("run", "-q", "-f", "-o", f"{name}.attune", "--", *program)
            self.assertEqual(result.returncode, 0, result.stderr)
        result = self.attune("compare", "--json", "before.attune", "after.attune")
        self.assertEqual(result.returncode, 6, result.stderr)
        report = json.loads(result.stdout)
        finding = report["findings"][0]
        self.assertEqual((finding["class"], finding["after"]), ("lock-contention", None))
        mutex = next(wait for wait in report["waits"] if wait["kind"] == "mutex")
        self.assertEqual(os.path.basename(mutex["site"]["file"]), "lock_contention.c")
        self.assertGreater(mutex["before"], 10 * (mutex["after"] or 0))
        run = {figure["name"]: figure for figure in report["run"]}
        self.assertGreater(run["wall_time"]["before"], run["wall_time"]["after"])
        self.assertGreaterEqual(run["waited"]["before"], mutex["before"])
        self.assertGreater(run["threads_time"]["before"], run["wall_time"]["before"], "several threads")
        text = self.attune("compare", "before.attune", "after.attune").stdout.decode()
        self.assertRegex(text, r"(?m)^ *\S+ \S+ +- +gone +lock-contention at .*lock_contention.c:\d+\)$")
        self.assertRegex(text, r"(?m)mutex at .*lock_contention.c:\d+\)$")

    def test_what_was_not_seen_in_both(self):
        self.attune("run", "-q", "-o", "seen.attune", "--", CONTENTION, "2", "5")
        self.attune("run", "-q", "-o", "unseen.attune", "--no-interpose", "--", CONTENTION, "2", "5")
        report = json.loads(self.attune("compare", "--json", "seen.attune", "unseen.attune").stdout)
        self.assertEqual((report["waits_seen"], report["waits"]), (False, []))
        self.assertNotIn("waited", [figure["name"] for figure in report["run"]])
        self.assertIn(b"was not seen in both", self.attune("compare", "seen.attune", "unseen.attune").stdout)

    def test_what_cannot_be_compared(self):
        self.record("one.attune", 0.01)
        self.attune("run", "-q", "-s", "loadavg@20ms", "-o", "other.attune", "--", "sleep", "0.5")
        result = self.attune("compare", "one.attune", "other.attune")
        self.assertEqual(result.returncode, 3)
        self.assertIn(b"no signal in common", result.stderr)
        result = self.attune("compare", "one.attune", "other.attune", "-t", "much")
        self.assertEqual(result.returncode, 2)


if __name__ == "__main__":
    main()
