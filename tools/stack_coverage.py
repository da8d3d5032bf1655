#!/usr/bin/env python3
"""Measures how many CPU samples of real programs have a whole call path, beside perf, and what they cost.

    tools/stack_coverage.py [--attune BIN] [--only NAME ...] [--rounds N] [--least SHARE]

A path is whole if its outermost place is the function that the kernel or the C library starts a program or a thread
in: the entry of the program, of its loader, or a function of the C library that its unwind table marks as outermost.
The same rule holds for `perf record --call-graph dwarf`, where perf is there. The costs are medians of interleaved
rounds: CPU time of the program with samples to that without, and how much more CPU time attune's session takes with
samples than without, to the program's.
"""
import argparse
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ENTRY_BYTES = 64
CXX = """#include <algorithm>
#include <iostream>
#include <map>
#include <regex>
#include <string>
int main() {
  std::map<std::string, int> words{{"a", 1}};
  std::regex wanted("a.*b");
  for (auto& [word, count] : words) std::cout << word << count << std::regex_match(word, wanted);
}
"""
PYTHON = """import json, random, re
data = [{"a": random.random(), "b": str(i) * 5} for i in range(30000)]
for _ in range(5): json.loads(json.dumps(data))
def fibonacci(n): return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)
fibonacci(27); sorted(range(500000), key=lambda x: -x); re.findall("a+b", "aab" * 300000)
"""
NODE = """function fibonacci(n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
fibonacci(34); const a = []; for (let i = 0; i < 1e6; ++i) a.push(Math.random());
a.sort(); JSON.parse(JSON.stringify(a));
"""
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench", "programs", "in.melt"), encoding="ascii") as melt:
    MELT = melt.read()
SQL = ("with recursive c(x) as (select 1 union all select x + 1 from c where x < 3000000) "
       "select count(*), sum(x * x), max(length(hex(x))) from c where x % 7 < 5;")
PROGRAMS = {
    "xz": ("xz", "-T1", "-4", "-k", "-c", "text"),
    "zstd": ("zstd", "-q", "-15", "-c", "text"),
    "pigz": ("pigz", "-p2", "-9", "-k", "-c", "text"),
    "lbzip2": ("lbzip2", "-n2", "-k", "-c", "text"),
    "gm": ("gm", "convert", "-size", "900x900", "plasma:red-blue", "-blur", "0x6", "-resize", "150%", "picture.png"),
    "g++": ("g++", "-O2", "-c", "program.cpp", "-o", "program.o"),
    "sqlite3": ("sqlite3", ":memory:", SQL),
    "openssl": ("openssl", "speed", "-seconds", "1", "sha256", "rsa2048"),
    "python3": ("/usr/bin/python3", "script.py"),
    "node": ("node", "script.js"),
    "lmp": ("lmp", "-in", "melt", "-log", "none"),
    "tesseract": ("tesseract", os.path.join(TOP, "tests", "e2e", "page.png"), "-"),
}


def write_inputs(folder):
    chance = random.Random(1)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 9))) for _ in range(4000)]
    texts = {"text": " ".join(chance.choices(words, k=1_500_000)), "program.cpp": CXX, "script.py": PYTHON, "script.js": NODE,
             "melt": MELT}
    for name, text in texts.items():
        with open(os.path.join(folder, name), "w", encoding="ascii") as f:
            f.write(text)


class Outermost:
    """The functions in which programs and threads begin."""

    def __init__(self):
        self.files = {}

    def has(self, path, address):
        """@param address in the file"""
        if path not in self.files:
            self.files[path] = list(self.ranges(path))
        return any(begin <= address < end for begin, end in self.files[path])

    @staticmethod
    def ranges(path):
        if not os.path.isfile(path):
            return
        head = subprocess.run(["readelf", "-hW", path], capture_output=True, text=True, check=False).stdout
        entry = re.search(r"Entry point address: +0x([0-9a-f]+)", head)
        if entry and int(entry[1], 16):
            yield int(entry[1], 16), int(entry[1], 16) + ENTRY_BYTES
        if not os.path.basename(path).startswith("libc."):
            return
        frames = subprocess.run(["readelf", "-WwF", path], capture_output=True, text=True, check=False).stdout
        for entry in re.split(r"\n\n", frames):
            place = re.search(r"FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)", entry)
            # "ra" is "u" in a row: there is no caller.
            if place and re.search(r"^[0-9a-f]{16} .*\bu\s*$", entry, re.M):
                yield int(place[1], 16), int(place[2], 16)


class Coverage:
    def __init__(self, attune, folder):
        self.attune, self.folder, self.outermost = attune, folder, Outermost()

    def run(self, command):
        result = subprocess.run(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True, errors="replace", check=False)
        if result.returncode != 0:
            raise RuntimeError(f"{' '.join(command)} ended with {result.returncode}: {result.stderr[-400:]}")

    def query(self, sql):
        return json.loads(subprocess.run([self.attune, "query", "r.attune", "--json", sql], cwd=self.folder, check=True,
                                         capture_output=True, text=True).stdout)

    def record(self, command, samples):
        """@return CPU time of the program and of the session, seconds"""
        self.run([self.attune, "run", "-q", "-f", "-o", "r.attune", *([] if samples else ["--cpu-samples", "off"]), "--", *command])
        program = self.query("select sum(user_ns + system_ns) ns from processes")[0]["ns"] or 0
        session = self.query("select max(value) - min(value) ns from samples_named where signal = 'session_cpu'")[0]["ns"] or 0
        return program * 1e-9, session * 1e-9

    def of_attune(self):
        """The last recording's samples, the share of whole ones, and the mean number of frames."""
        stacks = {row["id"]: row for row in self.query("select id, parent, site from stacks")}
        sites = {row["id"]: row for row in self.query("select id, module, address from sites where frame = 0")}
        samples = self.query("select stack, count(*) n from cpu_samples group by 1")
        total = whole = frames = 0
        for sample in samples:
            node, depth = stacks.get(sample["stack"]), 1
            while node and node["parent"]:
                node, depth = stacks[node["parent"]], depth + 1
            site = sites.get(node["site"]) if node else None
            total += sample["n"]
            frames += depth * sample["n"]
            if site and site["address"] is not None and self.outermost.has(site["module"], site["address"] - 1):
                whole += sample["n"]
        return total, whole / max(total, 1), frames / max(total, 1)

    def of_perf(self, command):
        """The same by perf; nothing where there is none."""
        if shutil.which("perf") is None:
            return None
        self.run(["perf", "record", "-q", "-F", "251", "-e", "cpu-clock", "--call-graph", "dwarf", "-o", "perf.data", "--", *command])
        text = subprocess.run(["perf", "script", "-i", "perf.data", "-F", "ip,sym,dso"], cwd=self.folder, capture_output=True,
                              text=True, errors="replace", check=False).stdout
        total = whole = frames = 0
        for sample in re.split(r"\n\s*\n", text):
            # Offsets in files, with the file behind them.
            chain = re.findall(r"^\s+([0-9a-f]+) .* \((\S+)\)$", sample, re.M)
            if not chain:
                continue
            offset, path = int(chain[-1][0], 16), chain[-1][1]
            total, frames = total + 1, frames + len(chain)
            whole += self.outermost.has(path, offset + bias_of(path, offset))
        return total, whole / max(total, 1), frames / max(total, 1)


def bias_of(path, offset, known={}):  # pylint: disable=dangerous-default-value
    """Address less offset at an offset of a file."""
    if (path, offset) not in known:
        known[path, offset] = 0
        parts = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True, check=False).stdout
        for part in re.finditer(r"LOAD +0x([0-9a-f]+) 0x([0-9a-f]+) 0x[0-9a-f]+ 0x([0-9a-f]+)", parts):
            begin, address, size = (int(number, 16) for number in part.groups())
            if begin <= offset < begin + size:
                known[path, offset] = address - begin
    return known[path, offset]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attune", default=os.path.join(TOP, "build", "release", "bin", "attune"))
    parser.add_argument("--only", nargs="+", choices=PROGRAMS, help="these programs")
    parser.add_argument("--rounds", type=int, default=5, help="of each program with and without samples; 0: no cost")
    parser.add_argument("--least", type=float, default=0.95, help="share of whole paths below which this fails")
    options = parser.parse_args()
    short, row = [], "{:10} {:>8} {:>7} {:>7} {:>8} {:>7} {:>9} {:>9}"
    print(row.format("program", "samples", "whole", "frames", "perf", "frames", "program", "session"))
    with tempfile.TemporaryDirectory() as folder:
        write_inputs(folder)
        coverage = Coverage(os.path.abspath(options.attune), folder)
        for name in options.only or PROGRAMS:
            command = PROGRAMS[name]
            if shutil.which(command[0]) is None:
                print(f"{name:10} not installed")
                continue
            ratios, shares = [], []
            for _ in range(options.rounds):
                without, session_without = coverage.record(command, False)
                with_samples, session = coverage.record(command, True)
                ratios.append(with_samples / max(without, 1e-9))
                shares.append((session - session_without) / max(with_samples, 1e-9))
            coverage.record(command, True)
            total, whole, frames = coverage.of_attune()
            perf = coverage.of_perf(command)
            print(row.format(name, total, f"{whole:.1%}", f"{frames:.1f}", f"{perf[1]:.1%}" if perf else "-",
                             f"{perf[2]:.1f}" if perf else "-", f"{statistics.median(ratios):.3f}" if ratios else "-",
                             f"{statistics.median(shares):.2%}" if shares else "-"), flush=True)
            if whole < options.least:
                short.append(name)
    if short:
        sys.exit(f"fewer than {options.least:.0%} of the samples have a whole path: {', '.join(short)}")


if __name__ == "__main__":
    main()
