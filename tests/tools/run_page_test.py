#!/usr/bin/env python3
"""Tests of tools/run_page.py: files, changes and commands of a page, what it prints into it, and what fails."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "run_page.py"
PAGE = """\
# A page
```cpp
// a.cpp: a file
int a;
```
```sh
cat a.cpp   # shows it
```
```text
old
```
```diff
--- a.cpp
+++ a.cpp
@@ -1,2 +1,2 @@
 // a.cpp: a file
-int a;
+int b;
```
```sh
grep -c \\
  'int b' a.cpp
```
"""


class RunPage(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.page, self.folder = pathlib.Path(folder.name, "page.md"), pathlib.Path(folder.name, "work")

    def play(self, text, *options):
        self.page.write_text(text, encoding="utf-8")
        return subprocess.run([sys.executable, SCRIPT, self.page, self.folder, *options], capture_output=True, text=True, check=False)

    def test_files_changes_and_commands_in_their_order(self):
        result = self.play(PAGE)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual((self.folder / "a.cpp").read_text(), "// a.cpp: a file\nint b;\n")
        self.assertIn("int a;", result.stdout)
        self.assertEqual(self.page.read_text(), PAGE)

    def test_what_is_printed_goes_into_the_page(self):
        self.assertEqual(self.play(PAGE, "--write").returncode, 0)
        self.assertEqual(self.page.read_text(), PAGE.replace("old\n", "// a.cpp: a file\nint a;\n"))

    def test_a_command_that_fails(self):
        result = self.play(PAGE.replace("cat a.cpp", "cat b.cpp"), "--write")
        self.assertEqual(result.returncode, 1)
        self.assertIn("cat b.cpp: exit code 1", result.stderr)
        self.assertIn("old", self.page.read_text())

    def test_parts(self):
        page = PAGE.replace("```diff", "## Mend it\n```diff")
        self.assertEqual(self.play(page, "--until", "Mend it").returncode, 0)
        self.assertIn("int a;", (self.folder / "a.cpp").read_text())
        self.assertEqual(self.play(page, "--from", "Mend it").returncode, 0)
        self.assertIn("int b;", (self.folder / "a.cpp").read_text())
        self.assertEqual(self.play(page, "--from", "Break it").returncode, 1)

    def test_a_folder_that_is_not_empty(self):
        self.folder.mkdir()
        (self.folder / "mine").touch()
        self.assertEqual(self.play(PAGE).returncode, 2)


if __name__ == "__main__":
    unittest.main()
