"""Every option and subcommand that attune's messages name is there, and belongs to the subcommand that it is named with."""

import os
import pathlib
import re
import subprocess
import unittest

ATTUNE = os.environ["ATTUNE_BIN"]
SOURCE = pathlib.Path(os.environ["ATTUNE_SOURCE"]) / "src"

# What follows the name in sentences about attune.
PROSE = set("and can cannot could has itself keeps may missed on printed reads recording runs starts supports takes there was watches works".split())
# Options of other programs, P2G's among them, by the words before or behind which they stand.
OTHERS = re.compile(r"(?<!attune )\b(mpirun|numactl)( (?!or\b)[\w-]+)*|--countname|gdb --args|--cap-add|--replay( FILE)?")
SUBCOMMAND = re.compile(r"(?<![\w./-])attune ([a-z][a-z0-9-]*)([^;,|`()&\n]*)")
OPTION = re.compile(r"(?<![\w-])(--?[A-Za-z][\w-]*)")


def flags_of(subcommand):
    text = subprocess.run([ATTUNE, subcommand, "--help"], capture_output=True, check=True).stdout.decode()
    usage = text[text.index("\nOptions\n"):].split("\nEXAMPLES\n")[0]
    return {flag for line in re.findall(r"^(?:  (?=-)|      (?=--))(.*)$", usage, re.M) for flag in re.findall(r"(?<!\S)(--?[\w-]+)", line.split("  ")[0])}


def literals(path):
    """The texts of a source file, each as a program has it: neighbours joined, escapes undone, comments left out."""
    text = path.read_text(encoding="utf-8")
    token = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\((.*?)\)\1"|"((?:[^"\\\n]|\\.)*)"|\'(?:[^\'\\]|\\.)\'', re.S)
    joined, end = None, 0
    for match in token.finditer(text):
        literal = match.group(2) if match.group(2) is not None else match.group(3)
        if literal is None:
            continue
        literal = literal.replace('\\"', '"').replace("\\n", "\n")
        between = re.sub(r"//[^\n]*", "", text[end:match.start()])
        if joined is not None and not between.strip():
            joined += literal
        else:
            if joined is not None:
                yield joined
            joined = literal
        end = match.end()
    if joined is not None:
        yield joined


class Hints(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        names = re.findall(r"^  ([a-z0-9-]+) ", subprocess.run([ATTUNE, "--help"], capture_output=True, check=True).stdout.decode(), re.M)
        cls.flags = {name: flags_of(name) for name in [*names, "plugin-host", "console-run", "man"]}
        cls.texts = [(path.relative_to(SOURCE), text) for path in sorted(SOURCE.rglob("*")) if path.suffix in (".cpp", ".h") and path.name != "completion_scripts.h" for text in literals(path)]

    def test_it_reads_what_there_is(self):
        self.assertIn("--interval", self.flags["stat"])
        self.assertIn("-p", self.flags["run"])
        self.assertGreater(len(self.texts), 1000)

    def assert_none(self, wrong):
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))

    def test_subcommands(self):
        wrong = []
        for path, text in self.texts:
            for word, rest in SUBCOMMAND.findall(text):
                if word in PROSE:
                    continue
                if word not in self.flags:
                    wrong.append(f"{path}: there is no subcommand {word} (a sentence: add it to PROSE): {text!r}")
                    continue
                arguments = rest.split(" -- ")[0]
                wrong += [f"{path}: attune {word} has no {option}: {text!r}" for option in OPTION.findall(arguments) if option not in self.flags[word]]
        self.assert_none(wrong)

    def test_options(self):
        every = set().union(*self.flags.values(), {"--help", "--version"})
        # An option alone is a piece of code: what other tools call so, or those of MPI's launchers.
        self.assert_none([f"{path}: no subcommand has {option}: {text!r}" for path, text in self.texts for option in OPTION.findall(OTHERS.sub("", text))
                          if option.startswith("--") and option not in every and option != text and path.name != "completion.cpp"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
