#!/usr/bin/python3
"""What `attune tune` makes of real programs over their whole runs, its trials included.

    tuning_bench ATTUNE [--rounds N] [--only NAME;...] [--seconds S] [--table] [--idle]

Each case is a program of Debian that is held back, run by turns in four ways: bare; tuned (`attune tune`); with the best
static setting that is known for it; and tuned with a placebo, which decides and writes nothing. The figure is the
median of the paired ratios of times, bare / tuned, with its 95 % interval; beside it bare / static, bare / placebo, and
bare / bare of the round before (same against same). Outputs are compared, where those of two bare runs are equal.
--idle takes programs instead with nothing to gain: nothing may be kept. --seconds is what a bare run takes, about.
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import statistics
import subprocess
import tempfile
import time

import real_programs_bench as real

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, "..", "..", "tests", "e2e", "page.png")
LIMIT = 1.2  # of bare / tuned


class Case:
    """@param prepare (folder, seconds) -> bare command, command with the best static setting"""

    def __init__(self, prepare, compares=True):
        self.prepare, self.compares = prepare, compares


def tesseract(folder, seconds):
    real.program("tesseract")
    pages = real.write(folder, "pages.txt", "\n".join([shutil.copy(PAGE, folder)] * max(2, int(seconds * 1.1))) + "\n")
    command = ["tesseract", pages, "stdout"]
    return command, ["env", "OMP_THREAD_LIMIT=2", *command]


def melt(folder, steps):
    with open(os.path.join(HERE, "in.melt"), encoding="utf-8") as file:
        text = file.read()
    return real.write(folder, "in.melt", "\n".join(f"run {steps}" if line.startswith("run") else line for line in text.splitlines()) + "\n")


def lammps_mpi(folder, seconds):
    start = [real.program("mpirun"), "--allow-run-as-root", "--host", "localhost:8", "-n", "8"]
    command = [real.program("lmp"), "-in", melt(folder, int(seconds * 5))]
    return [*start, *command], [*start, "--mca", "mpi_yield_when_idle", "1", *command]


def numpy_four(folder, seconds):
    """Four processes that compute with as many threads each as there are CPUs."""
    python = real.numpy(folder)[:1]
    path = real.write(folder, "small.py", f"""\
        import numpy
        a = numpy.random.default_rng(1).random((200, 200))
        for _ in range({int(seconds * 500)}):
            b = a @ a
        print(b.shape)
        """)
    command = ["sh", "-c", f"for i in 1 2 3 4; do {python[0]} {path} & done; wait"]
    return command, ["env", "OPENBLAS_NUM_THREADS=1", *command]


def iperf(folder, seconds):
    real.program("iperf3")
    script = real.write(folder, "iperf.sh", f"""\
        iperf3 -s -1 -p 5299 > {folder}/server.txt &
        sleep 0.5
        iperf3 -c 127.0.0.1 -p 5299 $1 $2 -n {int(seconds * 250)}M > {folder}/client.txt
        wait
        """)
    return ["sh", script, "-w", "8K"], ["sh", script]


def xz_on_one_cpu(folder, seconds):
    command = ["xz", "-T2", "-3", "--block-size=1MiB", "-c", real.input_of(folder, int(seconds * 50))]
    return ["taskset", "-c", "0", *command], command


def pipe(folder, seconds):
    script = real.write(folder, "pipe.sh", f"""\
        head -c {int(seconds * 1100)}M /dev/zero | /usr/bin/python3 -c '
        import os
        n = 0
        while True:
            piece = os.read(0, 1 << 20)
            if not piece: break
            n += len(piece)
        print(n)'
        """)
    command = ["sh", script]
    return command, ["env", "GLIBC_TUNABLES=glibc.malloc.mmap_threshold=268435456:glibc.malloc.trim_threshold=268435456", *command]


CASES = {
    "tesseract, many pages": Case(tesseract),
    "LAMMPS, 8 polling ranks": Case(lammps_mpi, False),
    "numpy, four processes": Case(numpy_four),
    "iperf3, windows of 8 KB": Case(iperf),
    "xz, two threads on one CPU": Case(xz_on_one_cpu),
    "python3, reads of 1 MiB": Case(pipe),
}


def steady(*words, **files):
    def prepare(folder, seconds):
        real.program(words[0])
        made = {name: real.input_of(folder, int(size * seconds)) for name, size in files.items()}
        command = [word.format(**made, seconds=int(seconds)) for word in words]
        return command, command
    return Case(prepare)


IDLE = {
    "xz, one thread": steady("xz", "-T1", "-3", "-c", "{file}", file=2.2),
    "gzip": steady("gzip", "-c", "{file}", file=12),
    "bzip2": steady("bzip2", "-c", "{file}", file=6),
    "openssl": steady("openssl", "speed", "-seconds", "{seconds}", "-bytes", "16384", "sha256"),
    "sha256sum": steady("sha256sum", "{file}", file=300),
    "python3": steady("/usr/bin/python3", "-c", "print(sum(i * i % 7 for i in range({seconds} * 9000000)))"),
    "perl": steady("perl", "-e", "my $s = 0; for my $i (1 .. {seconds} * 15000000) {{ $s += $i % 7 }} print $s"),
    "awk": steady("awk", "BEGIN {{ while (i < {seconds} * 12000000) ++i; print i }}"),
}


def run(command, folder):
    begin = time.monotonic()
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
    return time.monotonic() - begin, hashlib.sha256(done.stdout).hexdigest(), done.stderr.decode(errors="replace")


def kept_of(stderr):
    document = json.loads(stderr[stderr.rindex("\n{\n") if "\n{\n" in stderr else stderr.index("{\n"):])
    return [f"{row['knob']}={row['after']}" for row in document["decisions"] if row["state"] == "kept"]


def measured(attune, name, case, options):
    with tempfile.TemporaryDirectory(prefix="attune-bench-") as folder:
        recording = os.path.join(folder, "t.attune")
        tune = [attune, "tune", "--json", "-q", "-f", "-o", recording]
        try:
            bare, static = case.prepare(folder, options.seconds)
            ways = {"bare": bare, "tuned": [*tune, "--", *bare], "static": static, "placebo": [*tune, "--placebo", "--", *bare]}
            if options.idle:
                del ways["static"]
            times, outputs, kept = {way: [] for way in ways}, {way: set() for way in ways}, {"tuned": [], "placebo": []}
            for number in range(options.rounds):
                for way in random.Random(number).sample(list(ways), len(ways)):
                    seconds, output, stderr = run(ways[way], folder)
                    times[way].append(seconds)
                    outputs[way].add(output)
                    if way in kept:
                        kept[way].append(kept_of(stderr))
        except real.Unavailable as error:
            return {"figure": name, "unavailable": str(error)}
        except (subprocess.CalledProcessError, OSError, ValueError) as error:
            note = getattr(error, "stderr", b"") or b""
            return {"figure": name, "failed": True, "note": f"{error} {note[-300:]!r}"}
    ratio, low, high = real.spread_of([a / b for a, b in zip(times["bare"], times["tuned"])])
    others = [f"{way} {statistics.median(a / b for a, b in zip(times['bare'], times[way])):.2f}" for way in ways if way not in ("bare", "tuned")]
    same = [a / b for a, b in zip(times["bare"], times["bare"][1:])]
    same_text = f", same against same {min(same):.2f} to {max(same):.2f}" if same else ""
    output = "not compared" if not case.compares or len(outputs["bare"]) > 1 else "equal" if outputs["bare"] == outputs["tuned"] else "DIFFERENT"
    note = (f"{options.rounds} rounds of {statistics.median(times['bare']):.1f} s; {', '.join(others)}{same_text}; output {output}; "
            f"kept {kept['tuned']}, by placebo {kept['placebo']}")
    line = real.figure(name, ratio, "ratio", 0.98 if options.idle else LIMIT, note, [low, high])
    wrong = output == "DIFFERENT" or any(kept["placebo"]) or (options.idle and any(kept["tuned"]))
    return {**line, "better": "higher", **({"failed": True} if wrong else {})}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("attune")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--only", default="", help="names, with ; between them")
    parser.add_argument("--idle", action="store_true")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    os.environ.pop("PYTHONUNBUFFERED", None)
    wanted = set(filter(None, options.only.split(";")))
    for name, case in (IDLE if options.idle else CASES).items():
        if not wanted or name in wanted:
            real.show(measured(os.path.abspath(options.attune), f"tuning, {name}", case, options), options.table)


if __name__ == "__main__":
    main()
