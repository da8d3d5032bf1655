"""InfluxDB's line protocol, read by the rules of its reference, and by nothing of attune's: what is not allowed is an error.

https://docs.influxdata.com/influxdb/v2/reference/syntax/line-protocol/
"""

import re

INTEGER = re.compile(r"-?\d+i")
FLOAT = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")
TIME = re.compile(r"-?\d+")


class LineError(ValueError):
    pass


def parse(text):
    """[(measurement, {tag: value}, {field: value}, time)] of whole lines."""
    if text and not text.endswith("\n"):
        raise LineError(f"the last line is not whole: {text[-80:]!r}")
    return [parse_line(line) for line in text.split("\n")[:-1]]


def parse_line(line):
    try:
        return Line(line).parse()
    except LineError as error:
        raise LineError(f"{error}: {line!r}") from None


class Line:
    def __init__(self, line):
        self.line, self.at = line, 0
        if not line or line[0] == "#":
            raise LineError("no point")
        if any(ord(c) < 32 for c in line):
            raise LineError("a control character")

    def name(self, ends, escapable):
        """Text up to an unescaped character of `ends`. A backslash before what is not escapable stands for itself."""
        value = ""
        while self.at < len(self.line) and self.line[self.at] not in ends:
            if self.line[self.at] == "\\" and self.line[self.at + 1:self.at + 2] in tuple(escapable):
                self.at += 1
            elif self.line[self.at] in escapable:
                raise LineError(f"unescaped {self.line[self.at]!r}")
            value += self.line[self.at]
            self.at += 1
        if not value:
            raise LineError("an empty name or value")
        return value

    def take(self, wanted):
        if self.line[self.at:self.at + 1] != wanted:
            raise LineError(f"{wanted!r} expected at {self.at}")
        self.at += 1

    def next_is(self, wanted):
        return self.line[self.at:self.at + 1] == wanted

    def field_value(self):
        if self.next_is('"'):
            self.at += 1
            value = ""
            while not self.next_is('"'):
                if self.next_is("\\") and self.line[self.at + 1:self.at + 2] in ('"', "\\"):
                    self.at += 1
                if self.at >= len(self.line):
                    raise LineError("a text without its end")
                value += self.line[self.at]
                self.at += 1
            self.at += 1
            return value
        end = self.at
        while end < len(self.line) and self.line[end] not in ", ":
            end += 1
        word, self.at = self.line[self.at:end], end
        if INTEGER.fullmatch(word):
            value = int(word[:-1])
            if not -2**63 <= value < 2**63:
                raise LineError("an integer beyond 64 bits")
            return value
        if FLOAT.fullmatch(word):
            return float(word)
        raise LineError(f"no field value: {word!r}")

    def pairs(self, value):
        pairs = {}
        while True:
            key = self.name("=", ",= ")
            if key == "time":
                raise LineError("'time' is reserved")
            if key in pairs:
                raise LineError(f"{key} twice")
            self.take("=")
            pairs[key] = value()
            if not self.next_is(","):
                return pairs
            self.at += 1

    def parse(self):
        measurement = self.name(", ", ", ")
        tags = {}
        if self.next_is(","):
            self.at += 1
            tags = self.pairs(lambda: self.name(", ", ",= "))
            if list(tags) != sorted(tags):
                raise LineError("tags are not in order")
        self.take(" ")
        fields = self.pairs(self.field_value)
        self.take(" ")
        time = self.line[self.at:]
        if not TIME.fullmatch(time):
            raise LineError(f"no time: {time!r}")
        return measurement, tags, fields, int(time)
