"""The planted suite by itself, without attune: heads are understood, every program has an expectation and compiles, scores are right."""

import argparse
import collections
import os
import re
import sys
import tempfile
import unittest

import building
import expectation as expectations
import run

HERE = expectations.HERE
BUILD = os.environ.get("ATTUNE_PLANTED_BUILD", "")
HEAD = "// A lock is held for long.\n// planted: class=lock-contention function=hold\n"


def parse(text, source="hold.c"):
    return expectations.parse(source, text)


def finding(name, function="hold", file="/src/hold.c", line=4, seconds=1.0):
    return {"class": name, "seconds": seconds, "site": {"function": function, "file": file, "line": line}}


def report(*findings, **more):
    return {"findings": list(findings), "totals": {"processes": 1}, **more}


class Heads(unittest.TestCase):
    def test_fields_and_a_marked_line(self):
        expected = parse(HEAD + "\nlock();  // <- cause\n")
        self.assertEqual((expected.name, expected.language, expected.what), ("hold", "C", "A lock is held for long."))
        self.assertEqual((expected.classes, expected.functions, expected.lines), (("lock-contention",), ("hold",), {4}))
        self.assertEqual((expected.processes, expected.tolerance, expected.is_harmless), (1, 2.0, False))

    def test_alternatives_lists_and_quotes(self):
        expected = parse("// Text.\n// planted: class=busy-wait|lock-contention function=a|b options=-O0,-fopenmp compilers=gcc,clang\n"
                         '// planted: processes=3 exit=-15 beside="stress-ng --cpu 2" environment=A=1,B=x\na();  // <- cause\n')
        self.assertEqual((expected.classes, expected.functions), (("busy-wait", "lock-contention"), ("a", "b")))
        self.assertEqual((expected.options, expected.compilers), (("-O0", "-fopenmp"), ("gcc", "clang")))
        self.assertEqual((expected.processes, expected.exit, expected.beside, expected.environment),
                         (3, -15, "stress-ng --cpu 2", ("A=1", "B=x")))
        self.assertEqual(expected.tolerance, 5.0, "not all of the classes are waits")

    def test_python(self):
        expected = parse("# Text.\n# planted: class=small-io tolerance=none\nread()  # <- cause\n", "x.py")
        self.assertEqual((expected.language, expected.lines, expected.tolerance), ("Python", {3}, None))

    def test_a_range_of_lines(self):
        expected = parse(HEAD + "\n// <- cause: begin\na();\n// <- cause: end\nb();  // <- cause\n")
        self.assertEqual(expected.lines, {4, 5, 6, 7})

    def test_what_is_harmless(self):
        self.assertTrue(parse("// Text.\n// planted: class=none\n").is_harmless)

    def test_heads_that_say_too_little(self):
        for text, why in (("// Text.\nint x;\n", "no class"),
                          ("// planted: class=none\n", "does not say what"),
                          ("// Text.\n// planted: class=none colour=red\n", "no field 'colour=red'"),
                          ("// Text.\n// planted: class=none class=none\n", "stands twice"),
                          ("// Text.\n// planted: class=none\n// More text.\n", "come last"),
                          (HEAD, "marked line"),
                          ("// Text.\n// planted: class=oversubscription\na();  // <- cause\n", "marked line"),
                          ("// Text.\n// planted: class=none\na();  // <- cause\n", "no cause"),
                          (HEAD + "\n// <- cause: end\n", "without a begin"),
                          (HEAD + "\n// <- cause: begin\n", "without an end")):
            with self.subTest(text), self.assertRaisesRegex(expectations.HeadError, why):
                parse(text)


class Comparison(unittest.TestCase):
    def setUp(self):
        self.expected = parse(HEAD + "\nlock();  // <- cause\n")
        self.harmless = parse("// Text.\n// planted: class=none\n")

    def compare(self, *findings, true_s=1.0, expected=None, **more):
        return expectations.compare(expected or self.expected, report(*findings, **more), true_s)

    def test_all_as_planted(self):
        verdict = self.compare(finding("lock-contention", seconds=1.015))
        self.assertTrue(verdict.ok and verdict.class_ok and verdict.place_ok and verdict.time_ok, verdict)
        self.assertAlmostEqual(verdict.error_percent, 1.5)

    def test_another_class_first(self):
        verdict = self.compare(finding("condition-wait"), finding("lock-contention"))
        self.assertFalse(verdict.ok or verdict.class_ok)
        self.assertIn("condition-wait at hold (hold.c:4)", verdict.complaint)

    def test_nothing_found(self):
        self.assertEqual(self.compare().complaint, "nothing found")

    def test_findings_about_other_programs_may_come_before(self):
        other = min(expectations.OF_OTHERS)
        self.assertTrue(self.compare(finding(other, line=None), finding("lock-contention")).ok)
        self.assertTrue(self.compare(finding(other, line=None), expected=self.harmless).ok)

    def test_the_place(self):
        for wrong in (finding("lock-contention", line=5), finding("lock-contention", file="/src/other.c"),
                      finding("lock-contention", function="main"), {"class": "lock-contention", "seconds": 1.0, "site": None}):
            verdict = self.compare(wrong)
            self.assertTrue(verdict.class_ok)
            self.assertIs(verdict.place_ok, False)

    def test_names_as_the_compiler_makes_them(self):
        self.assertTrue(self.compare(finding("lock-contention", function="(anonymous namespace)::hold(int) [clone .part.0]")).ok)

    def test_the_time(self):
        self.assertIs(self.compare(finding("lock-contention", seconds=1.03)).time_ok, False)
        self.assertIs(self.compare(finding("lock-contention"), true_s=None).time_ok, False)
        unknown = parse(HEAD.replace("function", "tolerance=none function") + "\nlock();  // <- cause\n")
        self.assertTrue(self.compare(finding("lock-contention", seconds=7.0), expected=unknown).ok)

    def test_no_time_lost_is_none_found(self):
        circle = parse("// Text.\n// planted: class=lock-order-cycle\nlock();  // <- cause\n")
        self.assertTrue(self.compare(finding("lock-order-cycle", line=3, seconds=0.0), true_s=0.0, expected=circle).ok)

    def test_processes(self):
        two = parse(HEAD.replace("function", "processes=2 function") + "\nlock();  // <- cause\n")
        self.assertEqual(self.compare(finding("lock-contention"), expected=two).complaint, "1 processes seen, not 2")

    def test_harmless(self):
        self.assertTrue(self.compare(expected=self.harmless, true_s=None).ok)
        verdict = self.compare(finding("lock-contention"), expected=self.harmless)
        self.assertEqual(verdict.complaint, "claimed: lock-contention at hold (hold.c:4)")

    def test_the_verdict_on_what_only_computes(self):
        computing = parse("// Text.\n// planted: class=compute-bound tolerance=none\nx();  // <- cause\n")
        verdict = finding("compute-bound", line=3)
        self.assertTrue(self.compare(expected=computing, true_s=None, verdict=verdict).ok)
        self.assertFalse(self.compare(finding("lock-contention"), expected=computing, true_s=None, verdict=verdict).ok)
        self.assertTrue(self.compare(expected=self.harmless, verdict=verdict).ok)

    def test_what_processes_lost_adds_up(self):
        self.assertAlmostEqual(expectations.truth_of("lost_ns 1000000000\nlost_ns 500000000\n"), 1.5)
        self.assertIsNone(expectations.truth_of(""))


class Scores(unittest.TestCase):
    def outcome(self, expected, *findings):
        built = building.Built(building.programs_of(expected)[0], ["x"])
        return run.Outcome(built, expectations.compare(expected, report(*findings), 1.0))

    def setUp(self):
        planted, harmless = parse(HEAD + "\nlock();  // <- cause\n"), parse("// Text.\n// planted: class=none\n", "calm.c")
        self.good, self.bad = self.outcome(planted, finding("lock-contention")), self.outcome(planted)
        self.calm, self.accused = self.outcome(harmless), self.outcome(harmless, finding("lock-contention"))
        self.skipped = run.Outcome(building.Built(building.programs_of(planted)[0], []), skipped="not installed: x")

    def test_shares_reached(self):
        self.assertTrue(run.Score([self.good, self.calm, self.skipped]).reaches(95))
        self.assertFalse(run.Score([self.good, self.bad, self.calm]).reaches(95))
        self.assertTrue(run.Score([self.good, self.bad, self.calm]).reaches(50))
        self.assertFalse(run.Score([self.good, self.accused]).reaches(95))
        self.assertFalse(run.Score([self.skipped]).reaches(0), "nothing ran")

    def test_lines(self):
        lines = "\n".join(run.Score([self.good, self.bad, self.calm, self.skipped]).lines())
        self.assertIn("50.0 %  1 of 2", lines)
        self.assertIn("100.0 %  1 of 1", lines)
        self.assertIn("skipped 1", lines)
        for outcome in (self.good, self.bad, self.calm, self.accused, self.skipped):
            self.assertIn(outcome.word, run.line_of(outcome))
            self.assertEqual(outcome.row()["outcome"], outcome.word)


class Builds(unittest.TestCase):
    def test_a_program_for_each_compiler(self):
        expected = parse("// Text.\n// planted: class=none compilers=gcc,clang options=-fopenmp\n")
        self.assertEqual([program.name for program in building.programs_of(expected)], ["hold.gcc", "hold.clang"])
        self.assertEqual([program.name for program in building.programs_of(parse("// Text.\n// planted: class=none ranks=2\n"))],
                         ["hold.openmpi", "hold.mpich"])

    def test_kept_until_the_source_changes(self):
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "x.c")

            def made(text):
                with open(source, "w", encoding="ascii") as f:
                    f.write("// Text.\n// planted: class=none\n" + text)
                with open(source, encoding="ascii") as f:
                    return building.build(building.programs_of(expectations.parse(source, f.read()))[0], os.path.join(folder))

            def when():
                return os.stat(os.path.join(folder, "x")).st_mtime_ns

            self.assertEqual(made("int main(void) { return 0; }\n").error, "")
            first = when()
            made("int main(void) { return 0; }\n")
            self.assertEqual(when(), first)
            made("int main(void) { return 1; }\n")
            self.assertNotEqual(when(), first)
            self.assertIn("error", made("int main(void) { return }\n").error)


class Suite(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.all = expectations.read_all()

    def test_there_are_enough(self):
        self.assertGreaterEqual(sum(not each.is_harmless for each in self.all), 80)
        self.assertGreaterEqual(sum(each.is_harmless for each in self.all), 40)

    def test_names_are_unique(self):
        names = [each.name for each in self.all]
        self.assertEqual(sorted(names), sorted(set(names)))

    def test_functions_that_are_expected_are_there(self):
        for each in self.all:
            with open(each.source, encoding="utf-8") as f:
                text = f.read().split("\n\n", 1)[1]
            for function in each.functions:
                if function != "operator()":
                    self.assertRegex(text, rf"\b{re.escape(function)}\b", each.source)

    def test_programs_say_what_they_lost(self):
        for each in self.all:
            with open(each.source, encoding="utf-8") as f:
                text = f.read()
            if not each.is_harmless:
                self.assertIn("write_truth()", text, each.source)
                if each.tolerance is not None and each.classes != ("lock-order-cycle",):
                    self.assertRegex(text, r"\blost(_since)?\(", each.source)

    def test_every_class_is_described(self):
        with open(os.path.join(HERE, os.pardir, os.pardir, "docs", "findings.md"), encoding="utf-8") as f:
            known = set(re.findall(r"^### (\S+)$", f.read(), re.M))
        with open(os.path.join(HERE, "README.md"), encoding="utf-8") as f:
            known |= set(re.findall(r"^\| `([a-z-]+)` \|", f.read(), re.M))
        self.assertEqual({name for each in self.all for name in each.classes} - known, set())

    def test_the_table_is_current(self):
        programs = [program for each in self.all for program in building.programs_of(each)]
        with open(os.path.join(HERE, "README.md"), encoding="utf-8") as f:
            self.assertIn("\n".join(run.table_of(programs)), f.read(), "tests/planted/run.py --list prints it")

    @unittest.skipUnless(BUILD, "ATTUNE_PLANTED_BUILD names no folder to build in")
    def test_every_program_compiles(self):
        programs = [program for each in self.all for program in building.programs_of(each)]
        built = building.build_all(programs, BUILD)
        self.assertEqual([f"{each.program.name}: {each.error}" for each in built if each.error], [])
        lacking = collections.Counter(each.missing for each in built if each.missing)
        for missing, count in sorted(lacking.items()):
            print(f"skipped: {count} planted programs ({missing})")  # `./dev test` lists what is skipped in these words


class Options(unittest.TestCase):
    def test_what_is_chosen(self):
        self.assertTrue(all(program.expectation.is_harmless for program in run.chosen(["harmless"])))
        self.assertTrue(all("busy-wait" in program.expectation.classes for program in run.chosen(["busy-wait"])))
        self.assertEqual([program.name for program in run.chosen(["mpi_late_sender.mpich"])], ["mpi_late_sender.mpich"])

    def test_truth_and_outcome_of_a_run(self):
        """With a command in attune's place that starts the program, and has a report."""
        with tempfile.TemporaryDirectory() as folder:
            attune = os.path.join(folder, "attune")
            with open(attune, "w", encoding="ascii") as f:
                f.write("#!/bin/sh\nif [ $1 = report ]; then\n  echo '{\"findings\": [], \"totals\": {\"processes\": 1}}'\n  exit\nfi\n"
                        "while [ \"$1\" != -- ]; do shift; done\nshift\nexec \"$@\"\n")
            os.chmod(attune, 0o755)
            options = argparse.Namespace(attune=attune, user=None, level="profile")
            expected = parse(HEAD + "\nlock();  // <- cause\n")
            program = building.programs_of(expected)[0]
            with run.Runner(options) as runner:
                found = runner.one(building.Built(program, ["sh", "-c", "echo lost_ns 5 > $PLANTED_TRUTH"]), 1)
                self.assertEqual((found.word, found.verdict.complaint), (run.FAIL, "nothing found"))
                skipped = runner.one(building.Built(program, ["sh", "-c", "echo skipped: no disk >&2; exit 77"]), 1)
                self.assertEqual((skipped.word, skipped.skipped), (run.SKIP, "no disk"))
                ended = runner.one(building.Built(program, ["sh", "-c", "exit 3"]), 1)
                self.assertEqual(ended.verdict.complaint, "ended with 3: ")


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
