#!/usr/bin/env python3
"""Says where two builds of attune read the same recordings differently: reports, queries, exports, comparisons.

    compare_outputs.py BEFORE AFTER FOLDER [--tables TABLE,...]

BEFORE, AFTER: the two binaries. FOLDER: recordings (*.attune); those named host-NAME.attune are merged, too.
JSON is compared by its values, everything else byte by byte. Prints the first differing lines of each output and ends
with their number; exit code 1 where there are any.
"""

import argparse
import difflib
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

VIEWS = ["samples_named", "regions", "damage"]  # of SQL, beside the tables
SINK = "sink:influxdb=/dev/stdout"
FOLDERS = {"otf2"}  # formats that are no file
SHOWN = 6


def tables_of(*binaries):
    """All that queries of each know. A binary of before tables could be listed has those of the others."""
    known = []
    for binary in binaries:
        listed = subprocess.run([binary, "list", "tables", "--json"], capture_output=True)
        if listed.returncode == 0:
            known.append({table["name"] for table in json.loads(listed.stdout) if table["in_queries"]})
    return sorted(set.intersection(*known)) + VIEWS


def formats_of(binary):
    """All that attune export writes, as completion offers them."""
    script = subprocess.run([binary, "completion", "bash"], check=True, capture_output=True, text=True).stdout
    return re.search(r'"export --to"[^)]*\) echo "words ([^"]*)"', script)[1].split()


def commands(recording, tables, formats):
    yield ["report", recording]
    yield ["report", recording, "--json"]
    yield ["alarms", recording]
    for table in tables:
        yield ["query", recording, f"select * from {table}", "--json"]
    for text in [*formats, SINK]:
        yield ["export", recording, "--to", text, *(["-o", "OUT"] if text in FOLDERS else [])]


def run(binary, arguments, folder):
    out = os.path.join(folder, "out")
    result = subprocess.run([binary, *(out if each == "OUT" else each for each in arguments)], capture_output=True, check=False, stdin=subprocess.DEVNULL,
                            env=dict(os.environ, NO_COLOR="1", COLUMNS="100"))
    text = result.stdout + b"\n" + result.stderr.replace(binary.encode(), b"attune").replace(folder.encode(), b".")
    for place, _, names in sorted(os.walk(out)):
        for name in sorted(names):
            with open(os.path.join(place, name), "rb") as f:
                text += f"\n{name}: ".encode() + without_trace_id(f.read()).hex().encode()
    return result.returncode, text


def without_trace_id(data):
    """Of OTF2's anchor file: each trace has a random number behind the program's name."""
    at = data.find(b"attune\0")
    return data if not data.startswith(b"\x03BOTF2") or at < 0 else data[:at + 7] + data[at + 20:]


def values(text):
    """JSON in one layout, its keys in one order."""
    lines = []
    try:
        lines = json.dumps(json.loads(text), indent=1, sort_keys=True).splitlines()
    except ValueError:
        pass
    return lines or text.decode(errors="replace").splitlines()


def difference(before, after):
    if before[0] != after[0]:
        return [f"exit code {before[0]} before, {after[0]} now", after[1].decode(errors="replace")[-200:]]
    if before[1] == after[1]:
        return []
    one, other = values(before[1]), values(after[1])
    return [line for line in difflib.unified_diff(one, other, lineterm="", n=0) if not line.startswith(("---", "+++", "@@"))]


def compare(arguments, list_of_arguments):
    count = 0
    for words in list_of_arguments:
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
            lines = difference(run(arguments.before, words, one), run(arguments.after, words, other))
        if lines:
            count += 1
            print("attune", *words)
            for line in lines[:SHOWN]:
                print("   ", line[:200])
            if len(lines) > SHOWN:
                print(f"    and {len(lines) - SHOWN} more")
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("folder")
    parser.add_argument("--tables", help="of which all rows are compared; all, if it is left out")
    arguments = parser.parse_args()
    recordings = sorted(glob.glob(os.path.join(arguments.folder, "*.attune")))
    if not recordings:
        parser.error(f"there is no recording in {arguments.folder}")
    # What is new in the other binary cannot be compared.
    tables = arguments.tables.split(",") if arguments.tables else tables_of(arguments.before, arguments.after)
    formats = formats_of(arguments.after)
    all_commands = [words for recording in recordings for words in commands(recording, tables, formats)]
    all_commands += [["compare", one, other] for one, other in zip(recordings, recordings[1:])]
    hosts = [name for name in recordings if os.path.basename(name).startswith("host-")]
    if len(hosts) > 1:
        all_commands.append(["merge", *hosts, "-o", "OUT/merged.attune", "--json"])
    count = compare(arguments, all_commands)
    print(f"{len(recordings)} recordings, {len(all_commands)} outputs, {count} differ")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
