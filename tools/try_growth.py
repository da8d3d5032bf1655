#!/usr/bin/env python3
"""Shows by examples how many files a new capability takes: docs/examples/growth/*.patch (docs/growth.md).

    try_growth.py [--build FOLDER] [NAME...]

Checks that each patch applies to this tree and touches no more files written by hand than its kind may (tests, documentation and
generated files do not count). --build: also builds attune with each of them, in FOLDER, and does what its header says. FOLDER is
kept, so that the next time little is compiled. Prints a line for each; exits 1 if one is not as it should be.

A header has `Kind:` (a key of LIMITS), `Build:` (targets; attune if it is left out) and `Check:`, from where lines that begin with
`$ ` are commands. The lines behind a command must be among what it prints, in this order; a star stands for anything; one with none
must succeed. Commands run in an empty folder with the programs of the build on the path, TREE and BUILD being the folders of source
and build.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parent.parent
EXAMPLES = TOP / "docs/examples/growth"
# The most files that each may touch.
LIMITS = {"table": 2, "analysis": 5, "subcommand": 2, "option": 1, "component": 3}
GENERATED = {"tools/attune_reader.py", "web/src/wire/tables.ts"}  # by tools/generate_tables.py
NOT_COUNTED = ("tests/", "docs/", "web/test/", "CHANGELOG.md")
GIT = ["git", "-c", "safe.directory=*"]
CHECK_SECONDS = 600


class Failure(Exception):
    pass


class Example:
    def __init__(self, path):
        self.path, self.name = path, path.stem
        header, found, diff = path.read_text(encoding="utf-8").partition("\ndiff --git ")
        if not found:
            raise Failure("has no diff")
        fields = dict(re.findall(r"^(Subject|Kind|Build): *(.+)$", header, re.MULTILINE))
        self.kind = fields.get("Kind", "")
        self.targets = fields.get("Build", "attune").split()
        if self.kind not in LIMITS:
            raise Failure(f"its kind is '{self.kind}': it is one of {', '.join(LIMITS)}")
        self.commands = []  # and the lines that each prints
        for line in header.partition("\nCheck:\n")[2].splitlines():
            if line.startswith("$ "):
                self.commands.append((line[2:], []))
            elif line and self.commands:
                self.commands[-1][1].append(line)
        if not self.commands:
            raise Failure("Check: has no command")
        names = set(re.findall(r"^(?:---|\+\+\+) [ab]/(.+)$", diff, re.MULTILINE))
        self.files = sorted(name for name in names if name not in GENERATED and not name.startswith(NOT_COUNTED))

    def check_count(self):
        if not self.files:
            raise Failure("touches no file of the source")
        if len(self.files) > LIMITS[self.kind]:
            raise Failure(f"touches {len(self.files)} files, at most {LIMITS[self.kind]}: {', '.join(self.files)}")

    def apply(self, tree, *options):
        run([*GIT, "apply", "--whitespace=error-all", *options, str(self.path)], tree, "does not apply: make it anew")


def run(command, folder, what):
    # A copy within a repository is none itself: git would pass over what lies in it.
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    result = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if result.returncode != 0:
        raise Failure(f"{what}\n" + "\n".join(result.stdout.splitlines()[-30:]))


def missing_line(printed, expected):
    """The first of the expected lines that is not there, behind those before it; None: all are."""
    lines = iter(printed.splitlines())
    for pattern in expected:
        wanted = re.compile(".*".join(map(re.escape, pattern.strip().split("*"))))
        if not any(wanted.fullmatch(line.strip()) for line in lines):
            return pattern
    return None


def same(a, b):
    return b.is_file() and not b.is_symlink() and a.stat().st_size == b.stat().st_size and a.read_bytes() == b.read_bytes()


def copy_tree(to):
    """Brings the copy to what is here. What is the same keeps its time, so that it is not compiled again."""
    listing = subprocess.run([*GIT, "ls-files", "-co", "--exclude-standard", "-z"], cwd=TOP, check=True, capture_output=True, text=True)
    names = {name for name in listing.stdout.split("\0") if name and (TOP / name).is_file()}
    for path in list(to.rglob("*")):
        if not path.is_dir() and "node_modules" not in path.parts and str(path.relative_to(to)) not in names:
            path.unlink()
    for name in names:
        if not same(TOP / name, to / name):
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(TOP / name, to / name)


def build(tree, folder, targets):
    os.environ.update(CCACHE_BASEDIR=str(tree), CCACHE_NOHASHDIR="1")
    run(["cmake", "--preset", "release", "-B", str(folder), "-DATTUNE_BENCH=OFF"], tree, "cannot be configured")
    run(["cmake", "--build", str(folder), "-j", str(os.cpu_count()), "--target", *targets], tree, "does not compile")


def check_commands(example, tree, folder):
    with tempfile.TemporaryDirectory(prefix="attune-growth-") as work:
        environment = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}", "TREE": str(tree), "BUILD": str(folder), "HOME": work,
                       "ATTUNE_BIN": f"{folder}/bin/attune", "ATTUNE_SOURCE": str(tree), "ATTUNE_BUILD": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
        for command, expected in example.commands:
            result = subprocess.run(["bash", "-c", command], cwd=work, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, text=True, errors="replace", check=False, timeout=CHECK_SECONDS)
            missing = missing_line(result.stdout, expected)
            if missing is not None or (not expected and result.returncode != 0):
                raise Failure(f"$ {command}\nexpected: {missing or 'success'}\nprinted:\n{result.stdout[-3000:]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", metavar="FOLDER", type=lambda name: pathlib.Path(name).resolve())
    parser.add_argument("names", metavar="NAME", nargs="*")
    arguments = parser.parse_args()
    paths = sorted(EXAMPLES.glob("*.patch"))
    unknown = set(arguments.names) - {path.stem for path in paths}
    if unknown or not paths:
        print(f"there is no example {', '.join(sorted(unknown))}; there are {', '.join(path.stem for path in paths)}", file=sys.stderr)
        return 2
    failures, kinds = [], set()
    print(f"{'example':<12} {'kind':<12} {'files':>5} {'limit':>5}  {'result':<8} {'seconds':>7}")
    for path in paths:
        if arguments.names and path.stem not in arguments.names:
            continue
        begin, example, result = time.monotonic(), None, "ok"
        try:
            example = Example(path)
            kinds.add(example.kind)
            example.check_count()
            example.apply(TOP, "--check")
            if arguments.build:
                tree, folder = arguments.build / "tree", arguments.build / "build"
                tree.mkdir(parents=True, exist_ok=True)
                copy_tree(tree)
                example.apply(tree)
                build(tree, folder, example.targets)
                check_commands(example, tree, folder)
        except (Failure, subprocess.TimeoutExpired) as failure:
            result = "FAILED"
            failures.append(f"{path.relative_to(TOP)}: {failure}")
        kind, files = (example.kind, len(example.files)) if example else ("?", 0)
        print(f"{path.stem:<12} {kind:<12} {files:>5} {LIMITS.get(kind, 0):>5}  {result:<8} {time.monotonic() - begin:>7.1f}", flush=True)
    if not arguments.names and kinds != set(LIMITS):
        failures.append(f"there is no example of: {', '.join(sorted(set(LIMITS) - kinds))}")
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
