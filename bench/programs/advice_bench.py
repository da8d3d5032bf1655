#!/usr/bin/python3
"""What the advice of findings gains real programs, against what was promised.

    advice_bench ATTUNE [--rounds N] [--only NAME;...] [--table]

Each case is a program that is held back, and the same one with what its finding advises: an option, a variable of the
environment, or another way to call it. `attune run` records the first, an odd number of times: the finding of the
expected class has promised the median of its `gain_seconds`. Then both run alone by turns: what was gained is the median
of the paired differences, with its 95 % interval. The figure is gained / promised; its limit is 0.5. A case without a
finding has promised nothing, and says so. Programs that are not installed are reported as unavailable.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time

import real_programs_bench as real

ROUNDS, RECORDINGS = 7, 3
LEAST = 0.5  # limit of gained / promised
PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "e2e", "page.png")


class Case:
    """@param finding class that is expected
    @param prepare folder -> the command, and the command that follows the advice; either may begin with `env NAME=VALUE`
    """

    def __init__(self, finding, prepare):
        self.finding, self.prepare = finding, prepare


def needs(*names):
    for name in names:
        real.program(name)


def option(finding, megabytes, before, after, *programs):
    """Commands with FILE, a text of so many megabytes."""

    def prepare(folder):
        needs(*programs)
        file = real.input_of(folder, megabytes) if megabytes else ""
        return [["sh", "-c", command.replace("FILE", file).replace("FOLDER", folder)] for command in (before, after)]

    return Case(finding, prepare)


def script(finding, name, text, before, after, *programs):
    """Commands with SCRIPT, a file of that text."""

    def prepare(folder):
        needs(*programs)
        path = real.write(folder, name, text)
        return [[word.replace("SCRIPT", path).replace("FOLDER", folder) for word in command] for command in (before, after)]

    return Case(finding, prepare)


def tesseract(folder):
    command = [real.program("tesseract"), shutil.copy(PAGE, folder), os.path.join(folder, "text")]
    return command, ["env", "OMP_THREAD_LIMIT=1", *command]


def lammps(folder):
    melt = shutil.copy(os.path.join(os.path.dirname(os.path.abspath(__file__)), "in.melt"), folder)
    mpirun, lmp = real.program("mpirun"), real.program("lmp")
    return [[mpirun, "--allow-run-as-root", "--oversubscribe", "-n", ranks, lmp, "-in", melt] for ranks in ("4", "2")]


def numpy_small(folder):
    command = real.numpy(folder)[:1] + [real.write(folder, "small.py", """\
        import numpy
        a = numpy.random.default_rng(1).random((160, 160))
        for _ in range(6000):
            b = a @ a
        """)]
    return command, ["env", "OPENBLAS_NUM_THREADS=1", *command]


def files_of(folder, count):
    for i in range(count):
        real.write(folder, f"f{i}.txt", f"{i} some words\n" * 2000)


def find_exec(folder):
    files_of(folder, 400)
    find = ["find", folder, "-name", "f*.txt", "-exec", "gzip", "-kf", "{}"]
    return [*find, ";"], [*find, "+"]


def xargs(folder):
    files_of(folder, 300)
    command = "ls {0}/f*.txt | xargs -n 4 -P {1} bzip2 -kf"
    return [["sh", "-c", command.format(folder, processes)] for processes in (1, 2)]


def makefile_of(folder):
    text = "all: " + " ".join(f"p{i}" for i in range(8)) + "\np%:\n\t@awk 'BEGIN { while (i < 8000000) ++i }'\n"
    return real.write(folder, "makefile", text)


def make(folder):
    return [["make", f"-j{jobs}", "-f", makefile_of(folder)] for jobs in (1, 2)]


def taskset_make(folder):
    command = ["make", "-j2", "-f", makefile_of(folder)]
    return ["taskset", "-c", "0", *command], command


def sqlite(folder):
    needs("sqlite3")
    inserts = "".join(f"insert into t values({i});\n" for i in range(1500))

    def command(name, text):
        path = real.write(folder, name, "create table t(a);\n" + text)
        database = os.path.join(folder, name + ".db")
        return ["sh", "-c", f"rm -f {database}; exec sqlite3 {database} '.read {path}'"]

    return command("each.sql", inserts), command("once.sql", f"begin;\n{inserts}commit;\n")


def tar_xz(folder):
    needs("tar", "xz")
    command = "tar cf - /usr/lib/python3.11 | xz -3 {1} > {0}/out.xz"
    return [["sh", "-c", command.format(folder, options)] for options in ("-T1", "-T2 --block-size=4MiB")]


POOL = """\
    import sys
    from concurrent import futures

    def work(n):
        return sum(i * i % 7 for i in range(n))

    if __name__ == "__main__":
        with getattr(futures, sys.argv[1])(2) as pool:
            print(sum(pool.map(work, [1500000] * 6)))
    """
BUFFERS = """\
    for i in range(60):
        b = b"x" * (48 << 20)
        b = None
    """
LINES = """\
    for i in range(400000):
        print(i)
    """
WRITES = """\
    const fs = require('fs');
    const file = fs.openSync('lines', 'w'), lines = Number(process.argv[2]);
    for (let i = 0; i < 300000; i += lines) fs.writeSync(file, 'a line\\n'.repeat(lines));
    """

CASES = {
    "tesseract": Case("wait-at-barrier", tesseract),
    "numpy, small matrices": Case("busy-wait", numpy_small),
    "lmp, 4 ranks": Case("oversubscription", lammps),
    "sysbench, one lock": option("lock-contention", 0, "sysbench threads --threads=4 --events=20000 --time=0 --thread-locks=1 run",
                                 "sysbench threads --threads=4 --events=20000 --time=0 --thread-locks=64 run", "sysbench"),
    "sqlite3, each row alone": Case("io-wait", sqlite),
    "tar and xz": Case("slow-peer", tar_xz),
    "python3, threads": script("interpreter-lock", "pool.py", POOL, ["/usr/bin/python3", "SCRIPT", "ThreadPoolExecutor"],
                               ["/usr/bin/python3", "SCRIPT", "ProcessPoolExecutor"]),
    "python3, large buffers": script("page-faults", "buffers.py", BUFFERS, ["/usr/bin/python3", "SCRIPT"],
                                     ["env", "GLIBC_TUNABLES=glibc.malloc.mmap_threshold=1073741824:glibc.malloc.trim_threshold="
                                      "1073741824", "/usr/bin/python3", "SCRIPT"]),
    "python3 -u": script("small-io", "lines.py", LINES, ["sh", "-c", "exec /usr/bin/python3 -u SCRIPT > FOLDER/out"],
                         ["sh", "-c", "exec /usr/bin/python3 SCRIPT > FOLDER/out"]),
    "dd bs=16": option("small-io", 16, "exec dd if=FILE of=/dev/null bs=16", "exec dd if=FILE of=/dev/null bs=64k", "dd"),
    "sed -u": option("small-io", 0, "seq 600000 > FOLDER/n; exec sed -u s/1/2/ FOLDER/n > FOLDER/out",
                     "seq 600000 > FOLDER/n; exec sed s/1/2/ FOLDER/n > FOLDER/out", "sed"),
    "grep --line-buffered": option("small-io", 0, "seq 900000 > FOLDER/n; exec grep --line-buffered 1 FOLDER/n > FOLDER/out",
                                   "seq 900000 > FOLDER/n; exec grep 1 FOLDER/n > FOLDER/out", "grep"),
    "awk with fflush": option("small-io", 0, "exec awk 'BEGIN { while (i < 600000) { print ++i; fflush() } }' > FOLDER/out",
                              "exec awk 'BEGIN { while (i < 600000) { print ++i } }' > FOLDER/out", "awk"),
    "perl, $| = 1": option("small-io", 0, "exec perl -e '$| = 1; print \"$_\\n\" for 1 .. 600000' > FOLDER/out",
                            "exec perl -e 'print \"$_\\n\" for 1 .. 600000' > FOLDER/out", "perl"),
    "node, writeSync": script("small-io", "lines.js", WRITES, ["node", "SCRIPT", "1"], ["node", "SCRIPT", "500"], "node"),
    "dd oflag=dsync": option("io-wait", 8, "exec dd if=FILE of=FOLDER/out bs=8k oflag=dsync", "exec dd if=FILE of=FOLDER/out bs=1M oflag=dsync",
                             "dd"),
    "taskset make": Case("narrow-affinity", taskset_make),
    "find -exec ;": Case("child-wait", find_exec),
    "xargs": Case("child-wait", xargs),
    "make": Case("child-wait", make),
    "taskset xz": option("narrow-affinity", 72, "exec taskset -c 0 xz -T2 -3 --block-size=2MiB -c FILE", "exec xz -T2 -3 --block-size=2MiB -c FILE",
                         "taskset", "xz"),
    "pigz, 64 threads": option("oversubscription", 48, "exec pigz -p64 -c FILE", "exec pigz -p2 -c FILE", "pigz"),
    "xz, one block": option("serial-section", 6, "exec xz -T2 -k -6 -c FILE", "exec xz -T2 -k -6 --block-size=1MiB -c FILE", "xz"),
}


def seconds_of(command, folder):
    begin = time.monotonic()
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.monotonic() - begin


def findings_of(attune, command, folder):
    recording = os.path.join(folder, "recording.attune")
    prefix = [attune, "run", "-q", "-f", "-o", recording, "--"]
    subprocess.run([*prefix, *command], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    report = subprocess.run([attune, "report", "--json", recording], stdout=subprocess.PIPE, check=True)
    return json.loads(report.stdout)["findings"]


def promised_of(recordings, wanted):
    """Median of what was promised, and a word on the findings that came first."""
    gains, first = [], []
    for findings in recordings:
        gains.append(max((each["gain_seconds"] or 0 for each in findings if each["class"] == wanted), default=0))
        first.append(findings[0]["class"] if findings else "none")
    return statistics.median(gains), statistics.mode(first)


def measured(attune, name, case, rounds):
    with tempfile.TemporaryDirectory(prefix="attune-bench-") as folder:
        try:
            before, after = case.prepare(folder)
            for command in (before, after):
                seconds_of(command, folder)  # files and caches
            promised, first = promised_of([findings_of(attune, before, folder) for _ in range(RECORDINGS)], case.finding)
            pairs = []
            for number in range(rounds):
                order = (before, after) if number % 2 == 0 else (after, before)
                times = [seconds_of(command, folder) for command in order]
                pairs.append(times if number % 2 == 0 else times[::-1])
        except real.Unavailable as error:
            return {"figure": name, "unavailable": str(error)}
        except (subprocess.CalledProcessError, OSError, ValueError) as error:
            return {"figure": name, "failed": True, "note": str(error)}
    gained, low, high = real.spread_of([pair[0] - pair[1] for pair in pairs])
    note = (f"{case.finding}, {rounds} rounds of {statistics.median(pair[0] for pair in pairs):.3f} s: promised {promised:.3f} s, "
            f"gained {gained:.3f} s ({low:.3f} to {high:.3f}); first finding: {first}")
    if promised == 0:
        return {"figure": name, "unavailable": f"nothing was promised ({note})"}
    line = real.figure(name, gained / promised, "ratio", LEAST, note, [low / promised, high / promised])
    return {**line, "better": "higher"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("attune")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", default="", help="names, with ; between them")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    os.environ.pop("PYTHONUNBUFFERED", None)
    wanted = set(filter(None, options.only.split(";")))
    for name, case in CASES.items():
        if not wanted or name in wanted:
            real.show(measured(os.path.abspath(options.attune), f"advice, {name}", case, options.rounds), options.table)


if __name__ == "__main__":
    main()
