#!/usr/bin/env python3
"""Finds lists of names, written by hand, of what has one place: tables, columns, page documents, export formats, verbs, levels, run options,
subcommands, classes of findings, components (docs/architecture.md).

    check_single_source.py [ROOT]

The names come from their places (KINDS), by reading the sources: nothing needs to be built. A list is

- two names or more of a kind as neighbours (an array, a set, the rows of a table, a type of alternatives, one text with words), where
  at least half of the neighbours are names of that kind;
- a value that is compared with two or more of them, where at least half of what it is compared with are names of that kind;
- two tables, classes of findings or levels by their constants, in an array or in one condition.

To name one, to handle each by code of its own, what an operator wants (`Tables()`), and JSON with fields of such names are no lists. Of columns it takes four of one table,
and three quarters of its columns (all of them, where they are keys with values). Tests, benchmarks, documentation and generated files are left out.

Prints one line for each (file:line: what) and exits 1 if there is any.
"""

import collections
import pathlib
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from check_includes import tracked_files  # noqa: E402

FINDING_CLASS = r'\bFindingClass (?:FindingClass::)?(k\w+)\{\s*(?:\.name = )?"([\w-]+)"'
# kind: (the files that are its place, how a name stands there; the last group is the name)
KINDS = {
    "table": (r"src/model/tables/\w+\.h", r'TableText kText\{\s*\.name = "(\w+)"'),
    "column": (r"src/model/tables/\w+\.h", r'\bCol\(&\w+::\w+,\s*"(\w+)"'),
    "page document": (r"src/analysis/page/\w+\.cpp", r'\breturn \{\s*\.name = "([\w-]+)"'),
    "export format": (r"src/cli/commands/export\.cpp", r'\bFormat\{"([\w-]+)"'),
    "verb": (r"src/session/(?:components|host)/\w+\.cpp", r'\.name = "(\w+)",\s*\.rank'),
    "level": (r"src/model/level\.h", r'"(\w+)"'),
    "run option": (r"src/session/core/run_options\.h", r'\{\.name = "([\w-]+)"'),
    "subcommand": (r"src/cli/commands/\w+\.cpp", r'\bcommand\.name = "([\w-]+)"'),
    "finding class": (r"src/analysis/findings/(?:\w+\.h|classes/\w+\.cpp)", FINDING_CLASS),
    "component": (r"src/session/(?:components|host)/\w+\.(?:h|cpp)", r"\bclass (\w+) (?:final )?: public Component\b"),
}
# Other files that may list a kind, and why.
ALLOWED = {
    ("src/session/host/components.cpp", "component"): "the list itself",
    ("src/session/core/run_options.h", "subcommand"): "the places of options, which the file of defaults calls by these names",
    ("src/analysis/findings/overlap.cpp", "finding class"): "the two that others explain",
    ("tools/check_docs.py", "subcommand"): "checks what stands behind some of them",
    ("tools/check_includes.py", "subcommand"): "modules of src/ of the same names",
}
LOOKED_AT = re.compile(r"(?:src|include|web/src|tools|catalog|cmake)/.*\.(?:cpp|h|c|ts|py|sh|cmake)$|dev$")
GENERATED = {"web/src/wire/tables.ts"}
GENERATED_PART = re.compile(r"^# Made by [^\n]*: begin\n.*?^# Made by [^\n]*: end\n", re.MULTILINE | re.DOTALL)
# Keys of objects are mostly JSON, whose fields have names of their own.
LEAST_COLUMNS = 4
COLUMN_SHARE = 0.75

STRING = r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\''
WORD = r"[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*"
C_COMMENT, HASH_COMMENT = r"//[^\n]*|/\*.*?\*/", r"\#[^\n]*"
TOKENS = {
    comment: re.compile(rf'(?P<skip>{comment}|R"(\w*)\(.*?\)\2"|"""(?:[^\\]|\\.)*?""")|(?P<text>{STRING})|(?P<word>{WORD})|(?P<number>\d[\w\']*)'
                        r"|(?P<sign>===|!==|==|!=|=>|->|&&|\|\||\+\+|[^\s\w])", re.DOTALL)
    for comment in (C_COMMENT, HASH_COMMENT)
}
EQUAL = {"==", "!=", "===", "!=="}

Token = collections.namedtuple("Token", "kind value line")  # kind: text, name (a constant that stands for one), word, sign, group, number
Group = collections.namedtuple("Group", "bracket before elements")  # before: the token in front of the bracket


class Names:
    """What there is of each kind, and where."""

    def __init__(self, root, files):
        self.of = {kind: set() for kind in KINDS}
        self.columns = {}  # by table
        self.constants = {}  # "Sync::kTable": ("table", "sync")
        for name in files:
            for kind, (place, pattern) in KINDS.items():
                if not re.fullmatch(place, name):
                    continue
                text = (root / name).read_text(encoding="utf-8")
                if kind == "level":
                    text = text.partition("kAll{")[2].partition("}")[0]
                found = re.findall(pattern, text)
                if kind == "finding class":
                    self.constants.update({f"FindingClass::{constant}": (kind, each) for constant, each in found})
                    found = [each for _, each in found]
                self.of[kind].update(found)
                if kind == "table" and found:
                    self.columns[found[0]] = set(re.findall(KINDS["column"][1], text))
                    row = re.findall(r"\bstruct (\w+) \{", text.partition("kTable{")[0])[-1]
                    self.constants[f"{row}::kTable"] = (kind, found[0])
        self.constants.update({f"Level::k{name.capitalize()}": ("level", name) for name in self.of["level"]})
        self.kinds = collections.defaultdict(set)
        for kind, names in self.of.items():
            if len(names) < 3:
                raise SystemExit(f"check_single_source: {len(names)} names of {kind} in {KINDS[kind][0]}: they stand there in another way")
            for name in names:
                self.kinds[name].add(kind)

    def of_token(self, token):
        """{(kind, name)} that the token can be; a text can be of several kinds."""
        if token.kind == "name":
            return {self.constants[token.value]}
        return {(kind, token.value) for kind in self.kinds.get(token.value, ())} if token.kind == "text" else set()


def tokens_of(name, text, names):
    hashed = name.endswith((".py", ".sh", ".cmake")) or "." not in name.rpartition("/")[2]
    if hashed:
        text = GENERATED_PART.sub(lambda part: "\n" * part[0].count("\n"), text)
    line, at = 1, 0
    for match in TOKENS[HASH_COMMENT if hashed else C_COMMENT].finditer(text):
        line += text.count("\n", at, match.start())
        at = match.start()
        if match["text"]:
            yield Token("text", match["text"][1:-1], line)
        elif match["word"]:
            constant = "::".join(match["word"].split("::")[-2:])
            yield Token("name" if constant in names.constants else "word", constant if constant in names.constants else match["word"], line)
        elif not match["skip"]:
            yield Token("sign" if match["sign"] else "number", match[0], line)


class File:
    """The lists of one file."""

    def __init__(self, name, text, names):
        self.name, self.names = name, names
        self.tokens = list(tokens_of(name, text, names))
        self.found = []  # (line, kind, names)

    def note(self, line, tokens, least_share=0.5, total=None):
        """Where enough of the tokens are names of a kind: a list, unless the kind has its place here, or another one of the same names does."""
        by_kind = collections.defaultdict(set)
        for token in tokens:
            for kind, name in self.names.of_token(token):
                by_kind[kind].add(name)
        total = total or len({token.value for token in tokens})
        enough = {kind: found for kind, found in by_kind.items()
                  if kind not in ("column", "component") and len(found) >= 2 and len(found) >= least_share * total}
        if not any(re.fullmatch(KINDS[kind][0], self.name) or (self.name, kind) in ALLOWED for kind in enough):
            self.found += [(line, kind, sorted(found)) for kind, found in enough.items()]

    def note_columns(self, line, tokens, share):
        written = {token.value for token in tokens if token.kind == "text"}
        for table, columns in self.names.columns.items():
            found = written & columns
            if len(found) >= max(LEAST_COLUMNS, share * len(columns)) and not re.fullmatch(KINDS["column"][0], self.name):
                self.found.append((line, f"column of {table}", sorted(found)))
                return

    def end_group(self, group, line):
        elements = [element for element in group.elements if element]
        # The arguments of a call are no neighbours.
        if group.bracket == "(" and group.before is not None and group.before.kind == "word" and group.before.value not in ("in", "return"):
            return
        plain = [element[0] for element in elements if len(element) == 1 and element[0].kind in ("text", "name")]
        if not self.is_wanted_by_operator(group):
            self.note(line, plain, total=max(1, len(elements)))
        self.note_columns(line, plain, COLUMN_SHARE)
        rows = [token for token in map(self.key_of, elements) if token is not None]
        self.note(line, [token for token in rows if token.kind == "text"], total=max(1, len(elements)))
        self.note_columns(line, rows, 1.0)

    def is_wanted_by_operator(self, group):
        """`Tables() const override { return {...}; }`"""
        return group.before is not None and group.before.value == "return" and self.in_function == "Tables"

    @staticmethod
    def key_of(element):
        """The first text of a row: {"name", ...}, Row{"name", ...}, {.name = "name", ...}, ("name", ...), 'name': ..."""
        first = element[0]
        if first.kind == "text" and len(element) > 1 and element[1].value == ":":
            return first
        last = element[-1]
        if last.kind != "group" or len(element) > 2 or (len(element) == 2 and not (first.kind == "word" and last.value.bracket == "{")):
            return None
        inner = last.value.elements[0]
        if len(inner) == 1 and inner[0].kind == "text":
            return inner[0]
        if len(inner) == 4 and [token.value for token in inner[:3]] == [".", "name", "="] and inner[3].kind == "text":
            return inner[3]
        return None

    def read_groups(self):
        """All that is in brackets. What has semicolons is a body, or members with a type each."""
        self.in_function = ""
        open_groups, elements, is_body = [], [[]], False
        for at, token in enumerate(self.tokens):
            before = self.tokens[at - 1] if at else None
            if token.kind == "sign" and token.value in "([{":
                if token.value == "(" and before is not None and before.kind == "word":
                    self.in_function = before.value.rpartition("::")[2]
                open_groups.append((elements, is_body, token, before))
                elements, is_body = [[]], False
            elif token.kind == "sign" and token.value in ")]}" and open_groups:
                outer, outer_is_body, opening, in_front = open_groups.pop()
                group = Group(opening.value, in_front, elements)
                if not is_body:
                    self.end_group(group, opening.line)
                elements, is_body = outer, outer_is_body
                elements[-1].append(Token("group", group, opening.line))
            elif token.kind == "sign" and token.value in ",;":
                elements.append([])
                is_body = is_body or token.value == ";"
            else:
                elements[-1].append(token)

    def read_runs(self):
        """Alternatives (`'a' | 'b'`), and texts that are nothing but names."""
        run = []
        for at, token in enumerate([*self.tokens, Token("end", "", 0)]):
            follows = at > 0 and self.tokens[at - 1].value == "|"
            if token.kind == "text" and (follows or not run):
                run.append(token)
                continue
            if token.value == "|" and run:
                continue
            if len(run) > 1:
                self.note(run[0].line, run)
            run = [token] if token.kind == "text" else []
        for token in self.tokens:
            if token.kind == "text":
                words = [Token("text", word, token.line) for word in re.split(r"[\s,|]+", token.value.strip())]
                if len(words) > 1:
                    self.note(token.line, words, least_share=1)
                    self.note_columns(token.line, words if all(word.value in self.names.kinds for word in words) else [], COLUMN_SHARE)

    def read_comparisons(self):
        compared = collections.defaultdict(list)
        switched = None
        for at, token in enumerate(self.tokens):
            if token.value == "switch":
                switched = at
            if token.kind != "text":
                continue
            before, after = self.tokens[at - 1] if at else None, self.tokens[at + 1] if at + 1 < len(self.tokens) else None
            if before is not None and before.value in EQUAL and at >= 2:
                left = at - 2
                while left > 1 and self.tokens[left - 1].value in (".", "->"):
                    left -= 2
                compared[" ".join(str(part.value) for part in self.tokens[left:at - 1])].append(token)
            elif before is not None and before.value == "case":
                compared[f"switch {switched}"].append(token)
            elif after is not None and after.value in EQUAL and at + 2 < len(self.tokens):
                compared[self.tokens[at + 2].value].append(token)
        for tokens in compared.values():
            self.note(tokens[0].line, tokens)
        # One condition: constants of a kind, joined.
        joined = []
        for at, token in enumerate([*self.tokens, Token("sign", ";", 0)]):
            if token.kind == "name" and at and self.tokens[at - 1].value in EQUAL:
                joined.append(token)
            elif token.value in (";", "{", "}", "?", ",") or (token.kind == "word" and token.value in ("if", "return")):
                if len(joined) > 1:
                    self.note(joined[0].line, joined)
                joined = []

    def read_components(self):
        added = [self.tokens[at + 2] for at, token in enumerate(self.tokens[:-2])
                 if token.value == "Add" and self.tokens[at + 1].value == "<" and self.tokens[at + 2].value in self.names.of["component"]]
        if len(added) > 1 and (self.name, "component") not in ALLOWED:
            self.found.append((added[0].line, "component", sorted({token.value for token in added})))

    def lists(self):
        self.read_groups()
        self.read_runs()
        self.read_comparisons()
        self.read_components()
        return sorted(set((line, kind, tuple(found)) for line, kind, found in self.found))


def main(arguments):
    if len(arguments) > 1 or (arguments and arguments[0].startswith("-")):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    root = pathlib.Path(arguments[0] if arguments else pathlib.Path(__file__).resolve().parents[1])
    files = tracked_files(root)
    names = Names(root, files)
    looked_at = [name for name in files if LOOKED_AT.match(name) and name not in GENERATED]
    count = 0
    for name in looked_at:
        for line, kind, found in File(name, (root / name).read_text(encoding="utf-8", errors="replace"), names).lists():
            count += 1
            print(f"{name}:{line}: a list of names of a {kind} ({', '.join(found)}): their one place is {KINDS[kind.partition(' of ')[0]][0]}; "
                  "derive it from there, or add it to ALLOWED with the reason")
    total = sum(len(found) for found in names.of.values())
    print(f"single source: {total} names, {len(looked_at)} files, {count} lists", file=sys.stderr)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
