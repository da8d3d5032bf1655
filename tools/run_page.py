#!/usr/bin/env python3
"""Does what a page of docs/ says, in an empty folder.

    run_page.py PAGE FOLDER [--write] [--until HEADING] [--from HEADING]

    --write   puts what the commands printed into the page
    --until   what stands before this heading alone
    --from    what follows from this heading on, in the folder of a call that went until there

In their order, the page's blocks of code are
    ```cpp    a file, which is written: its first line is a comment that begins with its name
    ```diff   a change of these files, which is made
    ```sh     commands, each of which must end well. `attune compare` may find a difference; `attune view` is ended when its page answers
    ```text   what the last command of the block before printed (--write)
Exit codes: 0 all went well, 1 a command failed, 2 usage.
"""

import argparse
import importlib.util
import pathlib
import re
import signal
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```(cpp|diff|sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CHANGED = 6  # exit code of attune compare where something changed


class Failed(Exception):
    pass


def page_answers(address):
    spec = importlib.util.spec_from_file_location("page_answers", TOP / "tools" / "dev" / "page_answers.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.main([address]) == 0


def view(command, folder):
    """Until Ctrl-C."""
    with subprocess.Popen(["sh", "-c", "exec " + command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        printed, address = "", None
        for line in server.stdout:
            printed += line
            address = re.search(r"http://\S+", line)
            if address:
                break
        answers = bool(address) and page_answers(address[0])
        server.send_signal(signal.SIGINT)
        server.communicate()
    if not answers:
        raise Failed(f"{command}: no page answers\n{printed}")


def run(command, folder):
    """What it printed."""
    print("$ " + command, flush=True)
    if command.startswith("attune view "):
        view(command, folder)
        return ""
    done = subprocess.run(["bash", "-c", command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    print(done.stdout, flush=True)
    if done.returncode not in ((0, CHANGED) if command.startswith("attune compare ") else (0,)):
        raise Failed(f"{command}: exit code {done.returncode}")
    return done.stdout


def commands_of(text):
    """Without the explanations behind them; a line that ends with a backslash goes on."""
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip():
            yield re.sub(r"\s+# .*$", "", line)


def part_of(text, begin, end):
    """The text before, of, and behind a part that is named by its first heading, and by that after it."""
    def at(heading, default):
        found = re.search(rf"^#+ {re.escape(heading)}$", text, re.MULTILINE) if heading else None
        if heading and not found:
            raise Failed(f"there is no heading '{heading}'")
        return found.start() if found else default

    first, last = at(begin, 0), at(end, len(text))
    return text[:first], text[first:last], text[last:]


def play(text, folder):
    """The text with what was printed now."""
    printed = None

    def step(match):
        nonlocal printed
        kind, text = match[1], match[2]
        if kind == "cpp":
            name = re.match(r"// ([\w.]+)", text)
            if not name:
                raise Failed("a block of C++ does not begin with the name of its file")
            (folder / name[1]).write_text(text, encoding="utf-8")
        elif kind == "diff":
            subprocess.run(["patch", "-p0"], cwd=folder, input=text, text=True, check=True)
        elif kind == "sh":
            for command in commands_of(text):
                printed = run(command, folder)
        elif printed is not None:
            return f"```text\n{printed.rstrip()}\n```"
        return match[0]

    return BLOCK.sub(step, text)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--until", default="")
    parser.add_argument("--from", dest="begin", default="")
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    if not options.begin and any(options.folder.iterdir()):
        parser.error(f"{options.folder} is not empty")
    try:
        before, part, behind = part_of(options.page.read_text(encoding="utf-8"), options.begin, options.until)
        part = play(part, options.folder)
    except (Failed, subprocess.CalledProcessError) as error:
        print(f"run_page: {error}", file=sys.stderr)
        return 1
    if options.write:
        options.page.write_text(before + part + behind, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
