#!/usr/bin/env python3
"""Prints the figures of a benchmark run as a table.

Usage: tools/bench_table.py [--check] FIGURES.jsonl

A line of the file is what bench/harness/figure.h prints. With --check the exit code is 1 if a figure is beyond its limit,
or a benchmark failed, or there are no figures.
"""

import json
import sys


def verdict(figure):
    """(value, limit, word) as text for one figure."""
    if figure.get("failed"):
        return "-", "-", "FAILED"
    if "unavailable" in figure:
        return "-", "-", "not here"
    value, limit, unit = figure["value"], figure["limit"], figure["unit"]
    if limit is None:
        return f"{value:.4g} {unit}", "-", ""
    lower = figure["better"] == "lower"
    inside = value <= limit if lower else value >= limit
    return f"{value:.4g} {unit}", f"{'<=' if lower else '>='} {limit:g} {unit}", "ok" if inside else "BEYOND"


def main(arguments):
    check = "--check" in arguments
    files = [argument for argument in arguments if argument != "--check"]
    if len(files) != 1 or files[0].startswith("-"):
        print(__doc__.strip())
        return 2
    with open(files[0], encoding="utf-8") as file:
        figures = [json.loads(line) for line in file if line.strip()]
    rows = [("figure", "value", "limit", "", "")]
    for figure in figures:
        rows.append((figure["figure"], *verdict(figure), figure.get("note") or figure.get("unavailable", "")))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for row in rows:
        print("  ".join([*(cell.ljust(width) for cell, width in zip(row, widths)), row[4]]).rstrip())
    bad = sum(row[3] in ("BEYOND", "FAILED") for row in rows)
    print(f"{len(figures)} figures, {bad} beyond their limit or failed")
    return 1 if check and (bad or not figures) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
