#!/usr/bin/env python3
"""Turns the catalog (catalog/*.toml) into a C++ table, or into documentation.

    generate.py OUT.cpp FILE.toml...     the table that the build compiles
    generate.py --docs OUT.md FILE.toml...    docs/signals.md

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
SENSOR_FLAGS = {"needs_program", "by_request", "own_thread"}
LONGEST_MNEMONIC = 16


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


def check_mnemonic(place, signal, seen):
    mnemonic = signal.setdefault("mnemonic", "")
    if ("{}" in mnemonic) != ("*" in signal["name"]) and mnemonic:
        fail(place, "the mnemonic of a family holds {}, which stands for what the star matched; any other does not")
    if any(c.isspace() or c in '",' for c in mnemonic) or len(mnemonic) > LONGEST_MNEMONIC:
        fail(place, f"mnemonic '{mnemonic}' is a column heading: no spaces, quotes or commas, at most {LONGEST_MNEMONIC} characters")
    shown = mnemonic or signal["name"]
    if shown in seen:
        fail(place, f"mnemonic '{shown}' is that of signal '{seen[shown]}' too")
    seen[shown] = signal["name"]


def check_numbers(place, signal):
    limit = signal.get("max_per_second")
    if limit is not None and (not isinstance(limit, int) or limit <= 0 or signal["kind"] == "gauge"):
        fail(place, "max_per_second is a whole number, in raw units, of something that is shown as a rate")
    scale = signal.setdefault("scale", 0)
    if not isinstance(scale, int) or not -18 <= scale <= 18:
        fail(place, "scale is a whole number from -18 to 18: the value is the raw one times that power of ten")


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
    check_keys(f"{path}: [sensor]", data["sensor"], SENSOR_KEYS, SENSOR_FLAGS | {"also"})
    for flag in sorted(SENSOR_FLAGS):
        if not isinstance(data["sensor"].setdefault(flag, False), bool):
            fail(f"{path}: [sensor]", f"{flag} is true or false")
    if data["sensor"]["name"] != path.stem:
        fail(path, f"describes the sensor '{data['sensor']['name']}': name the file after it")
    seen, mnemonics = set(), {}
    for signal in data["signal"]:
        place = f"{path}: signal '{signal.get('name', '?')}'"
        check_keys(place, signal, SIGNAL_KEYS, {"element", "sum", "max_per_second", "mnemonic", "scale"})
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
        check_mnemonic(place, signal, mnemonics)
        check_numbers(place, signal)
    return data


def read_all(paths):
    sensors = [(path, read(path)) for path in paths]
    names = {path.stem for path in paths}
    for path, data in sensors:
        for other in data["sensor"].setdefault("also", []):
            if other not in names or other == path.stem:
                fail(f"{path}: [sensor]", f"also names '{other}', which is no other sensor")
    return sensors


def cpp_fields(fields):
    return "{" + ", ".join(f".{name} = {value}" for name, value in fields.items()) + "}"


def cpp_signal(signal):
    fields = {"pattern": text(signal["name"]), "element": f"ElementKind::{ELEMENTS[signal['element']]}",
              "kind": f"SeriesKind::{KINDS[signal['kind']]}", "unit": text(signal["unit"]), "description": text(signal["description"]),
              "sum": f"SumRule::{SUMS[signal['sum']]}"}
    if "max_per_second" in signal:
        fields["max_per_second"] = signal["max_per_second"]
    if signal["scale"] != 0:
        fields["scale"] = signal["scale"]
    if signal["mnemonic"]:
        fields["mnemonic"] = text(signal["mnemonic"])
    return cpp_fields(fields)


def cpp_sensor(path, sensor):
    fields = {key: text(sensor[key]) for key in ("name", "description", "source", "cost")}
    fields["default_interval_ns"] = interval_ns(f"{path}: [sensor]", sensor["default_interval"])
    for flag in ("needs_program", "own_thread", "by_request"):
        if sensor[flag]:
            fields[flag] = "true"
    return f"{{.info = {cpp_fields(fields)}, .signals = k_{path.stem}}}"


def cpp(sensors):
    lines = ["// Made by catalog/generate.py from catalog/*.toml. Do not edit.", '#include "sensor/catalog.h"', "",
             "namespace attune::sensor {", "namespace {", "using model::ElementKind;", "using model::SeriesKind;", "using model::SumRule;"]
    for path, data in sensors:
        lines.append(f"constexpr CatalogSignal k_{path.stem}[] = {{")
        lines += [f"    {cpp_signal(signal)}," for signal in data["signal"]]
        lines.append("};")
    lines.append("constexpr CatalogSensor kSensors[] = {")
    lines += [f"    {cpp_sensor(path, data['sensor'])}," for path, data in sensors]
    lines += ["};", "}  // namespace", "", "std::span<const CatalogSensor> Catalog() { return kSensors; }", "",
              "}  // namespace attune::sensor", ""]
    return lines


def cell(value):
    return value.replace("|", "\\|").replace("*", "\\*").replace("{}", "…")


def markdown_sensor(path, data):
    sensor = data["sensor"]
    when = "in every session that follows a program" if sensor["needs_program"] else "on request (`-s`)" if sensor["by_request"] else "in every session"
    lines = ["", f"## {sensor['name']}", f"{sensor['description'][0].upper()}{sensor['description'][1:]}.", "",
             f"- source: {sensor['source']}", f"- a reading costs: {sensor['cost']}", f"- sampled: {when}"]
    if sensor["also"]:
        lines.append("- and every signal of " + ", ".join(f"[{name}](#{name})" for name in sensor["also"]) + ", for each element")
    lines += ["", "| signal | heading | of | kind | unit | what it is |", "|---|---|---|---|---|---|"]
    for signal in data["signal"]:
        unit = signal["unit"] + (f" x 10^{signal['scale']}" if signal["scale"] else "")
        if "max_per_second" in signal:
            unit += f", at most {signal['max_per_second']} a second"
        heading = signal["mnemonic"] or signal["name"]
        lines.append(f"| {cell(signal['name'])} | {cell(heading)} | {signal['element']} | {signal['kind']} | {cell(unit)} | {cell(signal['description'])} |")
    return lines


def markdown(sensors):
    lines = ["# Signals", "", "Made by `catalog/generate.py --docs` from `catalog/*.toml`: every sensor that is built in, and every signal that it can have.",
             "`attune list signals` shows those of this machine. A name with a star is a family: one signal for each key that the running kernel has;",
             "… stands for what the star matched. Values are whole numbers of the unit, times a power of ten where one is given. Kinds and",
             "elements: [sensors.md](sensors.md)."]
    for path, data in sensors:
        lines += markdown_sensor(path, data)
    return lines + [""]


def main():
    arguments = sys.argv[1:]
    if len(arguments) < 2:
        sys.exit(__doc__.strip())
    docs = arguments[:1] == ["--docs"]
    out, *names = arguments[1:] if docs else arguments
    sensors = read_all(sorted(Path(name) for name in names))
    Path(out).write_text("\n".join(markdown(sensors) if docs else cpp(sensors)))


if __name__ == "__main__":
    main()
