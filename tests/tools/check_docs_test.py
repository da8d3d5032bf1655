#!/usr/bin/env python3
"""Tests of tools/check_docs.py on a small tree, with stand-ins for attune and ./dev: a good tree passes, each violation is found at its line."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check_docs.py"

ATTUNE = """#!/bin/sh
case "$*" in
  "completion bash") cat <<'TEXT'
_attune_commands='run ctl list query record'
    "run -l"|"run --level") echo "words off trace" ;;
    "list "0) echo "words sensors tables" ;;
TEXT
    ;;
  "run --help"|"record --help") printf 'run\\n\\nUsage: attune run [OPTIONS] [--] PROGRAM [ARGUMENTS]\\n\\nOptions\\n  -h, --help              Print\\n  -s, --sensors SENSORS   Some\\n  -l, --level LEVEL       How much\\n      --quiet             Nothing\\n' ;;
  "ctl --help") printf 'steer\\n\\nCommands:\\nstatus\\nlabel TEXT\\n\\nUsage: attune ctl\\n' ;;
  "list --help"|"query --help") printf 'x\\n\\nOptions\\n  -h, --help              Print\\n' ;;
  "list sensors --names") printf 'cpu\\nvmstat\\n' ;;
  record*) ;;
  query*nowhere*) echo 'attune: query: no such table: nowhere' >&2; exit 2 ;;
  query*) ;;
  *) exit 2 ;;
esac
"""
DEV = "#!/bin/sh\nprintf 'Usage: ./dev COMMAND\\n\\n  build [--preset P]  build\\n  test [--full]       all\\n'\n"

GOOD = {
    "README.md": "# x\n[docs](docs/README.md)\n",
    "CHANGELOG.md": "# Changelog\n\n## Unreleased\n- `attune run`.\n\n## 0.1\n- `attune gone`, `--gone`, `src/gone.h`.\n",
    "docs/README.md": "# Documentation\n[a](architecture.md), [b](use.md)\n",
    "docs/architecture.md": "# Architecture\n[index](README.md), [the end](use.md#the-end), [below](#x--y)\n\n## `x` & y\nsee `src/a.h`, `src/*.h`, `src/{a,b}.h`, `src/NAME/x.h`\n",
    "docs/use.md": """# Use
`attune run -s cpu,vmstat:sum@10ms --level trace -- PROGRAM --of-its-own` and `--quiet`, `attune SUBCOMMAND --help`, `ctl label "x"`.

```sh
attune run ./program --of-its-own   # a comment with --other
./dev test --full && ./dev build --preset dev
attune query job.attune "select *
    from info"
```

    $ attune rnu
    attune: there is no subcommand 'rnu'

## The end
""",
    "src/a.h": "",
    "src/b.h": "",
}


class CheckDocs(unittest.TestCase):
    def check(self, **changes):
        """(exit code, output) for the good tree, with what `changes` adds at the end of docs/use.md, or other files."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            files = {**GOOD, **changes.get("files", {})}
            files["docs/use.md"] += changes.get("use", "")
            for name, text in {**files, "dev": DEV, "attune": ATTUNE}.items():
                path = root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            for program in ("dev", "attune"):
                (root / program).chmod(0o755)
            result = subprocess.run([sys.executable, SCRIPT, root / "attune", root], capture_output=True, text=True, check=False)
            return result.returncode, result.stdout + result.stderr

    def assert_found(self, use, what):
        """The last line of `use`, added to docs/use.md, is the only violation."""
        code, output = self.check(use=use)
        line = (GOOD["docs/use.md"] + use).rstrip("\n").count("\n") + 1
        violations = re.findall(r"^\S+:\d+: .*", output, re.MULTILINE)
        self.assertEqual((code, len(violations)), (1, 1), output)
        self.assertRegex(violations[0], rf"^docs/use\.md:{line}: .*{re.escape(what)}.*: \w+")

    def test_good_tree_passes(self):
        self.assertEqual(self.check(), (0, "docs: 5 pages, 0 violations\n"))

    def test_links(self):
        self.assert_found("\n[x](gone.md)\n", "gone.md")
        self.assert_found("\n[x](architecture.md#gone)\n", "#gone")
        self.assert_found("\n[x](#gone)\n", "#gone")
        self.assert_found("\n![x](images/gone.png)\n", "images/gone.png")

    def test_index(self):
        code, output = self.check(files={"docs/lonely.md": "# Lonely\n"})
        self.assertEqual(code, 1)
        self.assertIn("docs/lonely.md:1: docs/README.md does not list", output)
        for page in ("README.md", "docs/architecture.md"):
            self.assertIn(f"{page}:1: no link to docs/README.md", self.check(files={page: "# x\n"})[1])

    def test_paths(self):
        self.assert_found("\n`src/gone.h`\n", "src/gone.h")
        self.assert_found("\n`src/{a,gone}.h`\n", "src/gone.h")
        self.assert_found("\nrun `tools/gone.py FILE`\n", "tools/gone.py")

    def test_subcommands(self):
        self.assert_found("\n`attune gone`\n", "attune gone")
        self.assert_found("\n```sh\nsudo attune gone\n", "attune gone")
        self.assert_found("\n    build/release/bin/attune gone\n", "attune gone")
        self.assert_found("\n`./dev gone`\n", "./dev gone")
        self.assert_found("\n`ctl gone`\n", "no command gone")
        self.assert_found("\n`attune ctl gone`\n", "no command gone")

    def test_options(self):
        self.assert_found("\n`attune run --gone`\n", "--gone")
        self.assert_found("\n`attune run -x`\n", "-x")
        self.assert_found("\n`attune run --level trace --gone=1 -- PROGRAM`\n", "--gone")
        self.assert_found("\n    attune query FILE --quiet\n", "attune query has no option --quiet")
        self.assert_found("\n`./dev build --full`\n", "--full")
        self.assert_found("\n`--gone`\n", "--gone")

    def test_words(self):
        self.assert_found("\n`attune run --level gone`\n", "gone is none of off, trace")
        self.assert_found("\n`attune list sensors|gone`\n", "gone is none of sensors, tables")

    def test_sensors(self):
        self.assert_found("\n`attune run -s cpu,gone:sum@1s`\n", "sensor gone")

    def test_queries(self):
        self.assert_found('\n`attune query FILE "select * from nowhere"`\n', "no such table: nowhere")
        self.assert_found("\n`select * from nowhere`\n", "no such table: nowhere")
        self.assert_found("\n`select * from samples where sensor = 'gone'`\n", "sensor gone")

    def test_options_of_a_console_file(self):
        rows = """{.name = "level", .type = OptionType::kLevel, .places = kInRun | kInFiles},
                  {.name = "sink", .type = OptionType::kSink, .many = true, .places = kInAll | kInConsoleFile},
                  {.name = "quiet", .places = kInAll | kInDefaults}, {.name = "awake", .places = kInFiles}"""
        good = "# Console\n| key | value |\n|---|---|\n| `level` | a text, as on the command line |\n| `sink` | a text, or a list of them |\n| `awake` | true or false |\n"
        index = GOOD["docs/README.md"] + "[c](console.md)\n"
        for text, what in ((good, "0 violations"), (good.replace("`awake`", "`level`"), "docs/console.md:6: no option level"),
                           (good.replace("| `awake` | true or false |\n", ""), "docs/console.md:1: the table of options lacks awake")):
            self.assertIn(what, self.check(files={"docs/README.md": index, "docs/console.md": text, "src/session/core/run_options.h": rows})[1])

    def test_only_the_newest_changes_count(self):
        self.assertIn("CHANGELOG.md:4: there is no attune gone", self.check(files={"CHANGELOG.md": "# Changelog\n\n## Unreleased\n- `attune gone`\n"})[1])

    def test_without_a_binary(self):
        result = subprocess.run([sys.executable, SCRIPT, "/nonexistent/attune"], capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("/nonexistent/attune", result.stderr)


if __name__ == "__main__":
    unittest.main()
