"""Where events occur: samples with call paths of events that the user names (attune run --event-samples)."""

import json
import os
import sys
import unittest

from attune_e2e import BUILD, E2E, main

PROGRAM = os.path.join(BUILD, "tests", "e2e", "touch_pages")
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "touch_pages.c")
# With what is touched at the program's start fewer than the kernel's ring has room for.
PAGES = 300


# Touches pages on each CPU in turn, and tells how many faults it had.
MOVES = """
import mmap, os, resource
cpus = sorted(os.sched_getaffinity(0))
for turn in range(60):
    os.sched_setaffinity(0, {cpus[turn % len(cpus)]})
    memory = mmap.mmap(-1, 50 * 4096)
    memory.madvise(15)
    for page in range(50):
        memory[page * 4096] = 1
    sum(range(100000))
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
"""


def line_of(comment):
    with open(SOURCE, encoding="utf-8") as file:
        return next(number for number, text in enumerate(file, 1) if text.rstrip().endswith(f"// {comment}"))


class EventSamples(E2E):
    def record(self, events, *more):
        result = self.attune("run", "-q", "-f", "-o", "r.attune", "--event-samples", events, *more, "--", PROGRAM, str(PAGES), "200")
        self.assertEqual((result.returncode, result.stdout), (0, f"{PAGES} pages\n".encode()), result.stderr)
        report = json.loads(self.attune("report", "r.attune", "--json").stdout)
        if any("CPU samples: the kernel permits none" in text for text in report["unseen"]):
            self.skipTest("samples are not permitted")
        if any(gap["reason"] == "dropped" for gap in report["gaps"]):
            self.skipTest("the kernel gives an ordinary user too little room for all samples")
        return report

    def test_each_occurrence_is_at_its_line(self):
        hot = self.record("page-faults:u=1")["hot_lines"]
        events = [event["event"] for event in hot["events"]]
        self.assertEqual(events, ["cpu-time", "page-faults:u"])
        first = max(hot["lines"], key=lambda line: line["counts"][1])
        self.assertEqual((os.path.basename(first["site"]["file"]), first["site"]["line"], first["site"]["function"]),
                         ("touch_pages.c", line_of("the line of the page faults"), "touch"))
        self.assertEqual(first["counts"][1], PAGES)
        busy = max(hot["lines"], key=lambda line: line["counts"][0])
        self.assertEqual(busy["site"]["line"], line_of("the line of the CPU time"))
        self.assertEqual(busy["counts"][1], 0)
        rows = self.query("r.attune", "select event, count(*) as samples, sum(count) as events from event_samples group by event")
        self.assertEqual([(row["event"], row["samples"] == row["events"]) for row in rows], [("page-faults:u", True)])
        text = self.attune("report", "r.attune", "hot-lines").stdout.decode()
        self.assertRegex(text, rf"(?m)^ +cpu-time +page-faults:u +line$[\s\S]*^ +[\d.]+ ms +{PAGES} +touch \(touch_pages.c:{line_of('the line of the page faults')}\)$")

    def test_call_paths_as_text(self):
        self.record("page-faults:u=1")
        folded = self.attune("export", "r.attune", "--to", "folded-events").stdout.decode()
        there = [line for line in folded.splitlines() if line.startswith("page-faults:u;") and ";main;touch " in line]
        self.assertEqual(len(there), 1, folded)
        self.assertEqual(int(there[0].split()[-1]), PAGES)

    def test_by_a_period_and_by_a_rate(self):
        hot = self.record("page-faults:u=100,minor-faults:u")["hot_lines"]
        counts = {event["event"]: event for event in hot["events"]}
        self.assertLess(abs(counts["page-faults:u"]["count"] - PAGES), 300, counts)
        self.assertEqual(counts["page-faults:u"]["samples"] * 100, counts["page-faults:u"]["count"])
        self.assertLess(counts["minor-faults:u"]["samples"], PAGES / 2, "as often as time passes, not each")
        self.assertLess(abs(counts["minor-faults:u"]["count"] - counts["page-faults:u"]["count"]), 200, counts)

    @unittest.skipUnless(len(os.sched_getaffinity(0)) > 1, "one CPU")
    def test_counts_by_a_rate_are_no_more_where_a_thread_moves(self):
        result = self.attune("run", "-q", "-f", "-o", "r.attune", "--event-samples", "minor-faults:u", "--", sys.executable, "-c", MOVES)
        report = json.loads(self.attune("report", "r.attune", "--json").stdout)
        if any("CPU samples: the kernel permits none" in text for text in report["unseen"]):
            self.skipTest("samples are not permitted")
        counted = report["hot_lines"]["events"][1]["count"]
        # What comes after the last sample is not told.
        self.assertGreater(counted, 0)
        self.assertLess(counted, 1.05 * int(result.stdout))

    def test_without_events_there_is_nothing_of_them(self):
        self.attune("run", "-q", "-f", "-o", "r.attune", "--", PROGRAM)
        self.assertIsNone(json.loads(self.attune("report", "r.attune", "--json").stdout)["hot_lines"])
        self.assertIn(b"there is nothing", self.attune("report", "r.attune", "hot-lines").stdout)

    def test_what_cannot_be_sampled_is_said(self):
        for arguments, said in [(("page-fualts",), b"page-faults"), (("page-faults=0",), b"period"), (("page-faults,",), b"empty name"),
                                (("page-faults", "--cpu-samples", "off"), b"leave out --cpu-samples off")]:
            result = self.attune("run", "--event-samples", *arguments, "--", "true")
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(b"--event-samples", result.stderr)
            self.assertIn(said, result.stderr)


if __name__ == "__main__":
    main()
