#!/usr/bin/env python3
"""Tests of tools/check_includes.py: a good tree passes, and each kind of violation is found at its line."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check_includes.py"

GOOD = {
    "include/attune/probe.h": "#pragma once\n#include <stdint.h>\n",
    "src/base/result.h": "#pragma once\n#include <string>\n",
    "src/wire/frame.h": "#pragma once\n#include <stdint.h>\n",
    "src/model/batch.h": '#pragma once\n#include "base/result.h"\n#include "wire/frame.h"\n',
    "src/probe/probe.cpp": '#include <attune/probe.h>\n#include "wire/frame.h"\n',
    "src/store/log.h": '#pragma once\n#include "model/batch.h"\n#include "store/log.h"\n',
    "src/session/run.h": '#pragma once\n#include "store/log.h"\n',
    "src/cli/main.cpp": '#include "session/run.h"\n#include "store/log.h"\n',
}


class CheckIncludes(unittest.TestCase):
    def check(self, extra):
        """Runs the script on the good tree with `extra` files; returns (exit code, lines of violations)."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {**GOOD, **extra}.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            run = subprocess.run([sys.executable, SCRIPT, folder], capture_output=True, text=True, check=False)
        return run.returncode, run.stdout.splitlines()

    def expect_one(self, name, text, line, words):
        code, violations = self.check({name: text})
        self.assertEqual(code, 1, violations)
        self.assertEqual(len(violations), 1, violations)
        self.assertTrue(violations[0].startswith(f"{name}:{line}: "), violations)
        self.assertIn(words, violations[0])

    def test_good_tree_passes(self):
        self.assertEqual(self.check({}), (0, []))

    def test_wire_includes_nothing_of_ours(self):
        self.expect_one("src/wire/a.cpp", '#include "base/result.h"\n', 1, "nothing of ours")

    def test_base_includes_wire_alone(self):
        self.expect_one("src/base/a.h", '#pragma once\n#include "model/batch.h"\n', 2, "may include wire")

    def test_missing_file_of_a_module_still_counts(self):
        self.expect_one("src/base/a.cpp", '#include "store/gone.h"\n', 1, "may include wire")

    def test_model_may_not_include_store(self):
        self.expect_one("src/model/a.h", '#pragma once\n#include "store/log.h"\n', 2, "base, wire")

    def test_probe_may_not_include_base(self):
        self.expect_one("src/probe/a.cpp", '#include "base/result.h"\n', 1, "wire")

    def test_producers_never_include_each_other(self):
        extra = {"src/track/track.h": "#pragma once\n", "src/sensor/a.cpp": '\n#include "track/track.h"\n'}
        code, violations = self.check(extra)
        self.assertEqual((code, len(violations)), (1, 1), violations)
        self.assertIn("src/sensor/a.cpp:2: ", violations[0])

    def test_readers_never_include_each_other(self):
        self.expect_one("src/live/a.cpp", '#include "store/log.h"\n', 1, "live may include")

    def test_session_may_not_include_cli(self):
        code, violations = self.check({"src/cli/args.h": "#pragma once\n", "src/session/a.cpp": '#include "cli/args.h"\n'})
        self.assertEqual(code, 1)
        self.assertTrue(any("nothing includes cli" in line for line in violations), violations)

    def test_examples_may_not_include_cli(self):
        self.expect_one("examples/a.cpp", '#include "cli/args.h"\n', 1, "nothing includes cli")

    def test_wire_uses_libc_alone(self):
        self.expect_one("src/wire/a.h", "#pragma once\n#include <vector>\n", 2, "libc alone")

    def test_public_headers_use_libc_alone(self):
        self.expect_one("include/attune/a.h", "#pragma once\n#include <string>\n", 2, "libc alone")

    def test_relative_include(self):
        self.expect_one("src/store/a.cpp", '#include "../model/batch.h"\n', 1, "relative path")

    def expect_circle(self, files, *circles):
        """@param circles the lines about circles, in the order of their printing"""
        code, violations = self.check(files)
        self.assertEqual((code, violations), (1 if circles else 0, list(circles)))

    def test_circle_of_files(self):
        files = {
            "src/store/a.h": '#pragma once\n#include "store/b.h"\n',
            "src/store/b.h": "#pragma once\n",
            "src/store/b.cpp": '#include "store/b.h"\n\n#include "store/c.h"\n',
            "src/store/c.h": '#pragma once\n\n#include "store/a.h"\n',
        }
        # In a module's root, files count for themselves as folders do.
        circle = "src/store/a -> src/store/b -> src/store/c -> src/store/a"
        self.expect_circle(
            files,
            f"src/store/a.h:2: circle of files: {circle}",
            f"src/store/a.h:2: circle of folders: {circle}",
        )

    def test_shortest_circle_of_several_is_printed(self):
        files = {
            "src/store/x/a.h": '#pragma once\n#include "store/x/b.h"\n#include "store/x/c.h"\n',
            "src/store/x/b.h": '#pragma once\n#include "store/x/c.h"\n',
            "src/store/x/c.h": '#pragma once\n#include "store/x/a.h"\n',
        }
        circle = "src/store/x/a -> src/store/x/c -> src/store/x/a"
        self.expect_circle(files, f"src/store/x/a.h:3: circle of files: {circle}")

    def test_circle_of_folders_without_one_of_files(self):
        files = {
            "src/analysis/x/a.h": '#pragma once\n#include "analysis/y/b.h"\n',
            "src/analysis/x/c.h": "#pragma once\n",
            "src/analysis/y/b.h": "#pragma once\n",
            "src/analysis/y/d.cpp": '#include "analysis/x/c.h"\n',
        }
        circle = "src/analysis/x -> src/analysis/y -> src/analysis/x"
        self.expect_circle(files, f"src/analysis/x/a.h:2: circle of folders: {circle}")

    def test_each_circle_is_found(self):
        files = {
            f"src/store/{folder}/{name}.h": f'#pragma once\n#include "store/{folder}/{other}.h"\n'
            for folder in ("x", "y")
            for name, other in (("a", "b"), ("b", "a"))
        }
        code, violations = self.check(files)
        self.assertEqual((code, len(violations)), (1, 2), violations)

    def test_diamond_and_own_header_are_no_circles(self):
        files = {
            "src/store/x/a.h": '#pragma once\n#include "store/x/b.h"\n#include "store/x/c.h"\n',
            "src/store/x/a.cpp": '#include "store/x/a.h"\n#include "store/x/d.h"\n',
            "src/store/x/b.h": '#pragma once\n#include "store/x/d.h"\n',
            "src/store/x/c.h": '#pragma once\n#include "store/x/d.h"\n',
            "src/store/x/d.h": '#pragma once\n#include "store/root.h"\n',
            "src/store/root.h": "#pragma once\n",
            "src/store/user.cpp": '#include "store/x/a.h"\n',
        }
        self.expect_circle(files)

    def test_unknown_module(self):
        self.expect_one("src/other/a.cpp", "int x;\n", 1, "not in the include table")

    def test_header_without_pragma_once(self):
        self.expect_one("src/base/a.h", "int x;\n", 1, "#pragma once")

    def test_long_file(self):
        self.expect_one("src/base/a.cpp", "\n" * 801, 801, "two files")

    def test_longest_allowed_file(self):
        self.assertEqual(self.check({"src/base/a.cpp": "\n" * 800}), (0, []))

    def test_vmlinux(self):
        self.expect_one("src/kernel/a.bpf.c", '#include "vmlinux.h"\n', 1, "one kernel")

    def test_locks_that_clang_does_not_check(self):
        for name in ("mutex mutex_", "shared_mutex mutex_", "lock_guard lock(m)", "unique_lock lock(m)", "scoped_lock lock(m)",
                     "condition_variable news_", "condition_variable_any news_"):
            self.expect_one("src/store/a.cpp", f"\nstd::{name};\n", 2, "base/thread_safety.h")

    def test_locks_of_the_standard_library_elsewhere(self):
        text = "#pragma once\nstd::mutex mutex_;\n"
        extra = {"src/base/thread_safety.h": text, "src/probe/a.h": text, "src/wire/a.cpp": text, "tests/a.h": text,
                 "src/store/a.cpp": "// like std::mutex\nSay(\"std::scoped_lock does it\");\nstd::call_once(flag, [] {});\n"}
        self.assertEqual(self.check(extra), (0, []))

    def test_unfinished_work(self):
        self.expect_one("src/base/a.cpp", "// TODO later\n", 1, "unfinished")

    def test_machine_paths(self):
        for path in ("/home/ann/src", "/work/attune", "/Users/ann"):
            self.expect_one("docs/a.md", f"see {path}\n", 1, "one machine")

    def test_paths_of_every_machine(self):
        text = "/usr/lib /proc/1/root ~/attune $HOME/work/x ./work/x https://a.example/work/x\n"
        self.assertEqual(self.check({"docs/a.md": text}), (0, []))


if __name__ == "__main__":
    unittest.main()
