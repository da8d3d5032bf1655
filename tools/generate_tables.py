#!/usr/bin/env python3
"""Writes what other languages and the documentation know of the tables, from attune's own description (src/model/tables).

    generate_tables.py BINARY [--check]

BINARY: attune. --check: changes nothing, and fails where a file is not as it would be written.
"""

import json
import os
import re
import subprocess
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
READER, PAGE, DOCS = "tools/attune_reader.py", "web/src/wire/tables.ts", "docs/tables.md"
BEGIN, END = "# Made by tools/generate_tables.py: begin\n", "# Made by tools/generate_tables.py: end\n"


def stored(table):
    """As frames have them: the integers, then the texts."""
    texts = [column["name"] for column in table["columns"] if column["type"] == "text"]
    return [column["name"] for column in table["columns"] if column["type"] != "text"], texts


def camel(name):
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


def python(tables, text):
    lines = ["TABLES = {\n"]
    for table in tables:
        ints, texts = stored(table)
        ints += ["*"] if table["has_series_columns"] else []
        lines.append(f'    {table["number"]}: ("{table["name"]}", "{" ".join(ints)}", "{" ".join(texts)}"),\n')
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    return text[:begin] + "".join(lines) + "}\n" + text[end:]


def typescript(tables, _):
    lines = ["// Made by tools/generate_tables.py of src/model/tables: where frames have the columns of each table, among the integers (ints) or\n"
             "// the texts.\n\nexport const enum Table {\n"]
    lines += [f'  {camel(table["name"])} = {table["number"]},\n' for table in tables]
    lines.append("}\n")
    for table in tables:
        lines.append(f'\n/** {table["about"]} */\nexport const {camel(table["name"])} = {{')
        columns = [f" {name}: {i}" for names in stored(table) for i, name in enumerate(names)]
        lines.append(",".join(columns) + " } as const;\n")
        for column in table["columns"]:
            words = [f"{camel(word.replace(' ', '_'))} = {i}" for i, word in enumerate(column["words"]) if word]
            if words:
                lines.append(f'export const enum {camel(table["name"])}{camel(column["name"])} {{ {", ".join(words)} }}\n')
    return "".join(lines)


def linked(text):
    return re.sub(r"\b([a-z-]+\.md)\b", r"[\1](\1)", text).replace("|", "\\|")


def markdown(tables, _):
    lines = ["# Tables\n\nWhat a recording has, as `attune query` shows it ([query.md](query.md)), `attune list tables` prints it, exports name it and\n"
             "frames number it ([recording-format.md](recording-format.md)). What is not known is NULL. Types: *time* is nanoseconds of\n"
             "CLOCK_MONOTONIC; *element*, *series* and *stream* are ids; *word* is one of those that are listed.\n\n"
             "Made by `tools/generate_tables.py` of `src/model/tables`.\n"]
    for table in tables:
        where = "" if table["in_queries"] else "; not in queries"
        lines.append(f'\n## {table["name"]}\n{linked(table["about"][0].upper() + table["about"][1:])}. Number {table["number"]}{where}.\n\n'
                     "| column | type | unit | what |\n|---|---|---|---|\n")
        for column in table["columns"]:
            words = [word for word in column["words"] if word]
            about = linked(column["about"]) + (": " + ", ".join(f"`{word}`" for word in words) if words else "")
            lines.append(f'| `{column["name"]}` | {column["type"]} | {column["unit"]} | {about} |\n')
    return "".join(lines)


def main():
    if len(sys.argv) not in (2, 3) or (len(sys.argv) == 3 and sys.argv[2] != "--check"):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    tables = json.loads(subprocess.run([sys.argv[1], "list", "tables", "--json"], check=True, capture_output=True).stdout)
    stale = []
    for path, make in ((READER, python), (PAGE, typescript), (DOCS, markdown)):
        whole = os.path.join(TOP, path)
        before = ""
        if os.path.exists(whole):
            with open(whole, encoding="utf-8") as f:
                before = f.read()
        after = make(tables, before)
        if after == before:
            continue
        stale.append(path)
        if len(sys.argv) == 2:
            with open(whole, "w", encoding="utf-8") as f:
                f.write(after)
    if len(sys.argv) == 3 and stale:
        print(f"not as src/model/tables says: {', '.join(stale)}\n  hint: tools/generate_tables.py {sys.argv[1]}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
