#!/usr/bin/env python3
"""Draws the time of the guided scheduler against that of its peers, for each kernel time and number of instances.

Usage: tools/plot_granularity.py FIGURES.jsonl OUTPUT.svg

Reads the figures of bench/dataflow/granularity_bench: `build/release/bench/granularity_bench > build/granularity.jsonl`.
"""

import json
import re
import sys

CELL_WIDTH, CELL_HEIGHT, LABEL, HEAD, GAP = 44, 18, 172, 52, 28
PEERS = ["best fixed grain", "off", "auto_partitioner", "OpenMP guided"]
TITLES = ["the best fixed grain", "each instance alone", "oneTBB's auto_partitioner", "OpenMP's guided loop"]
COLOURS = [(0.7, "#0f766e", "#fff"), (0.95, "#5eead4", "#000"), (1.05, "#e5e7eb", "#000"), (1.1, "#fde68a", "#000"), (9e9, "#dc2626", "#fff")]
NAME = re.compile(r"granularity, (.*?)([\d.]+ [a-z]+) x (\d+), spread (\d): guided / (.*)")


def read(path):
    """{peer: {(kind, instances, spread): {kernel time: ratio}}} in the order of the figures."""
    found = {peer: {} for peer in PEERS}
    with open(path, encoding="utf-8") as file:
        for line in file:
            figure = json.loads(line)
            name = NAME.fullmatch(figure["figure"])
            if name:
                kind, time, instances, spread, peer = name.groups()
                found[peer].setdefault((kind, int(instances), spread), {})[time] = figure["value"]
    return found


def label(kind, instances, spread):
    exponent = {10: "10", 1000: "10³", 100000: "10⁵"}.get(instances, str(instances))
    if kind:
        return f"{kind.removesuffix(', ')}, {exponent}"
    return f"{exponent}, costs {'spread' if spread == '1' else 'equal'}"


def panel(out, x0, y0, title, rows, times):
    out.append(f'<text x="{x0 + LABEL}" y="{y0 + 16}" font-weight="bold">guided / {title}</text>')
    for column, time in enumerate(times):
        out.append(f'<text x="{x0 + LABEL + (column + 0.5) * CELL_WIDTH}" y="{y0 + 36}" text-anchor="middle">{time}</text>')
    for row, (key, ratios) in enumerate(rows):
        y = y0 + HEAD - 8 + row * CELL_HEIGHT
        out.append(f'<text x="{x0 + LABEL - 8}" y="{y + 13}" text-anchor="end">{label(*key)}</text>')
        for column, time in enumerate(times):
            if time not in ratios:
                continue
            _, fill, text = next(colour for colour in COLOURS if ratios[time] <= colour[0])
            x = x0 + LABEL + column * CELL_WIDTH
            out.append(f'<rect x="{x}" y="{y}" width="{CELL_WIDTH - 1}" height="{CELL_HEIGHT - 1}" fill="{fill}"/>')
            out.append(f'<text x="{x + CELL_WIDTH / 2}" y="{y + 13}" text-anchor="middle" fill="{text}">{ratios[time]:.2f}</text>')


def draw(found):
    times = list(dict.fromkeys(time for ratios in found[PEERS[0]].values() for time in ratios))
    rows = {peer: sorted(found[peer].items(), key=lambda item: (item[0][0], item[0][2], item[0][1])) for peer in PEERS}
    width = LABEL + CELL_WIDTH * len(times) + GAP
    height = HEAD + CELL_HEIGHT * len(rows[PEERS[0]]) + GAP
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * width} {2 * height}" font-family="sans-serif" font-size="11">',
        f'<rect width="{2 * width}" height="{2 * height}" fill="#fff"/>',
    ]
    for i, (peer, title) in enumerate(zip(PEERS, TITLES)):
        panel(out, (i % 2) * width, (i // 2) * height, title, rows[peer], times)
    return "\n".join([*out, "</svg>", ""])


def main(arguments):
    if len(arguments) != 2 or arguments[0].startswith("-"):
        print(__doc__.strip())
        return 2
    found = read(arguments[0])
    if not all(found.values()):
        print(f"{arguments[0]}: no figures of granularity_bench in it", file=sys.stderr)
        return 1
    with open(arguments[1], "w", encoding="utf-8") as file:
        file.write(draw(found))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
