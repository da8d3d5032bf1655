#!/usr/bin/env python3
"""Tests of tools/bench_table.py: what is within its limit, what is beyond, and what --check says of it."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "bench_table.py"


def figure(value, better="lower", limit=45.0):
    return {"figure": "pair", "value": value, "unit": "ns", "limit": limit, "better": better, "note": "21 rounds"}


class BenchTable(unittest.TestCase):
    def check(self, figures):
        """(exit code with --check, exit code without, output)."""
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
            file.write("".join(json.dumps(line) + "\n" for line in figures))
            file.flush()
            runs = [
                subprocess.run([sys.executable, SCRIPT, *options, file.name], capture_output=True, text=True, check=False)
                for options in (["--check"], [])
            ]
        return runs[0].returncode, runs[1].returncode, runs[0].stdout

    def test_at_the_limit_is_inside(self):
        code, _, output = self.check([figure(45)])
        self.assertEqual(code, 0, output)
        self.assertIn("<= 45 ns", output)

    def test_beyond_fails_only_the_check(self):
        self.assertEqual(self.check([figure(44), figure(46)])[:2], (1, 0))

    def test_higher_is_better(self):
        self.assertEqual(self.check([figure(46, "higher")])[0], 0)
        self.assertEqual(self.check([figure(44, "higher")])[0], 1)

    def test_not_a_number_is_beyond(self):
        self.assertEqual(self.check([figure(float("nan"))])[0], 1)

    def test_failed_benchmark_fails(self):
        self.assertEqual(self.check([figure(1), {"figure": "x", "failed": True}])[0], 1)

    def test_unavailable_is_shown_and_passes(self):
        code, _, output = self.check([figure(1), {"figure": "x", "unavailable": "no counters here"}])
        self.assertEqual(code, 0)
        self.assertIn("no counters here", output)

    def test_nothing_measured_fails(self):
        self.assertEqual(self.check([])[0], 1)


if __name__ == "__main__":
    unittest.main()
