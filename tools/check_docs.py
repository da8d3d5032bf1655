#!/usr/bin/env python3
"""Checks that README.md, CHANGELOG.md and docs/*.md tell the truth about links, commands, options, sensors, queries and paths.

    check_docs.py BINARY [ROOT]

BINARY: attune. Prints one line for each violation (file:line: what is wrong: what to do) and exits 1 if there is any.
"""

import functools
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

INDEX = "docs/README.md"
MAIN_PAGES = (INDEX, "README.md", "docs/architecture.md")  # The last two link to the index.
FOLDERS = "src|tools|tests|docs|catalog|web|include|bench|examples|cmake"
PATH = re.compile(rf"(?<![\w./-])(?:{FOLDERS})/[\w./*{{}},+-]*[\w*}}/]")
OPERATORS = {"&&", "||", "|", ";", ">", ">>", "<", "--", "...", "…", "do"}
# Options of other programs that pages name.
FOREIGN = {"--even", "--ranks", "--io-threads", "--block-size", "--oversubscribe", "--rankfile", "--small"}
# What the steps of a page would add.
ADDED = {"docs/adding-a-sensor.md": {"files", "src/sensor/files", "catalog/files.toml", "tests/sensor/files_test.cpp"}, "docs/adding-a-subcommand.md": {"labels", "src/cli/commands/labels.cpp"},
         "docs/adding-a-component.md": {"mark", "src/session/components/marks"},
         "docs/growth.md": {"elements"},
         "docs/adding-a-finding.md": {"src/analysis/findings/classes/churn.cpp"},
         "docs/adding-a-page-document.md": {"src/analysis/page/modules.cpp", "web/src/panes", "web/src/panes/modules.ts"}}


# Rows of options, and the table of those that a console file may have, with what it calls their values.
OPTION_ROWS, OPTION_TABLE = "src/session/core/run_options.h", "docs/console.md"
VALUES = {"a text, as on the command line": "text", "a text, or a list of them": "texts", "true or false": "switch"}


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)


def described_options(text):
    """{option: (its value as the help names it, or '')}"""
    options = {}
    for short, long, value in re.findall(r"^  (?:(-\w), |    )(--[\w-]+)(?: ([A-Z\[]\S*))?", text, re.MULTILINE):
        options[long] = value
        if short:
            options[short] = value
    return options


def console_options(root):
    """{option: its kind of VALUES} of those that a console file may have."""
    options = {}
    for row in (root / OPTION_ROWS).read_text(encoding="utf-8").split("{.name = ")[1:]:
        if re.search(r"\.places = [^,}]*(kInFiles|kInConsoleFile)", row):
            options[re.match(r'"([\w-]+)"', row)[1]] = "texts" if ".many = true" in row else "text" if ".type = " in row else "switch"
    return options


class Program:
    """The names that the binary and ./dev know."""

    def __init__(self, binary, dev):
        self.binary = binary
        completion = output(binary, "completion", "bash").stdout
        self.subcommands = set(re.search(r"^_attune_commands='([^']*)'", completion, re.MULTILINE)[1].split())
        self.words = {}
        for keys, words in re.findall(r'^ +((?:"[^"]*"\d*\|?)+)\) echo "words ([^"]*)"', completion, re.MULTILINE):
            for key in keys.split("|"):
                self.words[key.replace('"', "")] = set(words.split())
        control = output(binary, "ctl", "--help").stdout.partition("\nCommands:\n")[2].partition("\n\n")[0]
        self.control = {line.split()[0] for line in control.splitlines()}
        self.sensors = set(output(binary, "list", "sensors", "--names").stdout.split())
        self.dev = {}
        for command, rest in re.findall(r"^  ([a-z]+)((?: --?[\w-]+| [A-Z]+| \[[^\]]*\])*)  ", output(str(dev), "help").stdout, re.MULTILINE):
            self.dev.setdefault(command, set()).update(re.findall(r"--[\w-]+", rest))
        if not (self.subcommands and self.control and self.sensors and self.dev):
            raise RuntimeError(f"{binary} or {dev} does not list what it has: build first")

    @functools.lru_cache(maxsize=None)
    def options(self, subcommand):
        """Of a subcommand, also of a hidden one; None: there is none of this name."""
        result = output(self.binary, subcommand, "--help")
        return described_options(result.stdout) if result.returncode == 0 else None

    @functools.lru_cache(maxsize=None)
    def takes_program(self, subcommand):
        """Whether all words from the first one on are a program and its arguments."""
        return "[--] PROGRAM" in output(self.binary, subcommand, "--help").stdout

    @functools.lru_cache(maxsize=None)
    def any_options(self):
        of_dev = {option for options in self.dev.values() for option in options}
        return of_dev.union(*(self.options(subcommand) for subcommand in self.subcommands))

    @functools.lru_cache(maxsize=None)
    def query_error(self, sql):
        """What attune query says of the statement, on a recording that is made for it; '' where it runs."""
        if not hasattr(self, "folder"):
            self.folder = tempfile.TemporaryDirectory()
            made = output(self.binary, "record", "-q", "-s", "loadavg", "--for", "50ms", "-o", self.folder.name + "/docs.attune")
            if made.returncode:
                raise RuntimeError(f"no recording to query: {made.stderr}")
        result = output(self.binary, "query", self.folder.name + "/docs.attune", sql)
        return result.stderr.strip().splitlines()[0] if result.returncode else ""


class Page:
    """A file, apart: its code (spans and lines of blocks, with their line) and its text (without code, lines kept)."""

    def __init__(self, root, name):
        self.name = name
        text = (root / name).read_text(encoding="utf-8")
        if name == "CHANGELOG.md":  # The past may name what is gone.
            sections = re.split(r"^(?=## )", text, flags=re.MULTILINE)
            text = "".join(sections[:2])
        self.spans, self.blocks, prose = [], [], []
        lines, fenced = text.splitlines(), False
        for number, line in enumerate(lines, 1):
            if line.lstrip().startswith("```"):
                fenced = not fenced
                prose.append("")
            elif fenced or re.match(r"    +(\$ )?(sudo |\./|\.\./|build/\S+/)?(attune|dev|ctl) ", line):
                self.blocks.append((number, line.strip().removeprefix("$ ")))
                prose.append("")
            else:
                prose.append(line)
        self.shows_error = {number - 1 for number, line in enumerate(lines, 1) if line.strip().startswith("attune: ")}
        self.lines = lines
        joined = "\n".join(prose)

        def take(match):
            self.spans.append((joined.count("\n", 0, match.start()) + 1, " ".join(match[2].split())))
            return re.sub(r"[^\n]", " ", match[0])

        # A span ends in its paragraph.
        self.text = re.sub(r"(`+)((?:(?!\n\s*\n).)+?)\1(?!`)", take, joined, flags=re.DOTALL)
        self.headings = [(number, heading) for number, heading in enumerate(prose, 1) if re.match(r"#{1,6} ", heading)]

    def anchors(self):
        seen, found = {}, set(re.findall(r'<a (?:name|id)="([^"]+)"', self.text))
        for _, heading in self.headings:
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.lstrip("#").strip()).lower()
            slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
            found.add(f"{slug}-{seen[slug]}" if slug in seen else slug)
            seen[slug] = seen.get(slug, 0) + 1
        return found

    def links(self):
        for match in re.finditer(r"\]\(\s*([^()\s]+)\s*\)|(?:src|href)=\"([^\"]+)\"", self.text):
            target = match[1] or match[2]
            if not re.match(r"[a-z]+:", target):
                yield self.text.count("\n", 0, match.start()) + 1, target

    def commands(self):
        """(line, text) of all code that may hold a command; lines of an open quotation or with a backslash are one."""
        yield from self.spans
        blocks = dict(self.blocks)
        for number, line in self.blocks:
            if number in self.shows_error or number not in blocks:
                continue
            end = number
            while (line.count('"') % 2 or line.endswith("\\")) and end < min(number + 8, len(self.lines)):
                line = line.removesuffix("\\") + " " + self.lines[end].strip()
                end += 1
                blocks.pop(end, None)
            yield number, re.split(r" {3,}(?=\w)", line)[0]  # A column of explanations may follow.


class Check:
    def __init__(self, root, program):
        self.root, self.program = root, program
        names = ["README.md", "CHANGELOG.md", *sorted(f"docs/{path.name}" for path in (root / "docs").glob("*.md"))]
        self.pages = {name: Page(root, name) for name in names}
        self.violations = []

    def report(self, page, line, what, advice):
        self.violations.append(f"{page.name}:{line}: {what}: {advice}")

    def run(self):
        for page in self.pages.values():
            self.check_links(page)
            self.check_paths(page)
            for line, text in page.commands():
                self.check_command(page, line, text)
            for line, text in page.spans:
                if re.match(r"--[a-z][\w-]*", text):
                    self.check_bare_option(page, line, re.match(r"--[\w-]+", text)[0])
                elif re.match(r"select\s", text, re.IGNORECASE):
                    self.check_sql(page, line, text)
        self.check_index()
        if OPTION_TABLE in self.pages:
            self.check_console_options(self.pages[OPTION_TABLE])
        return self.violations

    def check_links(self, page):
        for line, target in page.links():
            file, _, anchor = target.partition("#")
            whole = (self.root / page.name).parent / file if file else self.root / page.name
            if not whole.exists():
                self.report(page, line, f"there is no {target}", "correct the link or write the page")
                continue
            name = whole.resolve().relative_to(self.root.resolve()).as_posix()
            if anchor and name in self.pages and anchor not in self.pages[name].anchors():
                self.report(page, line, f"{name} has no heading for #{anchor}", "link to a heading that it has")

    def linked_pages(self, name):
        return {((self.root / name).parent / target.partition("#")[0]).resolve() for _, target in self.pages[name].links()}

    def check_index(self):
        if INDEX not in self.pages:
            self.violations.append(f"{INDEX}:1: it is missing: write it, with a line for each page of docs/")
            return
        listed = self.linked_pages(INDEX)
        for page in self.pages.values():
            if page.name.startswith("docs/") and page.name != INDEX and (self.root / page.name).resolve() not in listed:
                self.report(page, 1, f"{INDEX} does not list this page", "add a line for it there")
        for name in MAIN_PAGES[1:]:
            if name in self.pages and (self.root / INDEX).resolve() not in self.linked_pages(name):
                self.report(self.pages[name], 1, f"no link to {INDEX}", "add one")

    def check_console_options(self, page):
        options = console_options(self.root)
        for line, row in enumerate(page.lines, 1):
            cells = [cell.strip() for cell in row.split("|")]
            if len(cells) != 4 or cells[2] not in VALUES:
                continue
            for name in re.findall(r"`([\w-]+)`", cells[1]):
                if options.pop(name, None) != VALUES[cells[2]]:
                    self.report(page, line, f"no option {name} of a console file is {cells[2]}", f"write what {OPTION_ROWS} says")
        for name in options:
            self.report(page, 1, f"the table of options lacks {name}", "add it")

    def check_paths(self, page):
        added = ADDED.get(page.name, set())
        for line, text in page.spans:
            for path in PATH.findall(text):
                if path.startswith(("web/dist", "web/node_modules")) or re.search(r"/[A-Z]+\b", path) or any(path.startswith(new) for new in added):
                    continue
                for one in self.expanded(path):
                    if not any(self.root.glob(one.rstrip("/"))):
                        self.report(page, line, f"there is no {one}", "name the file that it is now")

    @staticmethod
    def expanded(path):
        braces = re.search(r"\{([^{}]*)\}", path)
        return [path[:braces.start()] + word + path[braces.end():] for word in braces[1].split(",")] if braces else [path]

    def check_command(self, page, line, text):
        lexer = shlex.shlex(text, posix=True, punctuation_chars=False)
        lexer.whitespace_split, lexer.commenters = True, "#"
        try:
            tokens = [token.strip("()[],") if not token.startswith("select") else token for token in lexer]
        except ValueError:  # No command: an apostrophe in code.
            return
        for i, token in enumerate(tokens):
            token = token.lstrip("<$(")
            end = next((j for j in range(i + 1, len(tokens)) if tokens[j] in OPERATORS or tokens[j].endswith(";")), len(tokens))
            if token == "attune" or re.fullmatch(r"(\.\./|\./)?build/[\w-]+/bin/attune", token):
                self.check_attune(page, line, tokens[i + 1:end])
            elif token == "./dev":
                self.check_dev(page, line, tokens[i + 1:end])
            elif token == "ctl" and i == 0 and len(tokens) > 1:
                self.check_attune(page, line, tokens[:end])
            else:
                continue
            return

    def check_attune(self, page, line, tokens):
        if not tokens or re.fullmatch(r"[A-Z…].*", tokens[0]):
            return
        subcommand, added = tokens[0], ADDED.get(page.name, set())
        if subcommand.startswith("-"):
            if subcommand not in ("-h", "--help", "--version"):
                self.report(page, line, f"attune has no option {subcommand} of its own", "name the subcommand")
            return
        if subcommand in added or not re.fullmatch(r"[a-z][a-z0-9-]*", subcommand):
            return
        options = self.program.options(subcommand)
        if options is None:
            self.report(page, line, f"there is no attune {subcommand}", "see attune --help")
            return
        words = self.check_options(page, line, subcommand, options, tokens[1:])
        if subcommand == "ctl" and words and words[0].islower() and words[0] not in self.program.control | added:
            self.report(page, line, f"attune ctl has no command {words[0]}", "see attune ctl --help")
        if subcommand == "list" and words:
            self.check_words(page, line, "list 0", words[0])
            if words[0] == "signals" and len(words) > 1:
                self.check_sensors(page, line, words[1])
        if subcommand == "help" and words and words[0].islower() and self.program.options(words[0]) is None:
            self.report(page, line, f"there is no attune {words[0]}", "see attune --help")
        if subcommand == "query":
            for word in words:
                if re.match(r"\s*(select|with)\s", word, re.IGNORECASE):
                    self.check_sql(page, line, word)

    def check_options(self, page, line, subcommand, options, tokens):
        """Checks the options and what is given for them; returns the other words."""
        words, i = [], 0
        while i < len(tokens):
            token = tokens[i]
            i += 1
            if not re.match(r"-", token) or token == "-":
                words.append(token)
                if self.program.takes_program(subcommand):
                    break
                continue
            name, equals, value = token.partition("=")
            if name not in options:
                self.report(page, line, f"attune {subcommand} has no option {name}", f"see attune {subcommand} --help")
                continue
            if options[name] and not equals and i < len(tokens):
                value = tokens[i]
                i += 1
            self.check_words(page, line, f"{subcommand} {name}", value)
            if options[name] in ("SENSORS", "SENSOR"):
                self.check_sensors(page, line, value)
        return words

    def check_words(self, page, line, key, value):
        known = self.program.words.get(key)
        for word in value.split("|") if known else ():
            if re.fullmatch(r"[a-z][a-z0-9-]*", word) and word not in known:
                self.report(page, line, f"{word} is none of {', '.join(sorted(known))}", "name one of these")

    def check_sensors(self, page, line, value):
        for part in value.split(","):
            name = re.split(r"[:@=]", part)[0]
            if not re.fullmatch(r"[a-z]\w*", name) or name in self.program.sensors | {"all", "none"} | ADDED.get(page.name, set()) or "=" in part:
                continue
            self.report(page, line, f"there is no sensor {name}", "see attune list sensors")

    def check_sql(self, page, line, sql):
        error = self.program.query_error(sql)
        if error:
            self.report(page, line, error.removeprefix("attune: "), "see attune list tables")
        for sensor in re.findall(r"sensor = '(\w+)'", sql):
            self.check_sensors(page, line, sensor)

    def check_dev(self, page, line, tokens):
        if not tokens or not tokens[0].islower():
            return
        command = tokens[0]
        if command not in self.program.dev:
            self.report(page, line, f"there is no ./dev {command}", "see ./dev help")
            return
        for token in tokens[1:]:
            option = re.match(r"--[\w-]+", token)
            if option and option[0] not in self.program.dev[command]:
                self.report(page, line, f"./dev {command} has no option {option[0]}", "see ./dev help")

    def check_bare_option(self, page, line, option):
        if option not in FOREIGN and option not in self.program.any_options():
            self.report(page, line, f"no subcommand has an option {option}", "name one that there is, or list it as FOREIGN in tools/check_docs.py")


def main(arguments):
    if len(arguments) not in (1, 2) or arguments[0].startswith("-"):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    root = pathlib.Path(arguments[1]) if len(arguments) == 2 else pathlib.Path(__file__).resolve().parents[1]
    try:
        check = Check(root, Program(arguments[0], root / "dev"))
        violations = check.run()
    except (OSError, RuntimeError, subprocess.TimeoutExpired) as error:
        print(f"check_docs: {error}", file=sys.stderr)
        return 1
    for violation in violations:
        print(violation)
    print(f"docs: {len(check.pages)} pages, {len(violations)} violations", file=sys.stderr)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
