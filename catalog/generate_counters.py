#!/usr/bin/env python3
"""Turns the events of hardware counters (catalog/counters/hardware.toml) into a C++ table.

    generate_counters.py OUT.cpp COUNTERS.toml SENSOR.toml

SENSOR is the catalog's file of the sensor: each of its signals but the families has a counter, and each counter is one of its signals.
"""
import sys
import tomllib
from pathlib import Path

from generate import check_keys, fail, text

TYPES = {"hardware": "PERF_TYPE_HARDWARE", "cache": "PERF_TYPE_HW_CACHE", "raw": "PERF_TYPE_RAW"}


def read(path, signals):
    data = tomllib.loads(path.read_text())
    check_keys(path, data, {"counter"}, set())
    for counter in data["counter"]:
        place = f"{path}: counter '{counter.get('name', '?')}'"
        check_keys(place, counter, {"name", "rtm", "event"}, set())
        for event in counter["event"]:
            check_keys(f"{place}: event '{event.get('name', '?')}'", event, {"name", "type", "config"}, {"cores", "differs"})
            if event["type"] not in TYPES:
                fail(place, f"type '{event['type']}' is none of {', '.join(TYPES)}")
            if event["type"] == "raw" and not event.get("cores"):
                fail(place, f"event '{event['name']}': a raw event is one of some processors only")
    names = [counter["name"] for counter in data["counter"]]
    if names != signals:
        fail(path, f"has the counters {', '.join(names)}, and the sensor the signals {', '.join(signals)}")
    return data["counter"]


def cpp(counters):
    lines = ["// Made by catalog/generate_counters.py from catalog/counters/hardware.toml. Do not edit.", '#include "sensor/hardware/counters.h"', "",
             "namespace attune::sensor {", "namespace {"]
    for counter in counters:
        for i, event in enumerate(counter["event"]):
            cores = ", ".join(text(core) for core in event.get("cores", []))
            if cores:
                lines.append(f"constexpr std::string_view k_{counter['name']}_{i}[] = {{{cores}}};")
        lines.append(f"constexpr CounterEvent k_{counter['name']}[] = {{")
        for i, event in enumerate(counter["event"]):
            cores = f"k_{counter['name']}_{i}" if event.get("cores") else "{}"
            lines.append(f"    {{{text(event['name'])}, {cores}, {TYPES[event['type']]}, {event['config']:#x}, {text(event.get('differs', ''))}}},")
        lines.append("};")
    lines.append("constexpr HardwareCounter kCounters[] = {")
    lines += [f"    {{{text(counter['name'])}, {text(counter['rtm'])}, k_{counter['name']}}}," for counter in counters]
    lines += ["};", "}  // namespace", "", "std::span<const HardwareCounter> HardwareCounters() { return kCounters; }", "",
              "}  // namespace attune::sensor", ""]
    return lines


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    out, counters, sensor = (Path(argument) for argument in sys.argv[1:])
    signals = [signal["name"] for signal in tomllib.loads(sensor.read_text())["signal"] if "*" not in signal["name"]]
    out.write_text("\n".join(cpp(read(counters, signals))))


if __name__ == "__main__":
    main()
