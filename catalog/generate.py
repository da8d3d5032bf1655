#!/usr/bin/env python3
"""Turns the catalog (catalog/*.toml) into a C++ table: generate.py OUT.cpp FILE.toml...

Every mistake in a catalog file stops the build with the file and the entry that it is in.
"""
import sys
import tomllib
from pathlib import Path

KINDS = {"counter": "kCounter", "up-down": "kUpDown", "gauge": "kGauge", "state": "kState"}
ELEMENTS = {"machine": "kMachine", "board": "kBoard", "package": "kPackage", "node": "kNode", "core": "kCore", "cpu": "kCpu",
            "device": "kDevice", "process": "kProcess", "thread": "kThread"}
SUMS = {"sum": "kSum", "mean": "kMean", "max": "kMax", "none": "kNone"}
UNITS_NS = {"us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
SENSOR_KEYS = {"name", "description", "source", "cost", "default_interval"}
SIGNAL_KEYS = {"name", "unit", "kind", "description"}


def fail(place, message):
    sys.exit(f"{place}: {message}")


def text(value):
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def interval_ns(place, value):
    for unit in ("us", "ms", "s"):
        if value.endswith(unit) and value[: -len(unit)].isdigit():
            return int(value[: -len(unit)]) * UNITS_NS[unit]
    fail(place, f"default_interval '{value}' is not a time like 100ms")


def check_sum(place, signal):
    if signal.setdefault("sum", "sum") not in SUMS:
        fail(place, f"sum '{signal['sum']}' is none of {', '.join(SUMS)}")
    if signal["sum"] in ("mean", "max") and signal["kind"] == "counter":
        fail(place, "a counter can only be summed, or left out (sum = \"none\")")
    if signal["sum"] != "none" and signal["kind"] == "state":
        fail(place, "a state does not add up: sum = \"none\"")


def check_keys(place, entry, required, optional):
    missing, unknown = required - entry.keys(), entry.keys() - required - optional
    if missing:
        fail(place, f"lacks {', '.join(sorted(missing))}")
    if unknown:
        fail(place, f"has the unknown key {', '.join(sorted(unknown))}")


def read(path):
    try:
        data = tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as error:
        fail(path, error)
    check_keys(path, data, {"sensor", "signal"}, set())
    check_keys(f"{path}: [sensor]", data["sensor"], SENSOR_KEYS, {"needs_program"})
    if not isinstance(data["sensor"].setdefault("needs_program", False), bool):
        fail(f"{path}: [sensor]", "needs_program is true or false")
    if data["sensor"]["name"] != path.stem:
        fail(path, f"describes the sensor '{data['sensor']['name']}': name the file after it")
    seen = set()
    for signal in data["signal"]:
        place = f"{path}: signal '{signal.get('name', '?')}'"
        check_keys(place, signal, SIGNAL_KEYS, {"element", "sum", "max_per_second"})
        if signal["name"] in seen:
            fail(place, "is there twice")
        seen.add(signal["name"])
        if signal["name"].count("*") > 1:
            fail(place, "has more than one star")
        if signal["kind"] not in KINDS:
            fail(place, f"kind '{signal['kind']}' is none of {', '.join(KINDS)}")
        if signal.setdefault("element", "machine") not in ELEMENTS:
            fail(place, f"element '{signal['element']}' is none of {', '.join(ELEMENTS)}")
        check_sum(place, signal)
        limit = signal.get("max_per_second")
        if limit is not None and (not isinstance(limit, int) or limit <= 0 or signal["kind"] == "gauge"):
            fail(place, "max_per_second is a whole number, in raw units, of something that is shown as a rate")
    return data


def main():
    out, paths = Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]]
    lines = ["// Made by catalog/generate.py from catalog/*.toml. Do not edit.", '#include "sensor/catalog.h"', "",
             "namespace attune::sensor {", "namespace {", "using model::ElementKind;", "using model::SeriesKind;", "using model::SumRule;"]
    sensors = [(path, read(path)) for path in paths]
    for path, data in sensors:
        lines.append(f"constexpr CatalogSignal k_{path.stem}[] = {{")
        for signal in data["signal"]:
            fields = [text(signal["name"]), f"ElementKind::{ELEMENTS[signal['element']]}", f"SeriesKind::{KINDS[signal['kind']]}",
                      text(signal["unit"]), text(signal["description"]), f"SumRule::{SUMS[signal['sum']]}"]
            if "max_per_second" in signal:
                fields.append(str(signal["max_per_second"]))
            lines.append(f"    {{{', '.join(fields)}}},")
        lines.append("};")
    lines.append("constexpr CatalogSensor kSensors[] = {")
    for path, data in sensors:
        sensor = data["sensor"]
        fields = [text(sensor[key]) for key in ("name", "description", "source", "cost")]
        fields.append(str(interval_ns(f"{path}: [sensor]", sensor["default_interval"])))
        fields.append("true" if sensor["needs_program"] else "false")
        lines.append(f"    {{{{{', '.join(fields)}}}, k_{path.stem}}},")
    lines += ["};", "}  // namespace", "", "std::span<const CatalogSensor> Catalog() { return kSensors; }", "",
              "}  // namespace attune::sensor", ""]
    out.write_text("\n".join(lines))


main()
