"""Derived series (src/analysis/derived/derived_series.h) from formulas, and the signals that these can have.

A formula has + - * /, min(), max(), numbers and values of signals: level(memory.MemTotal), rate(vmstat.pswpin), share(cpu.idle), the last
in percent of the largest rate. Those of several signals and elements are added up; largest(...) takes the largest instead,
elements(...) counts the elements. What is not known is left out.
"""
import ast
import tomllib

from generate import fail, text

VALUES = {"level": "kLevel", "rate": "kRate", "share": "kShare"}
FOLDS = {"sum": "kSum", "largest": "kMax"}
OPERATIONS = {ast.Add: "kAdd", ast.Sub: "kSubtract", ast.Mult: "kMultiply", ast.Div: "kDivide", "min": "kMin", "max": "kMax"}


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
    """Terms (fold, value, signals) and steps in reverse Polish notation."""

    def __init__(self, place, expression, lists=None):
        """lists: names that stand for several signals; the terms of the first of them come first."""
        self.place, self.lists, self.terms, self.steps = place, lists or {}, [], []
        for names in self.lists.values():
            self.terms += [term for term in self.calls(expression) if term[2] == tuple(names)]
        self.terms = list(dict.fromkeys(self.terms + self.calls(expression)))
        self.add(self.parsed(expression))

    def parsed(self, expression):
        try:
            return ast.parse(expression, mode="eval").body
        except SyntaxError as error:
            fail(self.place, f"'{expression}': {error.msg}")

    def calls(self, expression):
        """The terms of a formula."""
        terms, inner = [], set()
        for node in ast.walk(self.parsed(expression)):
            name = node.func.id if isinstance(node, ast.Call) else ""
            if name == "largest":
                inner.add(node.args[0])
                terms.append(self.term("largest", node.args[0]))
            elif name in VALUES and node not in inner:
                terms.append(self.term("sum", node))
        return terms

    def term(self, fold, node):
        if not isinstance(node, ast.Call) or node.func.id not in VALUES:
            fail(self.place, f"'{ast.unparse(node)}' is none of {', '.join(VALUES)}")
        signals = []
        for argument in node.args:
            signals += self.lists.get(ast.unparse(argument), [ast.unparse(argument)])
        return fold, node.func.id, tuple(signals)

    def add(self, node):
        name = node.func.id if isinstance(node, ast.Call) else type(getattr(node, "op", None))
        if isinstance(node, ast.Constant):
            self.steps.append(("kNumber", node.value))
        elif name in VALUES or name == "largest":
            term = self.term("largest", node.args[0]) if name == "largest" else self.term("sum", node)
            self.steps.append(("kTerm", self.terms.index(term)))
        elif name == "elements":
            self.steps.append(("kElements", self.terms.index(self.term("sum", node.args[0]))))
        elif name in OPERATIONS:
            for operand in node.args if isinstance(node, ast.Call) else [node.left, node.right]:
                self.add(operand)
            self.steps.append((OPERATIONS[name], None))
        else:
            fail(self.place, f"'{ast.unparse(node)}' is not known in formulas")

    def cpp(self, prefix, unit, each, of_one_time=False):
        """The arrays that the series needs, and the series."""
        arrays, terms, flag = [], [], {True: "true", False: "false"}
        for i, (fold, value, signals) in enumerate(self.terms):
            names = ", ".join("{" + ", ".join(text(part) for part in name.split(".", 1)) + "}" for name in signals)
            arrays.append(f"constexpr SignalName {prefix}_signals{i}[] = {{{names}}};")
            terms.append(f"{{{prefix}_signals{i}, SeriesValue::{VALUES[value]}, SumRule::{FOLDS[fold]}}}")
        steps = [f"{{DerivedOp::{op}}}" if number is None else f"{{DerivedOp::{op}, {number}}}" if op == "kNumber" else
                 f"{{DerivedOp::{op}, 0, {number}}}" for op, number in self.steps]
        arrays.append(f"constexpr DerivedTerm {prefix}_terms[] = {{{', '.join(terms)}}};")
        arrays.append(f"constexpr DerivedStep {prefix}_steps[] = {{{', '.join(steps)}}};")
        return arrays, (f"{{.unit = {text(unit)}, .terms = {prefix}_terms, .steps = {prefix}_steps, .each = {flag[each]}, "
                        f".of_one_time = {flag[of_one_time]}}}")
