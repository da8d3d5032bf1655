#!/usr/bin/env python3
"""Records ten real programs of Debian, and checks and prints the first screen of each one's report.

    first_screens.py [--attune BINARY] [--only NAME,...] [--tries N] [--patience S] [--keep FOLDER] [--install] [--write]

    --attune    the program (build/release/bin/attune)
    --only      these programs alone
    --tries     of a program, while others have more than 15 % of the CPUs (5): their load is then what its screen is about
    --patience  waits up to so many seconds before each try for others to leave the CPUs alone (10)
    --keep      leaves inputs and recordings in that folder
    --install   installs what is missing with apt-get
    --write     puts the screens into docs/report.md

A screen has at most 24 lines of 80 columns, says what ran, for how long and how it ended, has the balance of the CPUs, the
verdict, findings with place and advice or that there are none, and the commands to type next. The first finding must be the one that
is known of the program; of a server, the first but for what its clients cost it. Exit codes: 0 done, 1 a screen is not as it must be, 2 usage, 3 a program is not installed.
"""

import argparse
import dataclasses
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

TOP = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TOP / "bench" / "programs"), str(TOP / "tests" / "e2e")]

import attune_e2e  # noqa: E402  # what others take of the CPUs
import real_programs_bench as programs  # noqa: E402  # its inputs, and how servers are waited for

PAGE = TOP / "docs" / "report.md"
BEGIN, END = "<!-- begin: tools/first_screens.py -->", "<!-- end: tools/first_screens.py -->"
LINES, COLUMNS = 24, 80
NOTHING = "Nothing was found that holds it back."
SYSTEM_PATH = "/usr/lib/postgresql/15/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclasses.dataclass
class Case:
    """A program and what is known of it."""
    package: str
    command: list  # as somebody types it in a folder of their own
    tells: str  # what its screen says
    expects: tuple = ("none",)  # classes of the first finding, of which one must be there; none: nothing holds it back
    prepare: Callable = lambda folder, run: None  # makes its input; run() runs a command as the program's user
    clients: tuple = ()  # make work for it, one after the other: it is a server
    port: int = 0  # where it answers
    is_ready: tuple = ()  # a command that ends well when it does, if that is later
    most_others: float = attune_e2e.OthersLoad.MUCH  # of the CPUs; the kernel's threads that write for it count
    user: str = ""  # of a program that refuses to run as root
    installed_as: str = ""  # the file that says that it is there, if not by its name


def text_of(megabytes):
    return lambda folder, run: os.rename(programs.input_of(folder, megabytes), os.path.join(folder, "text"))


def scanned_page(folder, _run):
    shutil.copy(TOP / "tests" / "e2e" / "page.png", folder)


def inserts(folder, _run):
    """A log that is written a row at a time, as it comes: each statement is a transaction of its own."""
    rows = "".join(f"insert into log values ({i}, 'request {i * 7919 % 100003} was served');\n" for i in range(1500))
    programs.write(folder, "rows.sql", "create table log (id integer primary key, line text);\n" + rows)


def primes(folder, _run):
    programs.write(folder, "primes.py", '''\
        from concurrent.futures import ThreadPoolExecutor

        def count_primes(numbers):
            count = 0
            for n in numbers:
                count += n > 1 and all(n % d for d in range(2, int(n ** 0.5) + 1))
            return count

        with ThreadPoolExecutor(4) as pool:
            print(sum(pool.map(count_primes, [range(i, 600000, 8) for i in range(8)])))
        ''')


def project(folder, _run):
    """Six files of C++ and a makefile."""
    names = [f"part{i}" for i in range(6)]
    for name in names:
        programs.write(folder, name + ".cpp", "#include <algorithm>\n#include <iostream>\n#include <map>\n"
                       f"void {name}(std::map<int, std::string>& texts) {{ for (auto& text : texts) std::cout << text.second; }}\n")
    objects = " ".join(name + ".o" for name in names)
    programs.write(folder, "Makefile", f"all: {objects}\n%.o: %.cpp\n\t$(CXX) -O1 -c $< -o $@\n")


def film(_folder, run):
    """Ten seconds of a moving picture, not encoded."""
    run("ffmpeg", "-f", "lavfi", "-i", "testsrc2=s=640x360:d=10", "film.y4m")


def melt(folder, _run):
    shutil.copy(TOP / "bench" / "programs" / "in.melt", folder)


def redis(folder, _run):
    programs.redis(folder, 0)  # makes the server's name


def database(_folder, run):
    """A cluster with its default settings."""
    run("initdb", "-D", "data", "-U", "postgres", "--auth=trust")


PGBENCH = ("-h", "127.0.0.1", "-p", "5497", "-U", "postgres", "postgres")
CASES = {
    "pigz": Case("pigz", ["pigz", "-k", "text"], "Both CPUs compress until the end: nothing is left to gain but a lower level.",
                 prepare=text_of(96)),
    "xz": Case("xz-utils", ["xz", "-T2", "-k", "text"],
               "Two threads were asked for, and one works: a block of this level is larger than half of the file.", prepare=text_of(12)),
    "tesseract": Case("tesseract-ocr", ["tesseract", "page.png", "text"],
                      "Its OpenMP loops are so short that the threads wait for each other; fewer of them are faster.",
                      ("wait-at-barrier",), scanned_page),
    "python3": Case("python3", ["/usr/bin/python3", "primes.py"], "Threads that compute in Python run one at a time.",
                    ("interpreter-lock",), primes),
    "sqlite3": Case("sqlite3", ["sqlite3", "log.db", ".read rows.sql"],
                    "Each row is a transaction, and each transaction waits for the disk.", ("io-wait",), inserts, most_others=0.3),
    "make": Case("make", ["make"], "It compiles one file at a time: -j was forgotten.", ("child-wait",), project),
    "ffmpeg": Case("ffmpeg", ["ffmpeg", "-i", "film.y4m", "-preset", "slow", "film.mp4"], "x264, which encodes for it, keeps both CPUs busy.", prepare=film),
    "lmp": Case("lammps", ["mpirun", "-n", "2", "lmp", "-in", "in.melt"], "Two ranks share the work evenly and compute.", prepare=melt),
    "redis-server": Case("redis-tools", ["redis-server", "--port", "6397"],
                         "One thread serves all clients, which have the machine's other CPU.",
                         ("none", "other-programs"), prepare=redis, port=6397,
                         clients=(["redis-benchmark", "-p", "6397", "-t", "set", "-n", "100000", "-q"],),
                         installed_as="redis-check-rdb"),
    "postgres": Case("postgresql-15", ["postgres", "-D", "data", "-p", "5497"], "Each commit waits until its log is on the disk.", ("io-wait",), database, (["pgbench", *PGBENCH, "-i", "-q"], ["pgbench", *PGBENCH, "-c", "2", "-T", "5"]), 5497,
                     ("pg_isready", "-h", "127.0.0.1", "-p", "5497"), 0.3, "postgres"),
}


class Recorder:
    """Runs the programs, each in a folder of its own."""

    def __init__(self, attune, top):
        self.attune, self.top = str(pathlib.Path(attune).resolve()), top

    def quiet_screen(self, name, case, tries, patience_s):
        """The first screen of a run beside which others left the CPUs alone, and what is to be said where there is none."""
        for _ in range(tries):
            await_free_cpus(patience_s)
            screen, others = self.screen(name, case)
            if others <= case.most_others:
                return screen, []
            print(f"{name}: others had {others:.0%} of the CPUs", file=sys.stderr, flush=True)
        return screen, ["could not be measured: others had the CPUs"]

    def screen(self, name, case):
        """The first screen of a run of it, and what others took of the CPUs meanwhile."""
        folder = os.path.join(self.top, name)
        shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(folder)
        how = {"cwd": folder, "env": environment(folder), "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL}
        as_user = []
        if case.user and os.geteuid() == 0:
            as_user = ["setpriv", f"--reuid={case.user}", f"--regid={case.user}", "--init-groups"]
            shutil.chown(folder, case.user)
        case.prepare(folder, lambda *command: subprocess.run([*as_user, *command], check=True, **how))
        recording = name + ".attune"
        command = [*as_user, self.attune, "run", "-q", "-o", recording, "--", *case.command]
        load = attune_e2e.OthersLoad()
        if case.clients:
            serve(case, command, how)
        else:
            subprocess.run(command, check=True, **how)
        others = load.share()
        report = subprocess.run([self.attune, "report", recording], check=True, **{**how, "stdout": subprocess.PIPE}, text=True)
        return report.stdout, others


def await_free_cpus(patience_s):
    """Until others have hardly anything of the CPUs, or for so long."""
    hardly, look_s = 0.05, 1.5
    end = time.monotonic() + patience_s
    while time.monotonic() < end:
        load = attune_e2e.OthersLoad()
        time.sleep(look_s)
        if load.share() <= hardly:
            return


def environment(folder):
    """That of somebody who has Debian's programs alone."""
    return {**os.environ, "PATH": f"{folder}:{SYSTEM_PATH}", "LC_ALL": "C.UTF-8", "NO_COLOR": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def serve(case, command, how):
    """Runs the server until its clients have had their answers."""
    with subprocess.Popen(command, **how) as server:
        try:
            programs.await_port(case.port, server)
            while case.is_ready and server.poll() is None and subprocess.run(case.is_ready, check=False, **how).returncode:
                time.sleep(0.05)
            for client in case.clients:
                subprocess.run(client, check=True, **how)
        finally:
            server.send_signal(signal.SIGINT)


def complaints(screen, case):
    """What is wrong with a screen, in words."""
    lines = screen.splitlines()
    found = [f"line {i + 1} has {len(line)} columns" for i, line in enumerate(lines) if len(line) > COLUMNS]
    if len(lines) > LINES:
        found.append(f"it has {len(lines)} lines")

    def must_have(pattern, what):
        if not re.search(pattern, screen, re.MULTILINE):
            found.append(f"it does not say {what}")

    must_have(rf"\A.*{re.escape(os.path.basename(case.command[0]))}.*  exit code 0(, \d+ of \d+ processes failed)?$", "what ran and that it ended well")
    must_have(r"^[\d.]+ (ms|s|min) on \S+, \d{4}-\d\d-\d\d ", "for how long it ran, and when")
    must_have(r"^  \d+ CPUs?  [\u2588\u2592\u00b7]{24}  program \d+ %, others \d+ %, idle \d+ %$", "who had the CPUs")
    must_have(r"^  it (computes|waits|is idle)", "the verdict")
    must_have(r"^  attune report \S+ [\w-]+  ", "what to type next")
    must_have(r"^  attune view ", "that there is a page")
    found += [f"cut: {line.strip()}" for line in lines if line.endswith(">")]
    return found + complaints_of_findings(lines, case)


def complaints_of_findings(lines, case):
    heads = [i for i, line in enumerate(lines) if re.match(r"  \d  [a-z-]+  ", line)]
    if not heads:
        said = any(line.strip() == NOTHING for line in lines)
        return ["it has no finding"] if "none" not in case.expects else [] if said else ["it does not say that nothing was found"]
    names, found = [lines[head].split()[1] for head in heads], []
    # Clients of a server are other programs on the same CPUs: what these cost it may come before its own findings.
    of_clients = bool(case.clients) and names[0] == "other-programs" and "other-programs" not in case.expects
    first = names[min(int(of_clients), len(names) - 1)]
    if first not in case.expects:
        found.append(f"its first finding is {first}, not {' or '.join(case.expects)}")
    for begin, end in zip(heads, [*heads[1:], len(lines)]):
        finding, name = lines[begin + 1:end], lines[begin].split()[1]
        if not any(line.startswith("     > ") for line in finding):
            found.append(f"{name} has no advice")
        if finding[0].startswith("     at ") and re.match(r"     at \S+\+0x[0-9a-f]+", finding[0]):
            found.append(f"{name} has an address for a place: {finding[0].strip()}")
    return found


def block(name, case, screen):
    """A program's part of the page."""
    lines = [f"$ attune report {name}.attune", *screen.splitlines()]
    return f"**{name}**: {case.tells}\n\n" + "\n".join(("    " + line).rstrip() for line in lines) + "\n"


def write_page(blocks):
    text = PAGE.read_text(encoding="utf-8")
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    PAGE.write_text(text[:begin] + "\n" + "\n".join(blocks) + text[end:], encoding="utf-8")


def missing_packages(cases):
    """Packages of programs that are not there."""
    def is_there(case):
        program = case.installed_as or case.command[0]
        return shutil.which(program, path=SYSTEM_PATH) is not None

    return sorted({case.package for case in cases if not is_there(case)})


def arguments_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attune", default=str(TOP / "build" / "release" / "bin" / "attune"))
    parser.add_argument("--only", default="")
    parser.add_argument("--tries", type=int, default=5)
    parser.add_argument("--patience", type=float, default=10)
    parser.add_argument("--keep", default="")
    parser.add_argument("--install", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args(arguments)
    options.chosen = {name: case for name, case in CASES.items() if not options.only or name in options.only.split(",")}
    if not options.chosen or (options.write and options.only):
        parser.error("--only names some of " + ", ".join(CASES) + ", and --write writes all of them")
    return options


def main(arguments):
    options = arguments_of(arguments)
    missing = missing_packages(options.chosen.values())
    if missing and options.install:
        subprocess.run(["apt-get", "install", "-y", "--no-install-recommends", *missing], check=True, stdout=subprocess.DEVNULL)
    elif missing:
        print(f"not installed: {' '.join(missing)} (--install, or apt-get install them)", file=sys.stderr)
        return 3
    failed, blocks = 0, []
    with tempfile.TemporaryDirectory(prefix="attune-screens-") as scratch:
        os.chmod(scratch, 0o755)
        recorder = Recorder(options.attune, os.path.abspath(options.keep) if options.keep else scratch)
        for name, case in options.chosen.items():
            screen, others = recorder.quiet_screen(name, case, options.tries, options.patience)
            blocks.append(block(name, case, screen))
            print(blocks[-1])
            for complaint in complaints(screen, case) + others:
                failed += 1
                print(f"{name}: {complaint}", file=sys.stderr, flush=True)
    if options.write and not failed:
        write_page(blocks)
    print(f"{len(blocks)} programs, {failed} complaints", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
