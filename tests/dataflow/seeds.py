#!/usr/bin/env python3
"""Runs the examples of P2G's language in many orders, and compares what they print and store.

    seeds.py ATTUNE SOURCE [--seeds N] [--others N] [--tsan LIBRARY]

    --seeds   of mul2_plus5.p2g, whose values and counts of instances are known (1000)
    --others  of each of the other examples (50)
    --tsan    libattune_flow.a of the preset tsan: the programs are linked with it and run under the thread sanitizer

Each seed is run on 1, 2 and 4 threads. Checksums of all fields, the output and the exit code must be those of the first run, in which
each instance was dispatched alone. Exit codes: 0 all are, 1 one is not, 2 usage.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

from video import squares, write_video

GOLDEN = """\
10 -> 20  11 -> 22  12 -> 24  13 -> 26  14 -> 28
25 -> 50  27 -> 54  29 -> 58  31 -> 62  33 -> 66
55 -> 110  59 -> 118  63 -> 126  67 -> 134  71 -> 142
115 -> 230  123 -> 246  131 -> 262  139 -> 278  147 -> 294
235 -> 470  251 -> 502  267 -> 534  283 -> 566  299 -> 598
"""
COUNTS = {"init": 1, "mul2": 25, "plus5": 20, "print": 5}
UNTIL = {"mul2_plus5.p2g": ["--until", "4"], "kmeans.p2g": ["--until", "10"]}
THREADS = (1, 2, 4)


class Example:
    """@param compile a function that makes a program of the example's text"""

    def __init__(self, name, folder, compile):
        self.name, self.folder = name, folder
        self.program = compile(name)

    def run(self, *options):
        """What must be the same: exit code, output, checksums, files. And the counts of instances."""
        out = os.path.join(self.folder, "out.avi")
        environment = dict(os.environ, MJPEG_IN=os.path.join(self.folder, "in.y4m"), MJPEG_OUT=out, PYRAMID_IN=os.path.join(self.folder, "in.y4m"))
        done = subprocess.run([self.program, *UNTIL.get(self.name, []), "--checksum", "--costs", *options], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, env=environment)
        lines = done.stderr.splitlines()
        written = b""
        if os.path.exists(out):
            with open(out, "rb") as file:
                written = file.read()
            os.remove(out)
        counts = {}
        for words in map(str.split, lines):
            if len(words) > 1 and words[1].isdigit():
                counts.setdefault(words[0], int(words[1]))
        return (done.returncode, done.stdout, [line for line in lines if line.startswith("checksum ")], written), counts, done.stderr


def check_golden(same, counts):
    code, output, _, _ = same
    printed = "".join(line.rstrip() + "\n" for line in output.splitlines())
    return code == 0 and printed == GOLDEN and all(counts.get(kernel) == count for kernel, count in COUNTS.items())


def check(example, seeds):
    begin, runs = time.monotonic(), 0
    expected, expected_counts, _ = example.run("--threads", "1", "--scheduler", "off")
    for seed in range(1, seeds + 1):
        for threads in THREADS:
            same, counts, errors = example.run("--threads", str(threads), "--perturb", str(seed))
            runs += 1
            is_right = same == expected and same[0] == 0 and same[2] and counts == expected_counts
            if example.name == "mul2_plus5.p2g":
                is_right = is_right and check_golden(same, counts)
            if not is_right:
                print(f"{example.name} differs: --threads {threads} --perturb {seed}, exit code {same[0]}\n{errors}", file=sys.stderr)
                return False
    print(f"{example.name:18} {runs:5} runs equal, {time.monotonic() - begin:.0f} s", flush=True)
    return True


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("attune", type=os.path.abspath)
    parser.add_argument("source", type=os.path.abspath)
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--others", type=int, default=50)
    parser.add_argument("--tsan", type=os.path.abspath)
    return parser.parse_args()


def main():
    options = arguments()
    examples = os.path.join(options.source, "examples", "p2g")
    with tempfile.TemporaryDirectory(prefix="attune-seeds-") as folder:
        write_video(os.path.join(folder, "in.y4m"), luma=squares)

        def by_attune(name):
            program = os.path.join(folder, name.removesuffix(".p2g"))
            subprocess.run([options.attune, "p2g", "build", os.path.join(examples, name), "-o", program], check=True, env=dict(os.environ, LDFLAGS="-ljpeg"))
            return program

        def with_sanitizer(name):
            program = os.path.join(folder, name.removesuffix(".p2g"))
            subprocess.run([options.attune, "p2g", "emit", os.path.join(examples, name), "-o", program + ".cpp"], check=True)
            subprocess.run(["g++", "-std=c++20", "-O1", "-g1", "-fsanitize=thread", "-isystem", os.path.join(options.source, "include"), "-iquote", examples,
                            program + ".cpp", options.tsan, "-ljpeg", "-o", program], check=True)
            return program

        compile = with_sanitizer if options.tsan else by_attune
        names = ["mul2_plus5.p2g", *sorted(set(name for name in os.listdir(examples) if name.endswith(".p2g")) - {"mul2_plus5.p2g"})]
        passed = [check(Example(name, folder, compile), options.others if i else options.seeds) for i, name in enumerate(names)]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
