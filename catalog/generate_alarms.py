#!/usr/bin/env python3
"""Turns the alarms (catalog/alarms/alarms.toml) into a C++ table, or into the table of docs/alarms.md.

    generate_alarms.py OUT.cpp RULES.toml SENSORS...         the table that the build compiles
    generate_alarms.py --docs DOC.md RULES.toml SENSORS...   puts the table between the marks of DOC.md

SENSORS are the files of the catalog: a rule that names a signal which no sensor can have stops the build, as does every other mistake.
"""
import ast
import re
import sys
import tomllib
from pathlib import Path

from generate import fail, text

# What `as` says, as a formula of a derived series (src/analysis/derived/derived_series.h). sum, largest and elements take a value of the
# series (level, rate, share) and signals; what is not known of these is left out.
FORMULAS = {
    "level": "sum(level, signals)",
    "rate": "sum(rate, signals)",
    "share": "largest(share, signals)",
    "ratio": "100 * sum(level, signals) / sum(level, over)",
    "margin": "sum(level, over) - sum(level, signals)",
    "overlap": "max(0, sum(share, signals) / 100 - (1 - min(100, largest(share, over)) / 100) * elements(share, signals))",
}
OF_ONE_TIME = {"overlap"}
FOLDS = {"sum": "kSum", "largest": "kMax"}
OPERATIONS = {ast.Add: "kAdd", ast.Sub: "kSubtract", ast.Mult: "kMultiply", ast.Div: "kDivide", "min": "kMin", "max": "kMax"}
SEVERITIES = {"warning": "kWarning", "critical": "kCritical"}
REQUIRED = {"name", "severity", "description", "signals", "as", "of", "unit", "for", "text", "advice"}
OPTIONAL = {"over", "above", "below", "clear", "clear_after", "while", "off", "per"}
BEGIN, END = "<!-- rules: made by catalog/generate_alarms.py -->", "<!-- end of rules -->"


def seconds(place, value):
    if not re.fullmatch(r"\d+s", value):
        fail(place, f"'{value}' is not a time in seconds like 5s")
    return int(value[:-1])


class Signals:
    """Every signal that the sensors of the catalog can have."""

    def __init__(self, paths):
        self.sensors = {}
        for path in paths:
            data = tomllib.loads(path.read_text())
            self.sensors[data["sensor"]["name"]] = {signal["name"]: data.get("defaults", {}) | signal for signal in data["signal"]}

    def find(self, place, name):
        sensor, _, signal = name.partition(".")
        known = self.sensors.get(sensor)
        if known is None:
            fail(place, f"there is no sensor '{sensor}'")
        if signal in known:
            return known[signal]
        for pattern, entry in known.items():
            head, star, tail = pattern.partition("*")
            if star and signal.startswith(head) and signal.endswith(tail):
                return entry
        fail(place, f"sensor '{sensor}' has no signal '{signal}'")


class Formula:
    """Terms (fold, value of a series, which signals), those of `signals` first, and steps in reverse Polish notation."""

    def __init__(self, expression, per=1):
        tree = ast.parse(expression, mode="eval").body
        calls = [self.call(node) for node in ast.walk(tree) if isinstance(node, ast.Call)]
        self.terms = sorted(dict.fromkeys(call for call in calls if call[0] in FOLDS), key=lambda term: term[2] == "over")
        self.steps = []
        self.add(tree)
        if per != 1:
            self.steps += [("kNumber", per), ("kDivide", None)]

    @staticmethod
    def call(node):
        return (node.func.id, *(getattr(argument, "id", None) for argument in node.args))

    def add(self, node):
        if isinstance(node, ast.Constant):
            self.steps.append(("kNumber", node.value))
        elif isinstance(node, ast.Call) and node.func.id not in OPERATIONS:
            name, *what = self.call(node)
            same = [i for i, term in enumerate(self.terms) if list(term[1:]) == what and name in (term[0], "elements")]
            self.steps.append(("kElements" if name == "elements" else "kTerm", same[0]))
        else:
            operands = node.args if isinstance(node, ast.Call) else [node.left, node.right]
            for operand in operands:
                self.add(operand)
            self.steps.append((OPERATIONS[node.func.id if isinstance(node, ast.Call) else type(node.op)], None))


def check_value(place, value, signals):
    if value["as"] not in FORMULAS:
        fail(place, f"as '{value['as']}' is none of {', '.join(FORMULAS)}")
    terms = Formula(FORMULAS[value["as"]]).terms
    with_over = any(source == "over" for _, _, source in terms)
    if ("over" in value) != with_over:
        fail(place, f"as '{value['as']}' {'needs' if with_over else 'has no'} 'over'")
    if ("above" in value) == ("below" in value):
        fail(place, "has a threshold, either above or below")
    for _, taken, source in terms:
        for name in value[source]:
            kind = signals.find(place, name)["kind"]
            if (taken == "level") == (kind == "counter"):
                fail(place, f"'{name}' is a {kind}: as '{value['as']}' makes no sense of it")


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


def cpp_signals(names):
    return ", ".join("{" + ", ".join(text(part) for part in name.split(".", 1)) + "}" for name in names)


def cpp_step(op, operand):
    return {"kNumber": f"{{DerivedOp::{op}, {operand}}}", "kTerm": f"{{DerivedOp::{op}, 0, {operand}}}",
            "kElements": f"{{DerivedOp::{op}, 0, {operand}}}"}.get(op, f"{{DerivedOp::{op}}}")


def cpp_condition(value, rule, prefix):
    """The arrays that a condition needs, and the condition."""
    formula = Formula(FORMULAS[value["as"]], value.get("per", 1))
    arrays = [f"constexpr SignalName {prefix}_{source}[] = {{{cpp_signals(value[source])}}};" for source in ("signals", "over") if source in value]
    terms = ", ".join(f"{{{prefix}_{source}, SeriesValue::k{taken.title()}, SumRule::{FOLDS[fold]}}}" for fold, taken, source in formula.terms)
    arrays.append(f"constexpr DerivedTerm {prefix}_terms[] = {{{terms}}};")
    arrays.append(f"constexpr DerivedStep {prefix}_steps[] = {{{', '.join(cpp_step(*step) for step in formula.steps)}}};")
    flag = {True: "true", False: "false"}
    series = (f"{{.unit = {text(value.get('unit', ''))}, .terms = {prefix}_terms, .steps = {prefix}_steps, .each = {flag[rule['of'] == 'each']}, "
              f".of_one_time = {flag[value['as'] in OF_ONE_TIME]}}}")
    return arrays, f"{{.series = {series}, .above = {flag['above' in value]}, .threshold = {value.get('above', value.get('below'))}}}"


def cpp_rule(place, rule):
    prefix = "k_" + rule["name"].replace(".", "_")
    lines, condition = cpp_condition(rule, rule, prefix)
    conditions = []
    for i, also in enumerate(rule["while"]):
        arrays, value = cpp_condition(also, rule, f"{prefix}_while{i}")
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
            "margin": f"{over} less {names}", "overlap": f"{names} beside {over}"}[value["as"]]


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
