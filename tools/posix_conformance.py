#!/usr/bin/env python3
"""Runs the threads part of the Open POSIX Test Suite (of the Linux Test Project) with attune and without, and compares.

Usage: tools/posix_conformance.py [OPTIONS] SUITE
  SUITE           the folder testcases/open_posix_testsuite of a checkout of
                  https://github.com/linux-test-project/ltp
  --attune FILE   default: build/release/bin/attune
  --level LEVEL   default: profile
  --jobs N        tests at a time (default: 4; most of them sleep)
  --only TEXT     only tests whose path has this text
  --timeout S     seconds a test may take (default: 60)

A test whose verdict differs is run again, alone, up to three times each way: some of them depend on the machine's
mood. The exit code is 1 if a difference stays, 0 if none does.

Example: git clone --depth 1 https://github.com/linux-test-project/ltp /tmp/ltp
         tools/posix_conformance.py /tmp/ltp/testcases/open_posix_testsuite
"""

import argparse
import collections
import concurrent.futures
import glob
import os
import subprocess
import sys
import tempfile

VERDICTS = {0: "pass", 1: "fail", 2: "unresolved", 4: "unsupported", 5: "untested"}


def find_tests(suite, only):
    interfaces = os.path.join(suite, "conformance", "interfaces")
    for interface in sorted(os.listdir(interfaces)):
        if not interface.startswith(("pthread_", "sem_")):
            continue
        folder = os.path.join(interfaces, interface)
        for name in sorted(os.listdir(folder)):
            if name.endswith(".c") and name[0].isdigit() and only in f"{interface}/{name}":
                yield os.path.join(folder, name)


def build(suite, source, folder):
    """The program's path, or None where it does not compile here."""
    program = os.path.join(folder, os.path.relpath(source, suite).replace("/", "_")[:-2])
    command = ["cc", "-std=gnu99", "-O1", "-w", "-D_GNU_SOURCE", "-I", os.path.join(suite, "include"),
               "-I", os.path.dirname(source), source, *glob.glob(os.path.join(suite, "lib", "*.c")), "-o", program,
               "-lpthread", "-lrt", "-lm"]
    return program if subprocess.run(command, capture_output=True).returncode == 0 else None


def verdict(program, timeout, prefix=()):
    with tempfile.TemporaryDirectory() as folder:
        try:
            code = subprocess.run([*prefix, program], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                                  timeout=timeout).returncode
        except subprocess.TimeoutExpired:
            return "timeout"
    return VERDICTS.get(code, f"exit {code}")


def run_all(programs, jobs, timeout):
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return dict(zip(programs, pool.map(lambda program: verdict(program, timeout), programs)))


def under_attune(options, programs, folder):
    """The same in one session: this script again, as the observed program."""
    listing = os.path.join(folder, "programs")
    verdicts = os.path.join(folder, "verdicts")
    with open(listing, "w", encoding="utf-8") as file:
        file.write("\n".join(programs))
    subprocess.run([options.attune, "run", "-q", "-f", "-s", "none", "-o", os.path.join(folder, "suite.attune"), "--level", options.level,
                    "--", sys.executable, os.path.abspath(__file__), "--inside", listing, verdicts, "--jobs", str(options.jobs),
                    "--timeout", str(options.timeout)], check=True)
    with open(verdicts, encoding="utf-8") as file:
        return dict(line.rstrip("\n").split("\t") for line in file)


def inside(listing, verdicts, jobs, timeout):
    with open(listing, encoding="utf-8") as file:
        programs = file.read().split("\n")
    with open(verdicts, "w", encoding="utf-8") as file:
        for program, result in run_all(programs, jobs, timeout).items():
            file.write(f"{program}\t{result}\n")


def stays(options, program, folder):
    """Whether the verdicts with and without attune have nothing in common, run alone."""
    alone = set()
    observed = set()
    for _ in range(3):
        alone.add(verdict(program, options.timeout))
        observed.add(under_attune(options, [program], folder)[program])
        if alone & observed:
            return False
    return True


def main():
    parser = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
    parser.add_argument("suite", nargs="?")
    parser.add_argument("--attune", default="build/release/bin/attune")
    parser.add_argument("--level", default="profile")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--only", default="")
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("--inside", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        inside(*options.inside, options.jobs, options.timeout)
        return 0
    if options.suite is None or not os.path.isdir(os.path.join(options.suite, "conformance", "interfaces")):
        parser.error("give the folder testcases/open_posix_testsuite of a checkout of the Linux Test Project")
    options.attune = os.path.abspath(options.attune)
    options.suite = os.path.abspath(options.suite)
    with tempfile.TemporaryDirectory() as folder:
        sources = list(find_tests(options.suite, options.only))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            built = list(pool.map(lambda source: build(options.suite, source, folder), sources))
        programs = [program for program in built if program]
        if not programs:
            sys.exit("posix_conformance: none of the tests compiles here")
        print(f"{len(programs)} tests of {len(sources)} compile here")
        alone = run_all(programs, options.jobs, options.timeout)
        observed = under_attune(options, programs, folder)
        for title, results in (("without", alone), (f"level {options.level}", observed)):
            counts = collections.Counter(results.values())
            print(f"{title}: " + ", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
        differ = [program for program in programs if alone[program] != observed[program]]
        remaining = [program for program in differ if stays(options, program, folder)]
        print(f"{len(differ)} verdicts differ, {len(remaining)} also when run again")
        for program in remaining:
            print(f"  {os.path.basename(program)}: {alone[program]} without, {observed[program]} with")
        return 1 if remaining else 0


sys.exit(main())
