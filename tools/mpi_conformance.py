#!/usr/bin/env python3
"""Runs MPICH's own test suite with attune and without, with Open MPI or MPICH, and compares the verdicts.

Usage: tools/mpi_conformance.py [OPTIONS] SUITE
  SUITE            the folder test/mpi of a checkout of https://github.com/pmodels/mpich; v4.0.2 is the suite for
                   what Debian 12 has
  --mpi NAME       openmpi or mpich (default: openmpi)
  --attune FILE    default: build/release/bin/attune
  --level LEVEL    default: profile
  --sections LIST  with commas (default: all: attr,coll,comm,datatype,...,f77,f90,f08,cxx)
  --only TEXT      only tests whose section/program has this text
  --ranks N        a test that asks for more ranks gets so many (default: 4)
  --timeout S      seconds a test may take (default: 60)
  --build FOLDER   where the programs are built, and kept for the next time (default: a temporary folder)

The programs are compiled with mpicc.NAME, mpicxx.NAME and mpifort.NAME, without the suite's own configure. Those that
do not compile (what the library does not have) are left out, and counted. A test whose verdict differs is run again, up
to three times each way: some of them depend on the machine's mood. The exit code is 1 if a difference stays, 0 if
none does.

Example: git clone --depth 1 --branch v4.0.2 https://github.com/pmodels/mpich /tmp/mpich
         tools/mpi_conformance.py /tmp/mpich/test/mpi --mpi openmpi --sections pt2pt,coll
"""

import argparse
import collections
import concurrent.futures
import ctypes
import glob
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SECTIONS = ["attr", "basic", "coll", "comm", "datatype", "errhan", "group", "info", "init", "io", "pt2pt", "rma", "spawn", "threads",
            "topo", "mpi_t", "errors", "f77", "f90", "f08", "cxx"]
LANGUAGES = {".c": "mpicc", ".f": "mpifort", ".f90": "mpifort", ".F90": "mpifort", ".cxx": "mpicxx"}
# What configure would have found.
HEADER = """#define HAVE_STDARG_H 1
#define HAVE_SYS_TIME_H 1
#define HAVE_SYS_RESOURCE_H 1
#define HAVE_STRING_H 1
#define HAVE_UNISTD_H 1
#define HAVE_STDLIB_H 1
#define HAVE_STDINT_H 1
#define HAVE_PTHREAD_H 1
#define HAVE_STRDUP 1
#define HAVE_USLEEP 1
#define HAVE_GETRUSAGE 1
#define HAVE_LONG_DOUBLE 1
#define HAVE_LONG_LONG 1
#define HAVE_MPI_SPAWN 1
#define HAVE_MPI_WIN_CREATE 1
#define HAVE_MPI_IO 1
#define HAVE_IOSTREAM 1
#define HAVE_NAMESPACE_STD 1
#define HAVE_NAMESPACES 1
#define HAVE_H_ADDR_LIST 1
#define HAVE_MEMSET 1
#define POINTERINT_t long long
#define THREAD_PACKAGE_NAME THREAD_PACKAGE_POSIX
"""
FORTRAN_WORDS = {"@F77_MPI_ADDRESS@": "integer*8", "@F77_MPI_OFFSET@": "integer*8"}
OPEN_MPI = ["--allow-run-as-root", "--oversubscribe"]
MOST_MEMORY = 2.0  # GiB that a test may say it needs


def run_quietly(command, folder):
    return subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True).returncode == 0


def prepare(options):
    """A copy of the suite with the files that its configure would make, and the objects that all programs share."""
    stamp = os.path.join(options.build, "prepared")
    if os.path.exists(stamp):
        return
    shutil.copytree(options.suite, options.build, dirs_exist_ok=True)
    for name in glob.glob(os.path.join(options.build, "**", "*.h.in"), recursive=True):
        with open(name, encoding="utf-8") as file:
            text = file.read()
        for word, instead in FORTRAN_WORDS.items():
            text = text.replace(word, instead)
        with open(name[:-3], "w", encoding="utf-8") as file:
            file.write(text)
    # The suite makes its tests of Fortran 90 from those of Fortran 77.
    for older in glob.glob(os.path.join(options.build, "f77", "*", "")):
        newer = older.replace("/f77/", "/f90/")
        os.makedirs(newer, exist_ok=True)
        run_quietly(["perl", "maint/f77tof90", older, newer, "Makefile.am", "Makefile.ap"], options.build)
    for name in ("include/mpitestconf.h", "dtpools/dtpoolsconf.h"):
        with open(os.path.join(options.build, name), "w", encoding="utf-8") as file:
            file.write(HEADER)
    with open(os.path.join(options.build, "include", "mtest_mpix.h"), "w", encoding="utf-8"):
        pass
    util = os.path.join(options.build, "util")
    for source in ("mtest.c", "mtest_common.c", "mtest_single.c", "mtest_thread.c", "dtypes.c", "mtest_cxx.cxx", "mtest_f77.f", "mtest_f90.f90",
                   "mtest_f08.f90"):
        run_quietly([*compiler(options, source), *flags(options, source), "-c", source, "-o", source + ".o"], util)
    for source in glob.glob(os.path.join(options.build, "dtpools", "src", "*.c")):
        run_quietly([*compiler(options, source), *flags(options, source), "-c", source, "-o", source + ".o"], util)
    with open(stamp, "w", encoding="utf-8"):
        pass


def compiler(options, source):
    return [f"{LANGUAGES[os.path.splitext(source)[1]]}.{options.mpi}"]


def flags(options, source):
    include = [f"-I{options.build}/{name}" for name in ("include", "dtpools/include", "util")]
    common = ["-O1", "-g", "-w", *include, "-I.", "-DOMPI_OMIT_MPI1_COMPAT_DECLS=0"]  # functions that MPI-3 took away
    if source.endswith(".c"):
        return [*common, "-std=gnu99", "-D_GNU_SOURCE"]
    if source.endswith(".cxx"):
        return common
    return [*common, "-fallow-argument-mismatch", "-fallow-invalid-boz"]


def variables(folder):
    """The variables of a Makefile.am."""
    found = {}
    try:
        with open(os.path.join(folder, "Makefile.am"), encoding="utf-8") as file:
            text = file.read().replace("\\\n", " ")
    except OSError:
        return found
    for name, value in re.findall(r"^(\w+)\s*\+?=[ \t]*(.*)$", text, re.MULTILINE):
        found.setdefault(name, []).extend(value.split())
    return found


def parse_line(line):
    """Program, ranks, arguments, environment and GiB; None: not a test for here."""
    if line.startswith("@largetest@"):
        return None
    words = shlex.split(re.sub(r"^@\w+@", "", line))
    if len(words) < 2 or not words[1].isdigit():
        return None
    arguments = [word[4:] for word in words[2:] if word.startswith("arg=")]
    environment = [word[4:] for word in words[2:] if word.startswith("env=")]
    memory = [float(word[4:]) for word in words[2:] if word.startswith("mem=")]
    return words[0], int(words[1]), arguments, environment, max(memory, default=0)


def find_tests(options, section):
    """What the list files of a section name, folder by folder."""
    for folder, _, names in sorted(os.walk(os.path.join(options.build, section))):
        lists = [name for name in ("testlist.in", "testlist") if name in names]
        if not lists:
            continue
        seen = set()
        with open(os.path.join(folder, lists[0]), encoding="utf-8") as file:
            for line in file:
                test = parse_line(line.strip()) if line.strip() and line[0] != "#" else None
                if test is None or test[4] > MOST_MEMORY:
                    continue
                name, ranks, arguments, environment, _ = test
                ranks = min(ranks, options.ranks)
                key = (name, ranks, *arguments, *environment)
                title = " ".join([os.path.join(os.path.relpath(folder, options.build), name), str(ranks), *arguments, *environment])
                if key not in seen and options.only in title:
                    seen.add(key)
                    yield {"title": title, "folder": folder, "program": name, "ranks": ranks, "arguments": arguments,
                           "environment": environment}


def objects(options, sources, is_threaded):
    util = os.path.join(options.build, "util")
    kind = os.path.splitext(sources[0])[1]
    c_parts = [f"{util}/mtest.c.o", f"{util}/mtest_common.c.o", f"{util}/mtest_{'thread' if is_threaded else 'single'}.c.o"]
    if kind == ".c":
        pools = glob.glob(os.path.join(options.build, "dtpools", "src", "*.o"))
        return [*c_parts, f"{util}/dtypes.c.o", *pools, "-lpthread", "-lm"]
    if kind == ".cxx":
        return [f"{util}/mtest_cxx.cxx.o", f"{util}/mtest_common.c.o", f"{util}/mtest_single.c.o"]
    if "/f08" in sources[0] or "f08" in os.path.basename(sources[0]):
        return [f"{util}/mtest_f08.f90.o"]
    return [f"{util}/mtest_f90.f90.o" if kind in (".f90", ".F90") else f"{util}/mtest_f77.f.o"]


def build(options, folder, program):
    """Whether it is there."""
    target = os.path.join(folder, program)
    if os.path.exists(target):
        return True
    found = variables(folder)
    names = found.get(f"{program}_SOURCES", [])
    names = [name for name in names if os.path.splitext(name)[1] in LANGUAGES]
    if not names:
        names = [program + end for end in LANGUAGES if os.path.exists(os.path.join(folder, program + end))][:1]
    if not names:
        return False
    is_threaded = "/threads" in folder
    defined = [word for word in found.get(f"{program}_CPPFLAGS", []) if word.startswith("-D")]
    defined += ["-DMTEST_USE_THREAD"] if is_threaded else []
    parts = []
    for name in names:
        part = f"{target}.{os.path.basename(name)}.o"
        if not run_quietly([*compiler(options, name), *flags(options, name), *defined, "-c", name, "-o", part], folder):
            return False
        parts.append(part)
    with_c = [name for name in names if name.endswith(".c")] if not names[0].endswith(".c") else []
    more = objects(options, with_c, is_threaded) if with_c else []
    return run_quietly([*compiler(options, names[0]), *parts, *objects(options, [os.path.join(folder, names[0])], is_threaded), *more, "-o",
                        target], folder)


def build_all(options, tests):
    wanted = sorted({(test["folder"], test["program"]) for test in tests})
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        built = dict(zip(wanted, pool.map(lambda of: build(options, *of), wanted)))
        # Programs that others start (MPI_Comm_spawn) may be in no list.
        spawned = [(folder, name) for folder in {test["folder"] for test in tests} for name in variables(folder).get("noinst_PROGRAMS", [])]
        if any("/spawn" in folder for folder, _ in spawned):
            list(pool.map(lambda of: build(options, *of), [of for of in spawned if of not in built]))
    return [test for test in tests if built[(test["folder"], test["program"])]], sum(not is_built for is_built in built.values())


def children():
    """Processes that a test left behind, which are this one's by now."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="utf-8") as file:
            return [int(pid) for pid in file.read().split()]
    except OSError:
        return []


def end_rest(process):
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    for _ in range(20):
        left = children()
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            except OSError:
                pass
        if not left:
            break


def verdict(test, mpi, timeout):
    command = [f"mpirun.{mpi}", *(OPEN_MPI if mpi == "openmpi" else []), "-n", str(test["ranks"]), f"./{test['program']}", *test["arguments"]]
    environment = {**os.environ, **dict(word.split("=", 1) for word in test["environment"] if "=" in word)}
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, cwd=test["folder"], stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment)
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            code = None
        end_rest(process)
        output.seek(0)
        text = output.read().decode("utf-8", "replace")
    if code is None:
        return "timeout", text
    if code == 0:
        return ("pass" if "No Errors" in text else "ends well"), text
    return ("errors" if re.search(r"Found \d+ errors", text) else "fail"), text


def run_all(tests, mpi, timeout, report=None):
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    results = {}
    for test in tests:
        start = time.monotonic()
        results[test["title"]] = verdict(test, mpi, timeout)
        if report:
            print(f"{time.monotonic() - start:6.1f} s  {results[test['title']][0]:9} {test['title']}", file=report, flush=True)
    return results


def under_attune(options, tests, folder):
    """The same in one session: this script again, as the observed program."""
    listing = os.path.join(folder, "tests.json")
    verdicts = os.path.join(folder, "verdicts.json")
    with open(listing, "w", encoding="utf-8") as file:
        json.dump(tests, file)
    subprocess.run([options.attune, "run", "-q", "-f", "-s", "none", "-o", os.path.join(folder, "suite.attune"), "--level", options.level,
                    "--", sys.executable, os.path.abspath(__file__), "--inside", listing, verdicts, "--mpi", options.mpi,
                    "--timeout", str(options.timeout)], check=True)
    with open(verdicts, encoding="utf-8") as file:
        return json.load(file)


def stays(options, test, folder):
    """Whether the verdicts with and without attune have nothing in common, run again."""
    alone = set()
    observed = set()
    for _ in range(3):
        alone.add(run_all([test], options.mpi, options.timeout)[test["title"]][0])
        observed.add(under_attune(options, [test], folder)[test["title"]][0])
        if alone & observed:
            return False
    return True


def compare(options, section, folder):
    """Runs a section both ways. @return counts: tests, not built, differing at first, and those that stay"""
    tests, missing = build_all(options, list(find_tests(options, section)))
    if not tests:
        return 0, missing, 0, []
    with open(os.path.join(options.build, f"{section}.log"), "w", encoding="utf-8") as report:
        alone = run_all(tests, options.mpi, options.timeout, report)
    # What does not end takes as long again with attune, and says nothing then.
    observed = under_attune(options, [test for test in tests if alone[test["title"]][0] != "timeout"], folder)
    kinds = collections.Counter(result[0] for result in alone.values())
    print(f"{section}: {len(tests)} tests ({missing} programs do not compile here): " +
          ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())), flush=True)
    differ = [test for test in tests if test["title"] in observed and alone[test["title"]][0] != observed[test["title"]][0]]
    remaining = [test for test in differ if stays(options, test, folder)]
    for test in differ:
        title = test["title"]
        print(f"  {title}: {alone[title][0]} without, {observed[title][0]} with" + ("" if test in remaining else "; the same when run again"))
    for test in remaining:
        print("    " + "\n    ".join(observed[test["title"]][1].strip().split("\n")[-12:]), flush=True)
    return len(tests), missing, len(differ), remaining


def main():
    parser = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
    parser.add_argument("suite", nargs="?")
    parser.add_argument("--mpi", choices=["openmpi", "mpich"], default="openmpi")
    parser.add_argument("--attune", default="build/release/bin/attune")
    parser.add_argument("--level", default="profile")
    parser.add_argument("--sections", default=",".join(SECTIONS))
    parser.add_argument("--only", default="")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("--build")
    parser.add_argument("--inside", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        with open(options.inside[0], encoding="utf-8") as file:
            tests = json.load(file)
        results = run_all(tests, options.mpi, options.timeout)
        with open(options.inside[1], "w", encoding="utf-8") as file:
            json.dump(results, file)
        return 0
    if options.suite is None or not os.path.exists(os.path.join(options.suite, "util", "mtest.c")):
        parser.error("give the folder test/mpi of a checkout of MPICH")
    if shutil.which(f"mpirun.{options.mpi}") is None or shutil.which(f"mpicc.{options.mpi}") is None:
        parser.error(f"mpirun.{options.mpi} or mpicc.{options.mpi} is missing: install {'openmpi-bin libopenmpi-dev' if options.mpi == 'openmpi' else 'mpich libmpich-dev'}")
    options.attune = os.path.abspath(options.attune)
    options.suite = os.path.abspath(options.suite)
    with tempfile.TemporaryDirectory() as folder:
        options.build = os.path.abspath(options.build or os.path.join(folder, "build"))
        os.makedirs(options.build, exist_ok=True)
        prepare(options)
        results = [compare(options, section, folder) for section in options.sections.split(",")]
    tests, missing, differ = (sum(result[i] for result in results) for i in range(3))
    remaining = sum(len(result[3]) for result in results)
    if tests == 0:
        sys.exit("mpi_conformance: none of the tests compiles here")
    print(f"{options.mpi}, level {options.level}: {tests} tests, {missing} programs do not compile here; {differ} verdicts differ, "
          f"{remaining} also when run again")
    return 1 if remaining else 0


sys.exit(main())
