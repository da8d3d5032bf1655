#!/usr/bin/env python3
"""Tests of tools/first_screens.py: what is a screen as it must be, and what is said of one that is not."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

import first_screens  # noqa: E402

HEAD = """\
tesseract page.png text  exit code 0
1.37 s on vm, 2026-11-27 07:08:06

  2 CPUs  \u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2592\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7  program 57 %, others 3 %, idle 40 %
  it computes for 100 % of its 1.32 s, on 1.1 of 2 CPUs on average

"""
FINDING = """\
  1  wait-at-barrier  2.27 s lost, 46 %; at most 602 ms of the run to gain
     at tesseract::LSTM::Forward(...) (libtesseract.so.5+0x287c3d)
     > Try fewer of them.
"""
NONE = "  Nothing was found that holds it back.\n"
END = """
  attune report tesseract.attune waits  what threads waited for, and where
  attune view tesseract.attune          the same on a page
"""
CASE = first_screens.CASES["tesseract"]


class Complaints(unittest.TestCase):
    def of(self, *parts, case=CASE):
        return " ".join(first_screens.complaints("".join(parts), case))

    def test_a_good_screen_has_none(self):
        self.assertEqual(self.of(HEAD, FINDING, END), "")

    def test_too_large(self):
        self.assertIn("it has 40 lines", self.of(HEAD, FINDING, "\n" * 28, END))
        self.assertIn("has 90 columns", self.of(HEAD, FINDING, "x" * 90 + "\n", END))

    def test_what_is_missing(self):
        for text, what in (("  exit code 0", "ended well"), ("1.37 s on vm", "for how long"), ("2 CPUs", "who had the CPUs"),
                           ("  it computes", "verdict"), ("attune view", "page"), ("attune report", "type next")):
            self.assertIn(what, self.of((HEAD + FINDING + END).replace(text, "something")), text)

    def test_findings(self):
        self.assertIn("has no finding", self.of(HEAD, NONE, END))
        self.assertIn("is wait-at-barrier, not none", self.of(HEAD, FINDING, END, case=first_screens.CASES["pigz"]).replace("tesseract", ""))
        self.assertIn("no advice", self.of(HEAD, FINDING.replace("> ", ""), END))
        self.assertIn("an address for a place", self.of(HEAD, FINDING.replace("tesseract::LSTM::Forward(...) (", "").replace("3d)", "3d"), END))
        self.assertIn("cut: at tesseract", self.of(HEAD, FINDING.replace("0x287c3d)", "0x28>"), END))


class Page(unittest.TestCase):
    def test_every_program_is_on_it(self):
        text = first_screens.PAGE.read_text(encoding="utf-8")
        begin, end = text.index(first_screens.BEGIN), text.index(first_screens.END)
        self.assertGreaterEqual(len(first_screens.CASES), 10)
        for name, case in first_screens.CASES.items():
            self.assertIn(f"**{name}**: {case.tells}\n\n    $ attune report {name}.attune\n", text[begin:end])


if __name__ == "__main__":
    unittest.main()
