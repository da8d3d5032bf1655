#!/usr/bin/env python3
"""Tests of tools/try_growth.py: what counts as a file, and what a check accepts."""

import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import try_growth  # noqa: E402

HEADER = "Subject: one\n\nKind: option\nBuild: attune more\nCheck:\n$ attune a\n*b*\nc\n$ true\n\n"


def diff(*names):
    return "".join(f"diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-a\n+b\n" for name in names)


class TryGrowth(unittest.TestCase):
    def example(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "one.patch"
            path.write_text(text, encoding="utf-8")
            return try_growth.Example(path)

    def test_reads_a_header(self):
        example = self.example(HEADER + diff("src/a.h"))
        self.assertEqual(example.targets, ["attune", "more"])
        self.assertEqual(example.commands, [("attune a", ["*b*", "c"]), ("true", [])])

    def test_counts_what_people_write(self):
        example = self.example(HEADER + diff("src/a.h", "tests/a_test.cpp", "docs/a.md", "web/src/wire/tables.ts", "CHANGELOG.md"))
        self.assertEqual(example.files, ["src/a.h"])
        example.check_count()
        with self.assertRaisesRegex(try_growth.Failure, "touches 2 files, at most 1: cmake/a.cmake, src/a.h"):
            self.example(HEADER + diff("src/a.h", "cmake/a.cmake")).check_count()
        with self.assertRaisesRegex(try_growth.Failure, "no file of the source"):
            self.example(HEADER + diff("docs/a.md")).check_count()

    def test_refuses_what_says_nothing(self):
        for text in (HEADER, HEADER.replace("option", "opinion") + diff("src/a.h"), HEADER.partition("$")[0] + "\n" + diff("src/a.h")):
            with self.assertRaises(try_growth.Failure):
                self.example(text)

    def test_lines_are_looked_for_in_their_order(self):
        self.assertIsNone(try_growth.missing_line("x\n  a = 1\nb\n", ["a = *", "b"]))
        self.assertEqual(try_growth.missing_line("b\na\n", ["a", "b"]), "b")
        self.assertEqual(try_growth.missing_line("a.c\n", ["a*d"]), "a*d")


if __name__ == "__main__":
    unittest.main()
