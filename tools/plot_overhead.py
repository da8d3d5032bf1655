#!/usr/bin/env python3
"""Draws the CPU time that recording takes from a busy program against the sampling rate (as the NUMAscope paper's Figure 8).

Usage: tools/plot_overhead.py FIGURES.jsonl OUTPUT.svg

Reads the figures of bench/sampler/overhead_bench: `build/release/bench/overhead_bench > build/overhead.jsonl`.
"""

import json
import math
import re
import sys

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 320, 64, 24, 48, 52
NUMASCOPE = [(1, 0.27), (1000, 5.0)]  # the two figures that its paper names


def read(path):
    """{rate: (median, low, high)} of attune, and the bare loop's triple, in percent."""
    attune, bare = {}, None
    with open(path, encoding="utf-8") as file:
        for line in file:
            figure = json.loads(line)
            if "spread" not in figure or not figure["figure"].startswith("CPU time taken"):
                continue
            triple = (figure["value"], *figure["spread"])
            rate = re.search(r"by attune record at (\d+) Hz$", figure["figure"])
            if rate:
                attune[int(rate[1])] = triple
            elif "by a bare loop" in figure["figure"] and figure["unit"] == "%":
                bare = triple
    return attune, bare


def draw(attune, bare):
    top = math.ceil(max(5.0, *(high for _, _, high in attune.values())))
    bottom = math.floor(min(0.0, *(low for _, low, _ in attune.values())))

    def x(rate):
        return LEFT + (WIDTH - LEFT - RIGHT) * (math.log10(rate) + 0.15) / 3.3

    def y(percent):
        return TOP + (HEIGHT - TOP - BOTTOM) * (top - percent) / (top - bottom)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text x="{LEFT}" y="22" font-size="14" font-weight="bold">CPU time taken from xz on two threads, 2 CPUs, all busy</text>',
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 12}" text-anchor="middle">samples a second (vmstat and cpu, recorded)</text>',
    ]
    for percent in range(bottom, top + 1):
        out.append(f'<path d="M{LEFT} {y(percent):.1f}H{WIDTH - RIGHT}" stroke="{"#888" if percent == 0 else "#ddd"}"/>')
        out.append(f'<text x="{LEFT - 8}" y="{y(percent) + 4:.1f}" text-anchor="end">{percent} %</text>')
    for rate in sorted(attune):
        out.append(f'<text x="{x(rate):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{rate}</text>')
    for rate, percent in NUMASCOPE:
        out.append(f'<circle cx="{x(rate):.1f}" cy="{y(percent):.1f}" r="5" fill="none" stroke="#b45309" stroke-width="2"/>')
    line = " ".join(f"{x(rate):.1f},{y(attune[rate][0]):.1f}" for rate in sorted(attune))
    out.append(f'<polyline points="{line}" fill="none" stroke="#0f766e" stroke-width="2"/>')
    for rate, (median, low, high) in sorted(attune.items()):
        out.append(f'<path d="M{x(rate):.1f} {y(low):.1f}V{y(high):.1f}" stroke="#0f766e"/>')
        out.append(f'<circle cx="{x(rate):.1f}" cy="{y(median):.1f}" r="4" fill="#0f766e"/>')
    legend = [("#0f766e", "attune, median and its 95 % interval"), ("#b45309", "NUMAscope, as its paper says (6 boards)")]
    if bare:
        middle = x(1000) + 14
        out.append(f'<path d="M{middle:.1f} {y(bare[1]):.1f}V{y(bare[2]):.1f}" stroke="#555"/>')
        out.append(f'<rect x="{middle - 4:.1f}" y="{y(bare[0]) - 4:.1f}" width="8" height="8" fill="#555"/>')
        legend.append(("#555", "a bare loop that wakes up, reads and parses"))
    for row, (colour, text) in enumerate(legend):
        out.append(f'<rect x="{LEFT + 14}" y="{TOP + 6 + 18 * row}" width="10" height="10" fill="{colour}"/>')
        out.append(f'<text x="{LEFT + 32}" y="{TOP + 15 + 18 * row}">{text}</text>')
    return "\n".join([*out, "</svg>", ""])


def main(arguments):
    if len(arguments) != 2 or arguments[0].startswith("-"):
        print(__doc__.strip())
        return 2
    attune, bare = read(arguments[0])
    if not attune:
        print(f"{arguments[0]}: no figures of overhead_bench in it", file=sys.stderr)
        return 1
    with open(arguments[1], "w", encoding="utf-8") as file:
        file.write(draw(attune, bare))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
