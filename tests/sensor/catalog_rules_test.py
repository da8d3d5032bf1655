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
        self.assertIn(".max_per_second = 1000}", out)

    def test_headings_and_scales(self):
        code, message, out = self.generate(GOOD.replace('unit = "1"', 'unit = "1"\nmnemonic = "aa"\nscale = -2'))
        self.assertEqual(code, 0, message)
        self.assertIn(".scale = -2", out)
        self.assertIn('.mnemonic = "aa"', out)
        family = GOOD.replace('name = "a"', 'name = "a*"')
        self.assertEqual(self.generate(family.replace('unit = "1"', 'unit = "1"\nmnemonic = "a{}"'))[0], 0)
        self.refused(family.replace('unit = "1"', 'unit = "1"\nmnemonic = "aa"'), "signal 'a*'", "family")
        self.refused(GOOD.replace('unit = "1"', 'unit = "1"\nmnemonic = "a{}"'), "signal 'a'", "{}")
        self.refused(GOOD.replace('unit = "1"', 'unit = "1"\nmnemonic = "a b"'), "signal 'a'", "heading")
        self.refused(GOOD.replace('unit = "1"', 'unit = "1"\nscale = 0.5'), "signal 'a'", "scale")
        second = GOOD[GOOD.index("[[signal]]"):].replace('name = "a"', 'name = "b"\nmnemonic = "a"')
        self.refused(GOOD + second, "signal 'b'", "that of signal 'a'")

    def test_flags_and_other_sensors(self):
        code, message, out = self.generate(GOOD.replace("source =", "by_request = true\nsource ="))
        self.assertEqual(code, 0, message)
        self.assertIn(".by_request = true", out)
        self.refused(GOOD.replace("source =", "by_request = 1\nsource ="), "by_request")
        self.refused(GOOD.replace("source =", 'also = ["other"]\nsource ='), "other", "no other sensor")

    def test_documentation_is_up_to_date(self):
        root = GENERATE.parents[1]
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "signals.md"
            subprocess.run([sys.executable, GENERATE, "--docs", out, *sorted(GENERATE.parent.glob("*.toml"))], check=True)
            self.assertEqual(out.read_text(), (root / "docs" / "signals.md").read_text(),
                             "make it again: python3 catalog/generate.py --docs docs/signals.md catalog/*.toml")

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
