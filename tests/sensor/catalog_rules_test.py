#!/usr/bin/env python3
"""Mistakes in a catalog file stop the build and say where."""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

GENERATE = Path(os.environ.get("ATTUNE_SOURCE", Path(__file__).parents[2])) / "catalog" / "generate.py"
GOOD = """
[sensor]
name = "demo"
description = "d"
source = "/proc/demo"
cost = "1 us"
default_interval = "100ms"
[[signal]]
name = "a"
unit = "1"
kind = "gauge"
description = "an \\"a\\""
"""


class CatalogRules(unittest.TestCase):
    def generate(self, text):
        with tempfile.TemporaryDirectory() as folder:
            source, out = Path(folder) / "demo.toml", Path(folder) / "out.cpp"
            source.write_text(text)
            run = subprocess.run([sys.executable, GENERATE, out, source], capture_output=True, text=True)
            return run.returncode, run.stderr, out.read_text() if out.exists() else ""

    def refused(self, text, *words):
        code, message, out = self.generate(text)
        self.assertNotEqual(code, 0)
        self.assertEqual(out, "")
        for word in words:
            self.assertIn(word, message)

    def test_good(self):
        code, message, out = self.generate(GOOD)
        self.assertEqual(code, 0, message)
        self.assertIn('"an \\"a\\""', out)
        self.assertIn("100000000", out)
        self.assertIn("SumRule::kSum", out)

    def test_rules_of_sums_and_limits(self):
        code, message, out = self.generate(GOOD.replace('unit = "1"', 'unit = "1"\nsum = "mean"'))
        self.assertEqual(code, 0, message)
        self.assertIn("SumRule::kMean", out)
        code, message, out = self.generate(GOOD.replace('"gauge"', '"counter"\nmax_per_second = 1000'))
        self.assertEqual(code, 0, message)
        self.assertIn("1000}", out)

    def test_mistakes(self):
        self.refused(GOOD.replace('kind = "gauge"', 'kind = "level"'), "signal 'a'", "level", "gauge")
        self.refused(GOOD.replace('unit = "1"\n', ""), "signal 'a'", "lacks unit")
        self.refused(GOOD.replace('unit = "1"', 'units = "1"\nunit = "1"'), "unknown key units")
        self.refused(GOOD.replace('"100ms"', '"0.1"'), "[sensor]", "0.1")
        self.refused(GOOD.replace('name = "demo"', 'name = "other"'), "name the file after it")
        self.refused(GOOD + GOOD[GOOD.index("[[signal]]"):], "twice")
        self.refused(GOOD.replace('name = "a"', 'name = "*a*"'), "more than one star")
        self.refused(GOOD.replace('unit = "1"', 'unit = "1"\nelement = "core-ish"'), "core-ish")
        self.refused(GOOD.replace('unit = "1"', 'unit = "1"\nsum = "average"'), "signal 'a'", "average", "mean")
        self.refused(GOOD.replace('"gauge"', '"counter"\nsum = "max"'), "signal 'a'", "counter", "summed")
        self.refused(GOOD.replace('"gauge"', '"state"'), "signal 'a'", "state")
        self.refused(GOOD.replace('unit = "1"', 'unit = "1"\nmax_per_second = 5'), "signal 'a'", "max_per_second")
        self.refused(GOOD.replace('source =', 'needs_program = "yes"\nsource ='), "needs_program")
        self.refused("[sensor", "demo.toml")


unittest.main()
