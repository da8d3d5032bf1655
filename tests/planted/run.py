#!/usr/bin/env python3
"""Runs the planted programs under attune, and scores what it finds: the class and the place first, the time, and nothing where
nothing is planted. README.md says what is planted in each, and how the time that it loses is measured.
"""

import argparse
import fnmatch
import json
import os
import pwd
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import building
import expectation as expectations

SKIPPED = 77  # exit code of a program that may not do here what it is for
PATIENCE_S = 300  # ends what hangs
PASS, FAIL, SKIP = "ok", "FAILED", "skipped"


class Outcome:
    """Of one run of one program."""

    def __init__(self, built, verdict=None, skipped="", run=1):
        self.program, self.verdict, self.skipped, self.run = built.program, verdict, skipped, run

    @property
    def word(self):
        return SKIP if self.skipped else PASS if self.verdict.ok else FAIL

    def row(self):
        """As --json has it."""
        expected, verdict = self.program.expectation, self.verdict
        row = {"program": self.program.name, "harmless": expected.is_harmless, "class": "|".join(expected.classes), "run": self.run,
               "outcome": self.word, "skipped": self.skipped}
        if verdict:
            row |= {"found": verdict.found, "class_ok": verdict.class_ok, "place_ok": verdict.place_ok, "time_ok": verdict.time_ok,
                    "found_seconds": verdict.found_s, "true_seconds": verdict.true_s, "error_percent": verdict.error_percent,
                    "complaint": verdict.complaint}
        return row


class Runner:
    """Runs programs one after the other in a scratch folder."""

    def __init__(self, options):
        self.options = options
        self.attune = os.path.abspath(options.attune)
        self.folder = tempfile.mkdtemp(prefix="attune-planted-")
        self.prefix = []
        os.mkdir(os.path.join(self.folder, "runtime"), 0o700)
        if options.user:
            user = pwd.getpwnam(options.user)
            self.prefix = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", "--"]
            for path in (self.folder, os.path.join(self.folder, "runtime")):
                os.chown(path, user.pw_uid, user.pw_gid)
        self.environment = dict(os.environ, XDG_RUNTIME_DIR=os.path.join(self.folder, "runtime"), HOME=self.folder,
                                XDG_CONFIG_HOME=os.path.join(self.folder, "no-config"), NO_COLOR="1", OMPI_ALLOW_RUN_AS_ROOT="1",
                                OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", PYTHONDONTWRITEBYTECODE="1", PYTHONPATH=expectations.HERE)
        self.environment.pop("ATTUNE_SESSION", None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def command(self, command, environment):
        """@return exit code, standard error; None: it did not end"""
        with subprocess.Popen([*self.prefix, *command], cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
            try:
                _, errors = process.communicate(timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return None, ""
            return process.returncode, errors

    def one(self, built, run):
        """@return the Outcome"""
        expected = built.program.expectation
        missing = built.missing or self.missing_beside(expected.beside)
        if missing:
            return Outcome(built, skipped=missing, run=run)
        if built.error:
            return Outcome(built, expectations.Verdict(complaint="does not compile: " + built.error.splitlines()[0]), run=run)
        code, errors = self.record(built.command, expected.environment, expected.beside)
        if code == SKIPPED:
            return Outcome(built, skipped=errors.strip().splitlines()[-1].removeprefix("skipped: ") if errors.strip() else "not here", run=run)
        if code != expected.exit:
            last = errors.strip().splitlines()[-1:] or [""]
            return Outcome(built, expectations.Verdict(complaint=f"ended with {code}: {last[0]}"), run=run)
        return Outcome(built, self.verdict(expected), run=run)

    def record(self, command, environment=(), beside=""):
        """Runs a command under attune. @return exit code, standard error; None: it did not end"""
        for path in (self.path("truth"), self.path("r.attune")):
            if os.path.exists(path):
                os.unlink(path)
        environment = self.environment | {"PLANTED_TRUTH": self.path("truth")} | dict(each.split("=", 1) for each in environment)
        with Beside(beside):
            return self.command([self.attune, "run", "-q", "-f", "--level", self.options.level, "-o", self.path("r.attune"), "--", *command],
                                environment)

    def report(self):
        """Of the last recording. @return the JSON, or None and why there is none"""
        report = subprocess.run([*self.prefix, self.attune, "report", self.path("r.attune"), "--json"], cwd=self.folder,
                                env=self.environment, capture_output=True, timeout=PATIENCE_S, check=False)
        if report.returncode != 0:
            return None, "no report: " + report.stderr.decode(errors="replace").strip()
        return json.loads(report.stdout), ""

    def verdict(self, expected):
        report, complaint = self.report()
        if report is None:
            return expectations.Verdict(complaint=complaint)
        true_s = None
        if os.path.exists(self.path("truth")):
            with open(self.path("truth"), encoding="ascii") as f:
                true_s = expectations.truth_of(f.read())
        return expectations.compare(expected, report, true_s)

    @staticmethod
    def missing_beside(command):
        program = shlex.split(command)[0] if command else ""
        return f"not installed: {program}" if program and shutil.which(program) is None else ""


class Beside:
    """A command that runs meanwhile; '': none."""

    def __init__(self, command):
        self.words, self.process = shlex.split(command), None

    def __enter__(self):
        if self.words:
            self.process = subprocess.Popen(self.words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                            start_new_session=True)
            time.sleep(0.5)
            if self.process.poll() is not None:
                raise SystemExit(f"'{shlex.join(self.words)}' does not run")
        return self

    def __exit__(self, *_):
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGTERM)
            self.process.wait()


class Score:
    """Shares of those that ran."""

    def __init__(self, outcomes):
        ran = [outcome for outcome in outcomes if not outcome.skipped]
        self.planted = [outcome for outcome in ran if not outcome.program.expectation.is_harmless]
        self.harmless = [outcome for outcome in ran if outcome.program.expectation.is_harmless]
        self.skipped = len(outcomes) - len(ran)

    @staticmethod
    def share(flags):
        """Per cent of those that are true, of those that are known; None: there is none."""
        known = [flag for flag in flags if flag is not None]
        return 100 * sum(known) / len(known) if known else None

    def reaches(self, want):
        shares = [self.share([outcome.verdict.ok for outcome in part]) for part in (self.planted, self.harmless)]
        return all(share is None or share >= want for share in shares) and bool(self.planted or self.harmless)

    def lines(self):
        def text(name, flags):
            known = [flag for flag in flags if flag is not None]
            share = self.share(flags)
            return f"{name:<32} {'-' if share is None else f'{share:.1f} %':>8}  {sum(known)} of {len(known)}"

        verdicts = [outcome.verdict for outcome in self.planted]
        yield text("planted: all that was checked", [verdict.ok for verdict in verdicts])
        yield text("  class and place first", [bool(verdict.class_ok) and verdict.place_ok is not False for verdict in verdicts])
        yield text("  time", [verdict.time_ok for verdict in verdicts])
        yield text("harmless: nothing claimed", [outcome.verdict.ok for outcome in self.harmless])
        errors = [abs(verdict.error_percent) for verdict in verdicts if verdict.time_ok is not None and verdict.error_percent is not None]
        if errors:
            yield f"{'error of the time, median':<32} {statistics.median(errors):>6.2f} %"
        yield f"skipped {self.skipped}"


def seconds(value):
    return "-" if value is None else f"{value:.3f}"


def line_of(outcome):
    expected, verdict = outcome.program.expectation, outcome.verdict
    if outcome.skipped:
        return f"{outcome.word:<8} {outcome.program.name:<34} ({outcome.skipped})"
    error = "" if verdict.error_percent is None else f"{verdict.error_percent:+.1f} %"
    return (f"{outcome.word:<8} {outcome.program.name:<34} {'|'.join(expected.classes) or 'harmless':<34} {seconds(verdict.found_s):>8} "
            f"{seconds(verdict.true_s):>8} {error:>9}  {verdict.complaint}").rstrip()


def chosen(patterns):
    """Programs whose name, class or language one of the patterns matches; all without patterns."""
    programs = [program for each in expectations.read_all() for program in building.programs_of(each)]
    if not patterns:
        return programs
    return [program for program in programs
            if any(fnmatch.fnmatch(word, pattern) for pattern in patterns
                   for word in (program.name, program.expectation.name, program.expectation.language, *program.expectation.classes,
                                "harmless" if program.expectation.is_harmless else "planted"))]


def table_of(programs):
    """The table of README.md: a row a source."""
    yield "| program | class | language | what is planted |"
    yield "|---|---|---|---|"
    seen = set()
    for program in programs:
        each = program.expectation
        if each.source in seen:
            continue
        seen.add(each.source)
        kind = "MPI" if each.ranks else "OpenMP" if "-fopenmp" in each.options else "TBB" if "tbb" in each.libraries else each.language
        yield f"| {each.name} | {', '.join(each.classes) or '-'} | {kind} | {each.what} |"


def parser_of(what):
    """The options that say what is run, and how."""
    parser = argparse.ArgumentParser(description=what, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attune", default=os.environ.get("ATTUNE_BIN", "build/release/bin/attune"), help="the binary")
    parser.add_argument("--level", default="profile", help="of the recording (default: profile)")
    parser.add_argument("--build", default=None, metavar="FOLDER", help="where the programs are built (default: build/planted)")
    parser.add_argument("--only", action="append", metavar="PATTERN", help="programs, classes or languages; 'planted', 'harmless'")
    parser.add_argument("--beside", default="", metavar="COMMAND", help="runs meanwhile, as 'stress-ng --cpu 2'")
    parser.add_argument("--user", metavar="NAME", help="run as this user")
    parser.add_argument("--cpus", type=int, default=2, help="CPUs that the programs may use (default: 2)")
    return parser


def parse_arguments(parser, arguments):
    options = parser.parse_args(arguments)
    options.build = os.path.abspath(options.build or os.path.join(expectations.HERE, os.pardir, os.pardir, "build", "planted"))
    return options


def score_arguments(arguments):
    parser = parser_of(__doc__)
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="runs of each program")
    parser.add_argument("--want", type=float, default=95, metavar="PERCENT", help="share to reach for exit code 0 (default: 95)")
    parser.add_argument("--json", metavar="FILE", help="write what came of each run")
    parser.add_argument("--list", action="store_true", help="print the table of README.md, and run nothing")
    parser.add_argument("--build-only", action="store_true", help="build, and run nothing")
    return parse_arguments(parser, arguments)


def main(arguments):
    options = score_arguments(arguments)
    programs = chosen(options.only)
    if not programs:
        print("no program matches", file=sys.stderr)
        return 2
    if options.list:
        print("\n".join(table_of(programs)))
        return 0
    built = building.build_all(programs, options.build)
    if options.build_only:
        broken = [each for each in built if each.error]
        for each in broken:
            print(f"{each.program.name}: {each.error}", file=sys.stderr)
        return 1 if broken else 0
    missing = Runner.missing_beside(options.beside)
    if missing:
        print(missing, file=sys.stderr)
        return 2
    # As many CPUs as the programs are made for, on every machine, also for what runs beside.
    os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:options.cpus]))
    outcomes = []
    with Runner(options) as runner, Beside(options.beside):
        print(f"{'':<8} {'program':<34} {'planted':<34} {'found s':>8} {'true s':>8} {'error':>9}")
        for run in range(1, options.repeat + 1):
            for each in built:
                outcomes.append(runner.one(each, run))
                print(line_of(outcomes[-1]), flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            json.dump([outcome.row() for outcome in outcomes], f, indent=1)
    score = Score(outcomes)
    print(*score.lines(), sep="\n")
    return 0 if score.reaches(options.want) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
