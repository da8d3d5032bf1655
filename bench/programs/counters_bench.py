#!/usr/bin/python3
"""What counting events costs, beside perf stat in the same interleaved rounds.

    counters_bench ATTUNE [--rounds N] [--only TEXT] [--table]

Wall time of: `true`; a program that makes 4 000 threads, one after the other; round trips of a byte through two pipes,
200 000 on one CPU, and 50 000 wherever the kernel puts them: between two CPUs a wake-up takes 2 to 50 us, so only ratios beyond that noise say anything.
`true` has 15 times as many rounds, since it takes milliseconds, and round trips on one CPU three times as many. Each as it is, under `attune counters`, and under `perf stat`, of the same events. With `-t` the time is the program's own, from its start to its end: attune
loads eBPF programs before, once, however long the program runs.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import real_programs_bench as real

THREADS = """
#include <pthread.h>
static void* Nothing(void* p) { return p; }
int main(void) {
  for (int i = 0; i < 4000; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, 0, Nothing, 0) != 0) return 1;
    pthread_join(thread, 0);
  }
  return 0;
}
"""
PIPES = """
#define _GNU_SOURCE
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
  int there[2], back[2];
  char byte = 0;
#ifdef ONE_CPU
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) return 1;
#endif
  if (pipe(there) != 0 || pipe(back) != 0) return 1;
  if (fork() == 0) {
    for (int i = 0; i < TRIPS; ++i)
      if (read(there[0], &byte, 1) != 1 || write(back[1], &byte, 1) != 1) _exit(1);
    _exit(0);
  }
  for (int i = 0; i < TRIPS; ++i)
    if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1) return 1;
  wait(0);
  return 0;
}
"""
SOFTWARE = "task-clock,context-switches,page-faults,cpu-migrations"
TIMES = "task-clock,context-switches,page-faults"


def seconds(*command):
    begin = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begin


def figures(attune, folder):
    """(name, program, options, limit beside the bare program or None, limit beside perf stat)"""
    def built(name, text, *flags):
        source, program = os.path.join(folder, name + ".c"), os.path.join(folder, name)
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        subprocess.run(["cc", "-O2", "-pthread", *flags, "-o", program, source], check=True)
        return program

    threads, pipes, on_one = built("threads", THREADS), built("pipes", PIPES, "-DTRIPS=50000"), built("pipes_on_one", PIPES, "-DTRIPS=200000", "-DONE_CPU")
    return [("true", "true", ["-e", TIMES], None, 1), ("4 000 threads", threads, ["-e", TIMES], 1.15, 0.65),
            ("4 000 threads, migrations too", threads, ["-e", SOFTWARE], None, None),
            ("4 000 threads, a row each, 4 events", threads, ["-t", "-e", SOFTWARE], 1.15, 0.65),
            *(row for where, program in (("on one CPU", on_one), ("anywhere", pipes)) for row in (
                (f"pipe round trips {where}", program, ["-e", TIMES], 1.08, 1),
                (f"pipe round trips {where}, 4 events", program, ["-e", SOFTWARE], 1.25, 1),
                (f"pipe round trips {where}, a row a thread, 4 events", program, ["-t", "-e", SOFTWARE], 1.25, 1),
                (f"pipe round trips {where}, a row a thread, an event of the CPUs", program, ["-t", "-e", "cpu-clock"], 1.25, 1)))]


def program_seconds(folder, *command):
    """Wall time of a program under attune, which prints it itself: the loading of eBPF programs is no part of it."""
    output = os.path.join(folder, "counts.json")
    subprocess.run([*command[:2], "--json", "-o", output, *command[2:]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    with open(output, encoding="utf-8") as file:
        return json.load(file)["seconds"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("attune")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--only", default="", help="figures that have this in their names")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    perf = shutil.which("perf")
    with tempfile.TemporaryDirectory(prefix="attune-bench-") as folder:
        for name, program, arguments, beside_bare, beside_perf in figures(os.path.abspath(options.attune), folder):
            if options.only not in name:
                continue
            bare, ours, perfs, again = [], [], [], []
            rounds = options.rounds * (15 if program == "true" else 3 if "on_one" in program else 1)
            for _ in range(rounds):
                bare.append(seconds(program))
                if "-t" in arguments:
                    ours.append(program_seconds(folder, options.attune, "counters", *arguments, "--", program))
                else:
                    ours.append(seconds(options.attune, "counters", *arguments, "--", program))
                if perf:
                    perfs.append(seconds(perf, "stat", "-e", arguments[-1], program))
                again.append(seconds(program))
            ratios = [o / b for o, b in zip(ours, bare)]
            middle, low, high = real.spread_of(ratios)
            note = f"{rounds} rounds; alone {1000 * statistics.median(bare):.1f} ms, same against same {statistics.median(a / b for a, b in zip(again, bare)):.3f}"
            real.show(real.figure(f"counters, {name}, beside the program alone", middle, "ratio", beside_bare, note, [low, high]), options.table)
            if not perfs:
                continue
            middle, low, high = real.spread_of([o / p for o, p in zip(ours, perfs)])
            note = f"{rounds} rounds; perf stat {1000 * statistics.median(perfs):.1f} ms, {statistics.median(p / b for p, b in zip(perfs, bare)):.3f} beside the program alone"
            real.show(real.figure(f"counters, {name}, beside perf stat", middle, "ratio", beside_perf, note, [low, high]), options.table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
