"""Derived series of the catalog (alarms, status): mistakes stop the build with the entry that they are in, and the documentation has the
newest table of alarms."""

import glob
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.path.abspath(os.environ.get("ATTUNE_SOURCE", "."))
SENSORS = sorted(glob.glob(os.path.join(SOURCE, "catalog", "*.toml")) + glob.glob(os.path.join(SOURCE, "catalog", "declared", "*.toml")))
GOOD = """
[[alarm]]
name = "disk.hot"
severity = "warning"
description = "temperature"
signals = ["smart.temperature"]
as = "level"
of = "each"
above = 65
clear = 60
unit = "degC"
for = "0s"
text = "{where} has {value}"
advice = "cool it"
"""


def generate(*arguments):
    return subprocess.run([sys.executable, os.path.join(SOURCE, "catalog", "generate_alarms.py"), *arguments], capture_output=True, text=True, check=False)


class AlarmRules(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="attune-alarms-")
        self.addCleanup(shutil.rmtree, self.folder)

    def made(self, rules):
        path = os.path.join(self.folder, "alarms.toml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(rules)
        return generate(os.path.join(self.folder, "out.cpp"), path, *SENSORS)

    def test_a_good_rule(self):
        self.assertEqual(self.made(GOOD).stderr, "")

    def test_mistakes_are_named(self):
        for old, new, said in [
            ('"smart.temperature"', '"smart.temperatur"', "has no signal 'temperatur'"),
            ('"smart.temperature"', '"clever.temperature"', "there is no sensor 'clever'"),
            ('as = "level"', 'as = "rate"', "is a gauge"),
            ('as = "level"', 'as = "ratio"', "needs 'over'"),
            ('as = "level"', 'as = "size"', "is none of"),
            ("above = 65", "above = 65\nbelow = 3", "either above or below"),
            ("clear = 60", "clear = 70", "wrong side"),
            ("severity = \"warning\"", "severity = \"bad\"", "severity is warning or critical"),
            ('of = "each"', 'of = "machine"', "{where} of a machine says nothing"),
            ('for = "0s"', 'for = "soon"', "is not a time"),
            ('name = "disk.hot"', 'name = "Hot"', "a name is group.what"),
            ('advice = "cool it"', "", "lacks advice"),
            ('advice = "cool it"', 'advice = "cool it"\nodd = 1', "unknown key odd"),
            (GOOD, GOOD + GOOD, "is there twice"),
        ]:
            result = self.made(GOOD.replace(old, new))
            self.assertNotEqual(result.returncode, 0, said)
            self.assertIn(said, result.stderr)
            self.assertIn("alarms.toml", result.stderr)

    def test_mistakes_in_figures_of_status_are_named(self):
        for formula, said in [
            ("level(smart.temperatur)", "has no signal 'temperatur'"),
            ("rate(memory.MemTotal)", "is a gauge: it has no rate"),
            ("level(memory.MemTotal", "was never closed"),
            ("speed(memory.MemTotal)", "is not known in formulas"),
            ("largest(memory.MemTotal)", "is none of level, rate, share"),
            ("level(memory.MemTotal) ** 2", "is not known in formulas"),
        ]:
            path = os.path.join(self.folder, "status.toml")
            with open(path, "w", encoding="utf-8") as f:
                f.write(f'[[figure]]\nkey = "a/b"\nformula = "{formula}"\n')
            result = subprocess.run([sys.executable, os.path.join(SOURCE, "catalog", "generate_status.py"), os.path.join(self.folder, "out.cpp"), path,
                                     *SENSORS], capture_output=True, text=True, check=False)
            self.assertNotEqual(result.returncode, 0, said)
            self.assertIn(said, result.stderr)
            self.assertIn("figure 'a/b'", result.stderr)

    def test_the_documentation_is_the_newest(self):
        page = os.path.join(SOURCE, "docs", "alarms.md")
        copy = os.path.join(self.folder, "alarms.md")
        shutil.copy(page, copy)
        self.assertEqual(generate("--docs", copy, os.path.join(SOURCE, "catalog", "alarms", "alarms.toml"), *SENSORS).stderr, "")
        with open(page, encoding="utf-8") as old, open(copy, encoding="utf-8") as new:
            self.assertEqual(old.read(), new.read(), "make it again: python3 catalog/generate_alarms.py --docs docs/alarms.md catalog/alarms/alarms.toml catalog/*.toml catalog/declared/*.toml")


if __name__ == "__main__":
    unittest.main()
