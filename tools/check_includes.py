#!/usr/bin/env python3
"""Checks the rules of docs/architecture.md that a compiler does not: who may include whom, no circles, file sizes, words and paths.

Usage: tools/check_includes.py [ROOT]

Prints one line for each violation (file:line: what, and the rule) and exits 1 if there is any.
"""

import collections
import pathlib
import re
import subprocess
import sys

# Who may include whom, besides itself. PUBLIC is include/attune, which stands on libc alone.
PUBLIC = "include/attune"
CONTRACTS = {"base", "model", "wire"}
PRODUCERS = {"sensor", "tunlet", "actuator", "kernel", "track", "patch", "profile"}
READERS = {"store", "analysis", "live"}
# What brings these two together.
JOINERS = {"export", "merge"}
BELOW_SESSION = CONTRACTS | PRODUCERS | READERS | JOINERS | {"counter", "machine", "module", "probe", "sink", "symbols", "dataflow", PUBLIC}
MAY_INCLUDE = {
    PUBLIC: set(),
    "wire": set(),
    "base": {"wire"},
    "model": {"base", "wire"},
    "machine": CONTRACTS,
    "counter": CONTRACTS | {PUBLIC},  # the library for programs
    "probe": {"wire", PUBLIC},
    "patch/inner": {"wire"},
    "symbols": {"base", "wire"},
    **{module: CONTRACTS for module in PRODUCERS},
    **{module: CONTRACTS | {"symbols"} for module in READERS | {"actuator", "patch"}},
    "profile": CONTRACTS | {"counter", "symbols"},
    **{module: CONTRACTS | {"symbols", "store", "analysis"} for module in JOINERS},
    "analysis": CONTRACTS | {"counter", "symbols"},  # metrics of groups
    "sensor": CONTRACTS | {"counter", PUBLIC},  # plug-ins
    "sink": CONTRACTS | {PUBLIC},
    "module": CONTRACTS | {"counter", PUBLIC},
    "dataflow": CONTRACTS | {PUBLIC},
    "session": BELOW_SESSION,
    "console": BELOW_SESSION | {"session"},
    "cli": BELOW_SESSION | {"session", "console"},
    "cluster": BELOW_SESSION | {"session"},
}
# Their headers use libc alone: programs and the probe include them.
LIBC_ONLY = {PUBLIC, "wire"}
# The public interface in C++: it may include C++'s headers, and nothing else of ours.
PUBLIC_CPP = re.compile(r"include/attune/flow(\.h|/\w+\.h)")

CODE = {".c", ".h", ".cpp"}
# Sources that people write; data and generated files may be as long as they are.
SIZED = CODE | {".ts", ".css", ".py", ".sh", ".cmake"}
MAX_LINES = 800
BINARY = {".png", ".jpg", ".gif", ".webp", ".ico", ".attune", ".zst", ".xz", ".bin", ".woff2"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]')
FORBIDDEN = [
    (re.compile(r"\b(TODO|FIXME|XXX|HACK)\b"), "unfinished work: finish it or open a task"),
    (re.compile(r"<bits/stdc\+\+\.h>"), "a header that is not part of C++"),
    (re.compile(r'#\s*include\s*[<"]vmlinux\.h[">]'), "vmlinux.h is of one kernel: declare the few fields with preserve_access_index"),
    (re.compile(r"(?<![\w.$}/])/(home/[a-z][\w.-]*|Users/\w+|work/\w+|root/\w+)"), "a path of one machine"),
]
# Locks that clang's analysis does not see. Modules that may not include base have none of ours (probe, wire).
STD_LOCK = re.compile(
    r"\bstd::((shared_|recursive_)?(timed_)?mutex|lock_guard|unique_lock|scoped_lock|shared_lock|condition_variable(_any)?)\b"
)
NOT_CODE = re.compile(r'"[^"]*"|//.*')
LOCKS_HEADER = "src/base/thread_safety.h"
# These files hold the words that they look for.
EXEMPT = {"tools/check_includes.py", "tests/tools/check_includes_test.py"}


def tracked_files(root):
    """Tracked and new files, but not ignored ones; without git, everything outside build folders."""
    git = ["git", "-c", "safe.directory=*", "-C", str(root)]
    try:
        listing = subprocess.run([*git, "ls-files", "-co", "--exclude-standard"], check=True, capture_output=True, text=True)
        names = listing.stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        names = [str(path.relative_to(root)) for path in root.rglob("*")]
    skipped = ("build/", ".git/", "web/node_modules/", "web/dist/")
    return sorted({name for name in names if (root / name).is_file() and not name.startswith(skipped)})


def module_of(name):
    """The row of the table that a file of src/ or include/ belongs to; None for other files."""
    parts = pathlib.PurePosixPath(name).parts
    if parts[:2] == ("include", "attune"):
        return PUBLIC
    if parts[0] != "src" or len(parts) < 3:
        return None
    if parts[1:3] == ("patch", "inner"):
        return "patch/inner"
    return parts[1]


def check_include(root, name, module, quote, target):
    """What is wrong with one #include, or None."""
    if ".." in pathlib.PurePosixPath(target).parts:
        return f'"{target}": include from src/ or include/, not by a relative path'
    if module in LIBC_ONLY and name.endswith(".h") and not PUBLIC_CPP.fullmatch(name) and quote == "<" and not target.endswith(".h"):
        return f"<{target}>: {module} uses libc alone"
    if target.startswith("attune/"):
        included = PUBLIC
    elif (root / "src" / target).is_file():
        included = module_of("src/" + target)
    elif quote == '"' and target.split("/")[0] in MAY_INCLUDE:
        included = target.split("/")[0]
    else:
        return None
    if included == module or included in MAY_INCLUDE[module]:
        return None
    if module == "patch" and included == "patch/inner":
        return None
    allowed = ", ".join(sorted(MAY_INCLUDE[module])) or "nothing of ours"
    return f'"{target}": {module} may include {allowed}'


def check_file(root, name):
    """Yields (line number, what) for one file."""
    path = root / name
    if path.suffix in BINARY:
        return
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        return
    if path.suffix in SIZED and len(lines) > MAX_LINES:
        yield len(lines), f"{len(lines)} lines: a file over {MAX_LINES} lines is two files"
    module = module_of(name)
    if module is not None and module not in MAY_INCLUDE:
        yield 1, f"src/{module} is not in the include table: add it here and to docs/architecture.md"
        module = None
    if path.suffix == ".h" and name.startswith("src/") and "#pragma once" not in lines:
        yield 1, "a header starts with #pragma once"
    has_our_locks = (module == "base" or "base" in MAY_INCLUDE.get(module, ())) and name != LOCKS_HEADER
    for number, line in enumerate(lines, 1):
        include = INCLUDE.match(line) if path.suffix in CODE else None
        if include and module is not None:
            problem = check_include(root, name, module, *include.groups())
            if problem:
                yield number, problem
        if include and include.group(2).startswith("cli/") and module != "cli" and not name.startswith("tests/"):
            yield number, "nothing includes cli"
        if name in EXEMPT:
            continue
        std_lock = STD_LOCK.search(NOT_CODE.sub("", line)) if has_our_locks else None
        if std_lock:
            yield number, f"{std_lock.group(0)}: clang does not check it, take those of base/thread_safety.h"
        for pattern, reason in FORBIDDEN:
            found = pattern.search(line)
            if found:
                yield number, f"{found.group(0)}: {reason}"


def file_node(name):
    """src/a/b.h and src/a/b.cpp are one file: src/a/b."""
    return str(pathlib.PurePosixPath(name).with_suffix(""))


def folder_node(name):
    """The subfolder of a module that a file is in; a file directly in a module's root counts for itself."""
    parts = pathlib.PurePosixPath(name).parts
    return "/".join(parts[:3]) if len(parts) > 3 else file_node(name)


def src_includes(root, names):
    """Yields (name, line number, included name) for the includes of files of src/ by each other."""
    known = set(names)
    for name in names:
        if not name.startswith("src/") or pathlib.PurePosixPath(name).suffix not in CODE:
            continue
        for number, line in enumerate((root / name).read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            include = INCLUDE.match(line)
            if include and "src/" + include.group(2) in known:
                yield name, number, "src/" + include.group(2)


def components(graph):
    """Tarjan: the sets of nodes that reach each other, those of one node left out."""
    order, low, path, found = {}, {}, [], []
    for root in graph:
        if root in order:
            continue
        order[root] = low[root] = len(order)
        path.append(root)
        visits = [(root, iter(graph[root]))]
        while visits:
            node, targets = visits[-1]
            for target in targets:
                if target not in order:
                    order[target] = low[target] = len(order)
                    path.append(target)
                    visits.append((target, iter(graph.get(target, ()))))
                    break
                if target in low:  # on the path
                    low[node] = min(low[node], order[target])
            else:
                visits.pop()
                if visits:
                    before = visits[-1][0]
                    low[before] = min(low[before], low[node])
                if low[node] == order[node]:
                    members = path[path.index(node) :]
                    del path[-len(members) :]
                    for member in members:
                        del low[member]
                    if len(members) > 1:
                        found.append(set(members))
    return found


def shortest_circle(graph, start, members):
    """The nodes of a shortest way from `start` back to it, both ends included."""
    before = {start: None}
    queue = collections.deque([start])
    while queue:
        node = queue.popleft()
        for target in graph.get(node, ()):
            if target == start:
                circle = [start]
                while node is not None:
                    circle.append(node)
                    node = before[node]
                return circle[::-1]
            if target in members and target not in before:
                before[target] = node
                queue.append(target)
    raise AssertionError(f"{start} is in no circle")


def check_circles(root, names):
    """Yields (name, line number, what) for one circle of each set of files, and of folders, that include each other."""
    includes = list(src_includes(root, names))
    for kind, node_of in (("files", file_node), ("folders", folder_node)):
        graph = collections.defaultdict(dict)
        for name, number, target in includes:
            if node_of(name) != node_of(target):
                graph[node_of(name)].setdefault(node_of(target), (name, number))
        for members in components(graph):
            circle = shortest_circle(graph, min(members), members)
            yield *graph[circle[0]][circle[1]], f"circle of {kind}: {' -> '.join(circle)}"


def main(arguments):
    if len(arguments) > 1 or (arguments and arguments[0].startswith("-")):
        print(__doc__.strip())
        return 0 if arguments in (["-h"], ["--help"]) else 2
    root = pathlib.Path(arguments[0] if arguments else pathlib.Path(__file__).resolve().parent.parent)
    names = tracked_files(root)
    if not names:
        print(f"{root}: no files to check", file=sys.stderr)
        return 1
    violations = 0
    for name in names:
        if name.startswith("tests/fuzz/corpus/"):
            continue
        for number, problem in check_file(root, name):
            print(f"{name}:{number}: {problem}")
            violations += 1
    for name, number, problem in check_circles(root, names):
        print(f"{name}:{number}: {problem}")
        violations += 1
    print(f"include rules: {len(names)} files, {violations} violations", file=sys.stderr)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
