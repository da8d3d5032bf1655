#!/usr/bin/python3
"""The figures and tables of chapter 6 of P2G's thesis, drawn from runs of attune on this machine.

    p2g_thesis BUILD [--images FOLDER] [--rounds N] [--frames N] [--threads N] [--video FILE]

BUILD has bin/attune, bench/timers_bench, examples/p2g_kmeans and examples/p2g_mjpeg. Pictures are written into FOLDER (docs/images/thesis),
tables as Markdown to standard output. It needs ffmpeg, graphviz and matplotlib, and takes some minutes.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

import mjpeg_bench

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CLOCKS = ["gettimeofday", "clock_gettime", "RDTSC", "RDTSC non-serializing"]
KMEANS = ("2000", "100", "10")  # points, centres, iterations of the thesis
WALL = re.compile(r" in ([0-9.]+) s$", re.M)


def out_of(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def report_of(*command):
    """The report that a program of the examples prints of its run."""
    return subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True).stderr


def seconds_of(*command):
    return float(WALL.search(report_of(*command))[1])


class Thesis:
    def __init__(self, options, folder):
        import matplotlib
        matplotlib.use("svg")
        matplotlib.rcParams.update({"svg.hashsalt": "attune", "font.size": 9})
        from matplotlib import pyplot
        self.pyplot = pyplot
        self.options = options
        self.video = os.path.join(folder, "in.y4m")
        self.coded = os.path.join(folder, "out.avi")
        sample = options.video or mjpeg_bench.sample()
        mjpeg_bench.write_original(sample, options.frames, self.video)

    def kmeans(self, threads, scheduler, timing="timed"):
        return [os.path.join(self.options.build, "examples", "p2g_kmeans"), *KMEANS, str(threads), scheduler, timing]

    def mjpeg(self, threads):
        return [os.path.join(self.options.build, "examples", "p2g_mjpeg"), self.video, self.coded, "naive", str(threads)]

    def threads(self):
        return range(1, self.options.threads + 1)

    def save(self, figure, name):
        figure.savefig(os.path.join(self.options.images, name + ".svg"), bbox_inches="tight", metadata={"Date": None})
        self.pyplot.close(figure)

    def rounds_of(self, commands):
        """{name: seconds of each round}, the commands interleaved."""
        took = {name: [] for name in commands}
        for _ in range(self.options.rounds):
            for name, command in commands.items():
                took[name].append(seconds_of(*command))
        return took

    def clocks(self):
        """Figures 6.1.1 to 6.1.4 and Table 6.1."""
        figures = [json.loads(line) for line in out_of(os.path.join(self.options.build, "bench", "timers_bench")).splitlines()]
        value = {figure["figure"]: figure["value"] for figure in figures}
        counts = sorted({int(match[1]) for name in value for match in [re.search(r", (\d+) iterations", name)] if match})
        drawing, panels = self.pyplot.subplots(2, 2, figsize=(8, 5.5), sharex=True, sharey=True, layout="constrained")
        print("| time source | measured | execution | difference |\n|---|---|---|---|")
        for clock, panel in zip(CLOCKS, panels.flat):
            both = {what: [value[f"probe, {clock}, {count} iterations: {what}"] for count in counts] for what in ("measured", "execution")}
            for what, style in (("execution", "s-"), ("measured", "o-")):
                # Zero, which a clock of 1 us gives, has no place on a logarithmic scale.
                panel.loglog(counts, [ns if ns > 0 else float("nan") for ns in both[what]], style, label=what)
            panel.set_title(clock)
            panel.set_xlabel("iterations")
            panel.set_ylabel("ns an iteration")
            panel.legend()
            measured, execution = both["measured"][-1], both["execution"][-1]
            print(f"| {clock}, as the thesis's probe | {measured:.0f} ns | {execution:.0f} ns | {execution - measured:.0f} ns |")
        self.save(drawing, "timing")
        for name, ns in value.items():
            if name.startswith("timers of a graph"):
                print(f"| {name}, with less without | | {ns:.1f} ns | |")

    def graphs(self):
        """Figures 6.2 and 6.4."""
        for name in ("kmeans", "mjpeg"):
            program = os.path.join(SOURCE, "examples", "p2g", name + ".p2g")
            dot = out_of(os.path.join(self.options.build, "bin", "attune"), "p2g", "graph", program)
            subprocess.run(["dot", "-Tsvg", "-o", os.path.join(self.options.images, name + ".svg")], check=True, input=dot, text=True)

    def overhead(self):
        """Figure 6.3 and Table 6.2."""
        commands = {(threads, timing): self.kmeans(threads, "off", timing) for threads in self.threads() for timing in ("untimed", "timed")}
        took = self.rounds_of(commands)
        self.bars({("without timing" if timing == "untimed" else "with timing"): [took[threads, timing] for threads in self.threads()]
                   for timing in ("timed", "untimed")}, "overhead", "k-means, each instance alone")
        print("\n| k-means, 1 thread | average | stddev | minimum | maximum |\n|---|---|---|---|---|")
        for timing, label in (("untimed", "without timing"), ("timed", "with timing")):
            seconds = took[1, timing]
            print(f"| {label} | {statistics.mean(seconds):.4f} s | {statistics.stdev(seconds):.4f} s | {min(seconds):.4f} s | {max(seconds):.4f} s |")

    def bars(self, series, name, title):
        """Mean seconds by the number of threads, a bar each of the series, with its standard deviation."""
        drawing, panel = self.pyplot.subplots(figsize=(6, 3))
        width = 0.8 / len(series)
        for i, (label, rounds) in enumerate(series.items()):
            panel.bar([threads + i * width for threads in self.threads()], [statistics.mean(seconds) for seconds in rounds], width,
                      yerr=[statistics.stdev(seconds) for seconds in rounds], label=label)
        panel.set_title(title)
        panel.set_xticks([threads + 0.4 - width / 2 for threads in self.threads()], [str(threads) for threads in self.threads()])
        panel.set_xlabel("worker threads")
        panel.set_ylabel("s")
        panel.legend()
        self.save(drawing, name)

    def scaling(self):
        """Figure 6.5."""
        for name, ways in (("scaling-mjpeg", {"Motion JPEG, naive DCT": self.mjpeg}),
                           ("scaling-kmeans", {"guided": lambda threads: self.kmeans(threads, "guided"),
                                               "each instance alone": lambda threads: self.kmeans(threads, "off")})):
            took = self.rounds_of({(way, threads): command(threads) for way, command in ways.items() for threads in self.threads()})
            self.bars({way: [took[way, threads] for threads in self.threads()] for way in ways}, name,
                      "Motion JPEG" if "mjpeg" in name else "k-means")

    def costs(self):
        """Tables 6.3 to 6.5."""
        machine = dict(line.split(":", 1) for line in out_of("lscpu").splitlines() if ":" in line)
        print("\n| machine | |\n|---|---|")
        for key in ("Model name", "CPU(s)", "Thread(s) per core", "Hypervisor vendor"):
            if key in machine:
                print(f"| {key} | {machine[key].strip()} |")
        print(f"| kernel | {os.uname().sysname} {os.uname().release.split('-')[0]} |")
        for title, command in (("Motion JPEG, 4 threads", self.mjpeg(4)), ("k-means, off, 4 threads", self.kmeans(4, "off")),
                               ("k-means, guided, 4 threads", self.kmeans(4, "guided"))):
            rows = [re.split(r"\s{2,}", line.strip()) for line in report_of(*command).splitlines()]
            head = next(i for i, row in enumerate(rows) if row[0] == "Kernel")
            table = [row for row in rows[head:head + 9] if len(row) == 4]
            print(f"\n{title}:\n\n| " + " | ".join(table[0]) + " |\n|---|---|---|---|")
            for row in table[1:]:
                print("| " + " | ".join(row) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--images", default=os.path.join(SOURCE, "docs", "images", "thesis"))
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--frames", type=int, default=51)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--video")
    options = parser.parse_args()
    os.makedirs(options.images, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="attune-bench-") as folder:
        thesis = Thesis(options, folder)
        for part in (thesis.clocks, thesis.graphs, thesis.overhead, thesis.scaling, thesis.costs):
            part()
    return 0


if __name__ == "__main__":
    sys.exit(main())
