#!/usr/bin/python3
"""What tuning costs, and how fast it decides.

    tuning_cost_bench ATTUNE [--rounds N] [--only NAME;...] [--table]

Decision latency: a program whose teams of threads are narrow for 10 s becomes a crowd of 8 threads a team; from then to
the first step (a change on trial), and to the change that is kept. Cost: CPU time of all of attune, as a part of one CPU,
beside a program that sleeps and one that computes with nothing to gain, under `attune tune` and under `attune run`.
Load: a program that emits 10^6 events a second; what is not recorded is counted exactly.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import tempfile

import real_programs_bench as real

CALM_S, CROWD_S, COST_S, EVENTS_S, RATE = 10, 25, 20, 5, 1_000_000
COMPUTES = ["/usr/bin/python3", "-c", f"import time\nend = time.monotonic() + {COST_S}\nwhile time.monotonic() < end: sum(range(1000))"]


class Bench:
    def __init__(self, attune, folder):
        self.attune, self.recording = attune, os.path.join(folder, "t.attune")
        self.programs = os.path.join(os.path.dirname(attune), "..", "tests", "e2e")

    def observe(self, mode, *command):
        return subprocess.run([self.attune, mode, "-q", "-f", "-o", self.recording, "--", *command], capture_output=True, check=True)

    def query(self, sql):
        return json.loads(subprocess.run([self.attune, "query", "--json", self.recording, sql], capture_output=True, check=True).stdout)

    def latency(self):
        """@return seconds from the change of behaviour to the first step, and to what is kept"""
        done = self.observe("tune", os.path.join(self.programs, "crowd"), str(CALM_S + CROWD_S), str(CALM_S))
        changed = float(re.search(rb"crowd since ([\d.]+)", done.stderr).group(1))
        rows = self.query("select state, t_ns from decisions where knob = 'openmp.team' order by t_ns")
        first = min(row["t_ns"] for row in rows) * 1e-9 - changed
        kept = min((row["t_ns"] * 1e-9 - changed for row in rows if row["state"] == "kept"), default=None)
        return first, kept

    def cost(self, mode, command):
        self.observe(mode, *command)
        report = json.loads(subprocess.run([self.attune, "report", "--json", self.recording], capture_output=True, check=True).stdout)
        return report["attune"]["cores"]

    def events(self):
        """@return emitted, recorded, counted as lost"""
        done = self.observe("tune", os.path.join(self.programs, "many_events"), str(EVENTS_S), str(RATE))
        recorded = self.query("select count(*) as n from events where kind = 'instant'")[0]["n"]
        lost = self.query("select coalesce(sum(count), 0) as n from gaps where reason = 'dropped'")[0]["n"]
        return int(re.search(rb"(\d+) events", done.stdout).group(1)), recorded, lost


def latency(bench, rounds):
    steps = [bench.latency() for _ in range(rounds)]
    kept = [each for _, each in steps if each is not None]
    note = f"to the change on trial; to the change that is kept {statistics.median(kept):.1f} s" if kept else "nothing was kept"
    return real.spread_of([first for first, _ in steps]), "s", 5, note


def cost(command):
    def measure(bench, rounds):
        tune, run = [], []
        for _ in range(rounds):
            tune.append(100 * bench.cost("tune", command))
            run.append(100 * bench.cost("run", command))
        return real.spread_of(tune), "% CPU", 1, f"{statistics.median(run):.2f} % under attune run"
    return measure


def events(bench, rounds):
    wrong, note = [], ""
    for _ in range(rounds):
        emitted, recorded, lost = bench.events()
        wrong.append(abs(emitted - recorded - lost))
        note = f"of {emitted} events {recorded} are recorded and {lost} counted as lost"
    return real.spread_of(wrong), "events", 0, note


FIGURES = {
    "decision latency": latency,
    "cost beside a sleeping program": cost(["sleep", str(COST_S)]),
    "cost beside a computing program": cost(COMPUTES),
    "events neither kept nor counted": events,
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("attune")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--only", default="", help="names, with ; between them")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    wanted = set(filter(None, options.only.split(";")))
    for name, measure in FIGURES.items():
        if wanted and name not in wanted:
            continue
        with tempfile.TemporaryDirectory(prefix="attune-bench-") as folder:
            try:
                (middle, low, high), unit, limit, note = measure(Bench(os.path.abspath(options.attune), folder), options.rounds)
                line = real.figure(f"tuning, {name}", middle, unit, limit, f"{options.rounds} rounds; {note}", [low, high])
            except (subprocess.CalledProcessError, OSError, ValueError) as error:
                line = {"figure": f"tuning, {name}", "failed": True, "note": f"{error} {(getattr(error, 'stderr', b'') or b'')[-300:]!r}"}
            real.show(line, options.table)


if __name__ == "__main__":
    main()
