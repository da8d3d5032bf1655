#!/usr/bin/env python3
"""Every test and every row of a benchmark that docs/numascope.md names exists.

Usage: numascope_doc_test.py ROOT
"""

import pathlib
import re
import sys
import unittest


def read_all(root, *patterns):
    return "\n".join(path.read_text(encoding="utf-8") for pattern in patterns for path in sorted(root.glob(pattern)))


class Names(unittest.TestCase):
    root = pathlib.Path(".")

    def setUp(self):
        self.page = (self.root / "docs/numascope.md").read_text(encoding="utf-8")
        self.cpp = read_all(self.root, "tests/**/*.cpp")
        self.python = read_all(self.root, "tests/**/*_test.py")
        self.cmake = read_all(self.root, "tests/**/CMakeLists.txt")
        self.bench = read_all(self.root, "bench/**/*.cpp", "bench/**/*.mjs")

    def exists(self, name):
        if "." not in name:
            return f"NAME {name} " in self.cmake or f"attune_web_test({name} " in self.cmake
        suite, test = name.split(".")
        if test.startswith("test_"):
            body = re.search(rf"^class {suite}\(.*?(?=^class |\Z)", self.python, re.MULTILINE | re.DOTALL)
            return bool(body) and f"def {test}(" in body[0]
        return re.search(rf"\bTEST(_F|_P)?\({suite}, {test}\)", self.cpp) is not None

    def test_tests(self):
        names = re.findall(r"\btest `([^`]+)`", self.page)
        self.assertGreater(len(names), 20)
        self.assertEqual([name for name in names if not self.exists(name)], [])

    def test_rows(self):
        names = re.findall(r"\brow `([^`]+)`", self.page)
        self.assertGreater(len(names), 5)
        self.assertEqual([name for name in names if name not in self.bench], [])

    def test_every_shortfall_is_held(self):
        table = self.page.split("## Where it falls short")[1]
        rows = [line for line in table.splitlines() if line.startswith("| ") and "---" not in line][1:]
        self.assertGreaterEqual(len(rows), 16)
        self.assertEqual([row for row in rows if not re.search(r"\b(test|row) `", row)], [])


if __name__ == "__main__":
    Names.root = pathlib.Path(sys.argv.pop(1))
    unittest.main()
