#!/usr/bin/env python3
"""Tests of tools/check_single_source.py: what is a list of names in each language, and what is none."""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import check_includes  # noqa: E402
import check_single_source as check  # noqa: E402

NAMES = check.Names(ROOT, check_includes.tracked_files(ROOT))


class SingleSource(unittest.TestCase):
    def lists(self, name, text):
        return [(line, kind) for line, kind, _ in check.File(name, text, NAMES).lists()]

    def test_knows_names_of_each_kind(self):
        for kind, name in (("table", "cpu_samples"), ("column", "weight_ns"), ("page document", "sync-graph"), ("export format", "task-graph-csv"), ("verb", "dump"),
                           ("level", "blame"), ("run option", "trace-buffer"), ("subcommand", "doctor"), ("finding class", "late-sender"),
                           ("component", "MemberComponent")):
            self.assertIn(name, NAMES.of[kind])
        self.assertEqual(NAMES.constants["Sync::kTable"], ("table", "sync"))
        self.assertEqual(NAMES.constants["FindingClass::kLateSender"], ("finding class", "late-sender"))

    def test_lists_in_each_language(self):
        for name, text, kind in (
                ("src/a.cpp", 'constexpr std::array kAll{\n  "late-sender",\n  "late-receiver"};', "finding class"),
                ("src/a.cpp", 'Row kRows[] = {{"doctor", 1}, Row{"export", 2}};', "subcommand"),
                ("src/a.cpp", 'f({{.name = "trace-buffer"}, {.name = "trace-stream"}});', "run option"),
                ("src/a.cpp", 'if (name == "waits" || name == "sync-graph") return 1;', "page document"),
                ("src/a.cpp", 'if (row.name == "dump") a();\nif (row.name == "attach") b();', "verb"),
                ("src/a.cpp", "return table == model::Sync::kTable || table == model::Message::kTable;", "table"),
                ("src/a.cpp", "const std::set kinds{FindingClass::kLateSender, FindingClass::kSmallMessages};", "finding class"),
                ("src/a.cpp", "for (Level level : {Level::kTrace, Level::kStamped}) f(level);", "level"),
                ("src/a.cpp", "all.Add<MemberComponent>(a);\nall.Add<SinkComponent>(b);", "component"),
                ("web/src/a.ts", "const A = new Set(['late-sender', 'small-messages']);", "finding class"),
                ("web/src/a.ts", "type Document = 'waits' | 'sites' | 'flames';", "page document"),
                ("web/src/a.ts", "switch (name) { case 'waits': a(); break; case 'sites': b(); }", "page document"),
                ("web/src/a.ts", "const TITLES = { 'late-sender': 'Late', 'late-receiver': 'Later' };", "finding class"),
                ("tools/a.py", "if table in ('samples', 'lod'):\n    pass", "table"),
                ("tools/a.py", '# "a" is no text\nNAMES = "stamped trace blame".split()', "level"),
                ("tools/a.py", 'COLUMNS = ["thread", "cpu", "site", "stack", "weight_ns"]', "column of cpu_samples"),
                ("src/a.cpp", "query(\"thread, cpu, site, stack, weight_ns\");", "column of cpu_samples")):
            self.assertIn(kind, [found for _, found in self.lists(name, text)], text)

    def test_uses_are_none(self):
        for name, text in (
                ("src/a.cpp", 'return {.name = "waits", .make = Waits};'),
                ("src/a.cpp", 'given.Text("trace-buffer"); given.Is("trace-stream");'),
                ("src/a.cpp", '// "waits", "sites"\n/* {"waits", "sites"} */ R"({"waits", "sites"})"'),
                ("src/a.cpp", 'Json{{"waits", 1}, {"sites", 2}, {"threads", 3}, {"locks", 4}, {"others", 5}};'),
                ("src/a.cpp", "switch (batch.table) { case model::Sync::kTable: A(); break; case model::Message::kTable: B(); break; }"),
                ("src/a.cpp", "if (table == Sync::kTable) return A();\nif (table == Message::kTable) return B();"),
                ("src/a.cpp", "std::vector<Table> Tables() const override { return {model::Stack::kTable, model::CpuSample::kTable}; }"),
                ("src/a.cpp", 'if (key == "compare") a(); if (key == "credits") b(); if (key == "pair") c(); if (key == "view") d(); if (key == "load") e();'),
                ("web/src/a.ts", "interface DocumentTypes { 'waits': Waits; 'sites': Sites; }"),
                ("web/src/a.ts", "uses('waits', show); uses('sites', keep); entry('waits', 'sites');"),
                ("tools/a.py", 'run("export", "query")')):
            self.assertEqual(self.lists(name, text), [], text)

    def test_a_place_may_hold_its_names(self):
        text = 'static const auto kAll = {{"alarm", 1}, {"alarms", 2}};'
        self.assertEqual(self.lists("src/session/components/alarms.cpp", text), [])
        self.assertNotEqual(self.lists("src/cli/alarms.cpp", text), [])

    def test_generated_parts_are_left_out(self):
        text = '# Made by a.py: begin\nA = ("samples", "lod")\n# Made by a.py: end\n'
        self.assertEqual(self.lists("tools/a.py", text), [])
        self.assertEqual(self.lists("tools/a.py", text + 'B = ("samples", "lod")'), [(4, "table")])


if __name__ == "__main__":
    unittest.main()
