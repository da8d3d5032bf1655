#!/usr/bin/env python3
"""Prints how well the accounts of time balance (docs/account.md): of the planted programs, and of real ones that are installed.

unknown    of CPUs x wall, and of all threads' lives: what the account does not say (at most 3 % of planted programs, 5 % of real ones)
CPU time   of all threads by the account, against the kernel's totals of the processes (within 1 %)
"""

import os
import random
import sys

import building
import run

REAL_LIMIT, PLANTED_LIMIT, CPU_LIMIT = 5.0, 3.0, 1.0
# The kernel's totals of a process have steps of this size where it counts in ticks.
TICK_S = 0.01
# Each about a second of work on two CPUs; FILE is 24 MB of text that compresses.
REAL = {
    "xz": "xz -T2 -1 -c FILE",
    "gzip": "gzip -c FILE",
    "pigz": "pigz -p2 -c FILE",
    "bzip2": "bzip2 -c FILE",
    "zstd": "zstd -T2 -9 -c FILE",
    "sort": "sort --parallel=2 -S 8M FILE",
    "python3": "python3 -c 'print(sum(i * i % 7 for i in range(6000000)))'",
    "perl": "perl -e 'my $s = 0; $s += $_ % 7 for 1 .. 9000000; print $s'",
    "awk": "awk '{ for (i = 1; i <= NF; ++i) ++n[$i] } END { print length(n) }' FILE",
    "sqlite3": "sqlite3 :memory: 'with recursive n(x) as (select 1 union all select x + 1 from n where x < 3000000) select sum(x % 7) from n'",
    "gcc": "gcc -x c++ -O2 -fsyntax-only -include regex -include iostream -include thread /dev/null",
    "openssl": "openssl speed -seconds 1 -multi 2 sha256",
    "node": "node -e 'let s = 0; for (let i = 0; i < 4e8; ++i) s += i % 7; console.log(s)'",
    "tar": "tar -cf - /usr/share/doc",
    "make": "make -j2 -f MAKEFILE",
    "find": "find /usr -type f -size +1k",
}
MAKEFILE = "all: " + " ".join(f"p{i}" for i in range(8)) + "\np%:\n\t@sh -c 'i=0; while [ $$i -lt 150000 ]; do i=$$((i + 1)); done'\n"


class Row:
    """What an account says of one run."""

    def __init__(self, report, limit):
        account = report.get("account") or {}
        self.exact, self.limit = bool(account.get("exact")), limit
        threads = account.get("threads", [])
        capacity = account.get("cpus", 0) * account.get("wall_seconds", 0)
        lives = sum(thread["life_seconds"] for thread in threads)
        used = sum(thread["seconds"].get("running", 0) for thread in threads)
        totals = report["totals"]
        self.kernel_s = ((totals.get("user_ns") or 0) + (totals.get("system_ns") or 0)) * 1e-9
        self.wall_s = account.get("wall_seconds", 0)
        self.of_cpus = 100 * account["unknown_seconds"] / capacity if self.exact and capacity else None
        self.of_lives = 100 * sum(thread["unknown_seconds"] for thread in threads) / lives if lives else None
        self.cpu_error = 100 * (used / self.kernel_s - 1) if self.kernel_s > 0 else None
        self.cpu_difference_s = abs(used - self.kernel_s)

    def complaint(self):
        if self.of_lives is None:
            return "no account"
        parts = [f"{name} {value:.1f} %" for name, value in (("unknown of CPUs", self.of_cpus), ("unknown of lives", self.of_lives))
                 if value is not None and value > self.limit]
        if self.cpu_error is not None and abs(self.cpu_error) > CPU_LIMIT and self.cpu_difference_s > TICK_S:
            parts.append(f"CPU time {self.cpu_error:+.1f} %")
        return ", ".join(parts)

    def text(self):
        def percent(value):
            return "-" if value is None else f"{value:.2f} %"

        return (f"{self.wall_s:>8.2f} {'switches' if self.exact else 'sums':>9} {percent(self.of_cpus):>9} {percent(self.of_lives):>9} "
                f"{self.kernel_s:>8.3f} {percent(self.cpu_error):>9}  {self.complaint()}").rstrip()


def real_commands(runner):
    """Name and command of those that are installed."""
    file, makefile = runner.path("text"), runner.path("makefile")
    words = [f"word{i}" for i in range(5000)]
    chance = random.Random(1)
    with open(file, "w", encoding="ascii") as f:
        for _ in range(300000):
            f.write(" ".join(chance.choices(words, k=10)) + "\n")
    with open(makefile, "w", encoding="ascii") as f:
        f.write(MAKEFILE)
    for path in (file, makefile):
        os.chmod(path, 0o644)
    for name, command in REAL.items():
        if not runner.missing_beside(command):
            yield name, ["sh", "-c", "exec " + command.replace("MAKEFILE", makefile).replace("FILE", file)]


def main(arguments):
    parser = run.parser_of(__doc__)
    parser.add_argument("--real", action="store_true", help="real programs alone")
    options = run.parse_arguments(parser, arguments)
    built = [] if options.real else [each for each in building.build_all(run.chosen(options.only), options.build)
                                     if not each.missing and not each.error]
    os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:options.cpus]))
    failed = 0
    with run.Runner(options) as runner, run.Beside(options.beside):
        runs = [(each.program.name, each.command, each.program.expectation, PLANTED_LIMIT) for each in built]
        if options.real or not options.only:
            runs += [(name, command, None, REAL_LIMIT) for name, command in real_commands(runner)]
        print(f"{'program':<34} {'wall s':>8} {'from':>9} {'of CPUs':>9} {'of lives':>9} {'CPU s':>8} {'CPU error':>9}")
        for name, command, expected, limit in runs:
            code, _ = runner.record(command, expected.environment if expected else (), expected.beside if expected else "")
            if code in (None, run.SKIPPED):
                continue
            report, complaint = runner.report()
            row = Row(report, limit) if report else None
            failed += bool(complaint or row.complaint())
            print(f"{name:<34} {row.text() if row else complaint}", flush=True)
    print(f"{failed} of {len(runs)} beyond the limits")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
