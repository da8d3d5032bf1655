#!/usr/bin/env python3
"""Dataflow graphs that one thing holds back: attune names it, and forecasts the run without it.

  bottlenecks.py ATTUNE PROGRAM [--rounds N] [--only NAME,NAME] [--names]

Each graph of PROGRAM (bottlenecks.cpp) runs under `attune run` as it is, and changed: what holds it back is half as dear, or gone. The
forecast is that of the first run, the truth the time of the second one, which follows at once; shown are medians of N rounds, and the
median of their ratios, as the speed of a virtual machine drifts. With --names only
what is named is checked, not the times, and one of N rounds must do: a virtual machine loses its CPUs for moments. Where none does and
other programs had the CPUs, that is said, and no failure.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
from attune_e2e import OthersLoad

KERNEL, DISPATCH, UNEVEN, THREADS = "halved", "dispatch_gain_ns", "imbalance_gain_ns", "threads_gain_ns"
# The forecast that each graph is changed by, and the finding; None: none, as all threads have work.
TRUTH = {
    "slow_first": (KERNEL, None), "slow_last": (KERNEL, None), "slow_of_six": (KERNEL, None),
    "slow_source": (KERNEL, "serial-kernel"), "slow_sink": (KERNEL, "serial-kernel"),
    "serial_loop": (KERNEL, "serial-kernel"), "serial_reduction": (KERNEL, "serial-kernel"),
    "long_branch": (KERNEL, "serial-kernel"), "long_chain_of_two": (KERNEL, "serial-kernel"), "two_loops": (KERNEL, "serial-kernel"),
    "few_instances": (KERNEL, "serial-kernel"), "uneven": (UNEVEN, "uneven-ranges"), "uneven_then_join": (UNEVEN, "uneven-ranges"),
    "wide": (KERNEL, None), "neighbours": (KERNEL, None), "far_loop": (KERNEL, None), "memory": (KERNEL, None),
    "tiny": (DISPATCH, "kernel-dispatch"), "tiny_grid": (DISPATCH, "kernel-dispatch"), "one_thread": (THREADS, None),
}
OF_GRAPHS = {"serial-kernel", "uneven-ranges", "kernel-dispatch"}
SLOW = {UNEVEN: "uneven", DISPATCH: "tiny"}
MOST_ERROR = 0.10


def run(attune, program, name, changed, folder):
    """@return the wall time in ns that the program measured, and its report"""
    recording = os.path.join(folder, "run.attune")
    arguments = [attune, "run", "-q", "-o", recording, "--", program, name] + (["changed"] if changed else [])
    wall_ns = float(subprocess.run(arguments, check=True, capture_output=True, timeout=300).stdout)
    report = json.loads(subprocess.run([attune, "report", "--json", recording], check=True, capture_output=True, timeout=300).stdout)
    os.remove(recording)
    return wall_ns, report


def named(report, what):
    """What is named first: a kernel, or a finding about one."""
    forecast = report["work"]["forecast"]
    first = forecast["halved"][0]["kernel"] if forecast and forecast["fits"] else "nothing: the model does not fit"
    findings = [row for row in report["findings"] if row["class"] in OF_GRAPHS]
    kind = findings[0]["class"] if findings else None
    about = findings[0]["object"]["name"].removeprefix("kernel ") if findings else first
    return (about if what in SLOW else first), kind


def forecast_of(report, what, wall_ns):
    """The run's time without what holds it back."""
    forecast = report["work"]["forecast"]
    gain = forecast["halved"][0]["gain_ns"] if what == KERNEL else forecast[what]
    return wall_ns * (1 - gain / forecast["measured_ns"])


def look_at(options, name, folder):
    what, kind = TRUTH[name]
    slow = SLOW.get(what, "work" if name == "one_thread" else "slow")
    forecasts, truths, problems, others = [], [], [], 0.0
    for _ in range(options.rounds):
        load = OthersLoad()
        wall_ns, report = run(options.attune, options.program, name, False, folder)
        found = named(report, what)
        if found != (slow, kind):
            problems.append(f"named is {found[0]}, {found[1]} in place of {slow}, {kind}")
            others = max(others, load.share())
        elif options.names:
            problems = []
            break
        else:
            forecasts.append(forecast_of(report, what, wall_ns))
            truths.append(run(options.attune, options.program, name, True, folder)[0])
    text = f"{name:18} {slow:8} {kind or 'all threads have work':22}"
    if truths:
        forecast, truth = statistics.median(forecasts), statistics.median(truths)
        error = statistics.median(each / true for each, true in zip(forecasts, truths)) - 1
        text += f" forecast {forecast * 1e-9:6.3f} s, true {truth * 1e-9:6.3f} s, {100 * error:+6.1f} %"
        if abs(error) > MOST_ERROR:
            problems.append(f"the forecast is more than {100 * MOST_ERROR:.0f} % off")
    print(text + "".join(f"\n    {problem}" for problem in dict.fromkeys(problems)), flush=True)
    if problems and options.names and others > OthersLoad.MUCH:
        print(f"skipped: {name} (could not be measured: others had {others:.0%} of the CPUs)")
        return True
    return not problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("attune")
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--names", action="store_true")
    options = parser.parse_args()
    names = subprocess.run([options.program], check=True, capture_output=True, text=True).stdout.split()
    if set(names) != set(TRUTH):
        sys.exit(f"graphs and truth differ: {set(names) ^ set(TRUTH)}")
    wanted = options.only.split(",") if options.only else names
    with tempfile.TemporaryDirectory() as folder:
        good = [look_at(options, name, folder) for name in wanted]
    print(f"{sum(good)} of {len(good)} as planted")
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
