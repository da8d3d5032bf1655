#!/usr/bin/env python3
"""Turns the figures of status and health (catalog/status/status.toml) into a C++ table.

    generate_status.py OUT.cpp FIGURES.toml SENSORS...

SENSORS are the files of the catalog: a formula with a signal that no sensor can have stops the build, as does every other mistake.
"""
import sys
import tomllib
from pathlib import Path

from derived import Formula, Signals
from generate import fail, text


def checked(place, expression, signals):
    formula = Formula(place, expression)
    for _, value, names in formula.terms:
        for name in names:
            kind = signals.find(place, name)["kind"]
            if value != "level" and kind != "counter":
                fail(place, f"'{name}' is a {kind}: it has no {value}")
    return formula


def cpp(path, signals):
    lines = ["// Made by catalog/generate_status.py from catalog/status/status.toml. Do not edit.", '#include "analysis/status/status_figures.h"',
             "", "namespace attune::analysis {", "namespace {", "using model::SumRule;"]
    figures = []
    for i, figure in enumerate(tomllib.loads(path.read_text())["figure"]):
        place = f"{path}: figure '{figure.get('key', '?')}'"
        is_list = "of" in figure
        if figure.keys() != {"key"} | ({"of", "fields"} if is_list else {"formula"}):
            fail(place, "has a key and a formula, or a key, of and fields")
        arrays, series = checked(place, figure["of" if is_list else "formula"], signals).cpp(f"k{i}", "", is_list)
        lines += arrays
        fields = []
        for j, (key, expression) in enumerate(figure.get("fields", {}).items()):
            arrays, field = checked(f"{place}: {key}", expression, signals).cpp(f"k{i}_{j}", "", True)
            lines += arrays
            fields.append(f"{{{text(key)}, {field}}}")
        if fields:
            lines.append(f"constexpr StatusField k{i}_fields[] = {{{', '.join(fields)}}};")
        figures.append(f"    {{{text('/' + figure['key'])}, {series}, {f'k{i}_fields' if fields else '{}'}}},")
    lines += ["constexpr StatusFigure kFigures[] = {", *figures, "};", "}  // namespace", "",
              "std::span<const StatusFigure> AllStatusFigures() { return kFigures; }", "", "}  // namespace attune::analysis", ""]
    return "\n".join(lines)


out, figures_file, *sensors = [Path(name) for name in sys.argv[1:]]
out.write_text(cpp(figures_file, Signals(sensors)))
