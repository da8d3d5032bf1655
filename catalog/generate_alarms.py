#!/usr/bin/env python3
"""Turns the alarms (catalog/alarms/alarms.toml) into a C++ table, or into the table of docs/alarms.md.

    generate_alarms.py OUT.cpp RULES.toml SENSORS...         the table that the build compiles
    generate_alarms.py --docs DOC.md RULES.toml SENSORS...   puts the table between the marks of DOC.md

SENSORS are the files of the catalog: a rule that names a signal which no sensor can have stops the build, as does every other mistake.
"""
import re
import sys
import tomllib
from pathlib import Path

from derived import Formula, Signals
from generate import fail, text

# The values of `as`, as formulas of derived series.
FORMULAS = {
    "level": "level(signals)",
    "rate": "rate(signals)",
    "share": "largest(share(signals))",
    "ratio": "100 * level(signals) / level(over)",
    "margin": "level(over) - level(signals)",
    "surplus": "max(0, rate(signals) - rate(over))",
    "overlap": "max(0, share(signals) / 100 - (1 - min(100, largest(share(over))) / 100) * elements(share(signals)))",
}
OF_ONE_TIME = {"overlap"}
SEVERITIES = {"warning": "kWarning", "critical": "kCritical"}
REQUIRED = {"name", "severity", "description", "signals", "as", "of", "unit", "for", "text", "advice"}
OPTIONAL = {"over", "above", "below", "clear", "clear_after", "while", "off", "per"}
BEGIN, END = "<!-- rules: made by catalog/generate_alarms.py -->", "<!-- end of rules -->"


def seconds(place, value):
    if not re.fullmatch(r"\d+s", value):
        fail(place, f"'{value}' is not a time in seconds like 5s")
    return int(value[:-1])


def check_value(place, value, signals):
    if value["as"] not in FORMULAS:
        fail(place, f"as '{value['as']}' is none of {', '.join(FORMULAS)}")
    with_over = "over" in FORMULAS[value["as"]]
    if ("over" in value) != with_over:
        fail(place, f"as '{value['as']}' {'needs' if with_over else 'has no'} 'over'")
    if ("above" in value) == ("below" in value):
        fail(place, "has a threshold, either above or below")
    for _, taken, names in formula_of(place, value).terms:
        for name in names:
            kind = signals.find(place, name)["kind"]
            if (taken == "level") == (kind == "counter"):
                fail(place, f"'{name}' is a {kind}: as '{value['as']}' makes no sense of it")


def formula_of(place, value):
    expression = FORMULAS[value["as"]]
    lists = {key: value[key] for key in ("signals", "over") if key in value}
    return Formula(place, f"({expression}) / {value['per']}" if "per" in value else expression, lists)


def read(path, signals):
    data = tomllib.loads(path.read_text())
    if data.keys() != {"alarm"}:
        fail(path, "holds [[alarm]] tables and nothing else")
    seen = set()
    for rule in data["alarm"]:
        place = f"{path}: alarm '{rule.get('name', '?')}'"
        missing, unknown = REQUIRED - rule.keys(), rule.keys() - REQUIRED - OPTIONAL
        if missing or unknown:
            fail(place, f"lacks {', '.join(sorted(missing))}" if missing else f"has the unknown key {', '.join(sorted(unknown))}")
        if rule["name"] in seen or not re.fullmatch(r"[a-z]+\.[a-z_]+", rule["name"]):
            fail(place, "is there twice" if rule["name"] in seen else "a name is group.what")
        seen.add(rule["name"])
        if rule["severity"] not in SEVERITIES or rule["of"] not in ("each", "machine"):
            fail(place, "severity is warning or critical, of is each or machine")
        check_value(place, rule, signals)
        for condition in rule.setdefault("while", []):
            if condition.keys() - {"signals", "over", "as", "above", "below", "per"}:
                fail(place, "while: has an unknown key")
            check_value(place + ": while", condition, signals)
        threshold = rule.get("above", rule.get("below"))
        rule.setdefault("clear", threshold)
        if rule["clear"] > threshold if "above" in rule else rule["clear"] < threshold:
            fail(place, "clear lies on the wrong side of the threshold")
        if "{where}" in rule["text"] and rule["of"] == "machine":
            fail(place, "text: {where} of a machine says nothing")
    return data["alarm"]


def cpp_condition(place, value, rule, prefix):
    """The arrays that a condition needs, and the condition."""
    arrays, series = formula_of(place, value).cpp(prefix, value.get("unit", ""), rule["of"] == "each", value["as"] in OF_ONE_TIME)
    side = "true" if "above" in value else "false"
    return arrays, f"{{.series = {series}, .above = {side}, .threshold = {value.get('above', value.get('below'))}}}"


def cpp_rule(place, rule):
    prefix = "k_" + rule["name"].replace(".", "_")
    lines, condition = cpp_condition(place, rule, rule, prefix)
    conditions = []
    for i, also in enumerate(rule["while"]):
        arrays, value = cpp_condition(place, also, rule, f"{prefix}_while{i}")
        lines += arrays
        conditions.append(value)
    if conditions:
        lines.append(f"constexpr AlarmCondition {prefix}_while[] = {{{', '.join(conditions)}}};")
    hold = seconds(place, rule["for"])
    after = seconds(place, rule.get("clear_after", rule["for"]))
    fields = {"name": text(rule["name"]), "severity": f"AlarmSeverity::{SEVERITIES[rule['severity']]}", "description": text(rule["description"]),
              "text": text(rule["text"]), "advice": text(rule["advice"]), "condition": condition,
              "also": f"{prefix}_while" if conditions else "{}", "clear": rule["clear"], "for_ns": f"{hold}'000'000'000",
              "clear_after_ns": f"{after}'000'000'000", "on": "false" if rule.get("off", False) else "true"}
    return lines, "{" + ", ".join(f".{name} = {value}" for name, value in fields.items()) + "}"


def cpp(path, rules):
    lines = ["// Made by catalog/generate_alarms.py from catalog/alarms/alarms.toml. Do not edit.", '#include "analysis/alarms/alarm_rule.h"', "",
             "namespace attune::analysis {", "namespace {", "using model::AlarmSeverity;", "using model::SumRule;"]
    made = [cpp_rule(f"{path}: alarm '{rule['name']}'", rule) for rule in rules]
    for arrays, _ in made:
        lines += arrays
    lines += ["constexpr AlarmRule kRules[] = {", *[f"    {rule}," for _, rule in made], "};", "}  // namespace", "",
              "std::span<const AlarmRule> AlarmRules() { return kRules; }", "", "}  // namespace attune::analysis", ""]
    return "\n".join(lines)


def measured(value):
    names = " + ".join(f"`{name}`" for name in value["signals"])
    over = " + ".join(f"`{name}`" for name in value.get("over", []))
    if value.get("per", 1) != 1:
        names += f" / {value['per']:.0e}".replace("e+0", "e")
    return {"level": f"{names}", "rate": f"rate of {names}", "share": f"{names}, of the most that is possible", "ratio": f"{names} of {over}",
            "margin": f"{over} less {names}", "surplus": f"rate of {names} less that of {over}", "overlap": f"{names} beside {over}"}[value["as"]]


def number(value):
    return f"{value:g}" if value < 1e6 else f"{value / 1e6:g} M"


def markdown(rules):
    lines = ["| alarm | | raised when | for | cleared when | judged by |", "|---|---|---|---|---|---|"]
    for rule in rules:
        side, back = ("above", "at most") if "above" in rule else ("below", "at least")
        unit = f" {rule['unit']}" if rule["unit"] else ""
        extra = "".join(f", while {measured(also)} is {'above' if 'above' in also else 'below'} {number(also.get('above', also.get('below')))}"
                        for also in rule["while"])
        after = rule.get("clear_after", rule["for"])
        clear = f"{back} {number(rule['clear'])}{unit}" + (f" for {after}" if after != "0s" else "")
        off = " (off)" if rule.get("off", False) else ""
        lines.append(f"| `{rule['name']}`{off} | {rule['severity']} | {rule['description']}: {side} {number(rule.get('above', rule.get('below')))}{unit} "
                     f"| {rule['for']} | {clear} | {measured(rule)}{extra} |")
    return "\n".join(lines)


def put(document, table):
    head, begin, rest = document.read_text().partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        fail(document, f"lacks the marks '{BEGIN}' and '{END}'")
    document.write_text(f"{head}{BEGIN}\n{table}\n{END}{tail}")


def main():
    arguments = sys.argv[1:]
    docs = arguments[:1] == ["--docs"]
    out, rules, *sensors = [Path(name) for name in (arguments[1:] if docs else arguments)]
    alarms = read(rules, Signals(sensors))
    if docs:
        put(out, markdown(alarms))
    else:
        out.write_text(cpp(rules, alarms))


main()
