"""Multi-threaded programs of Debian end as without attune, and what the report says of them is so.

What is not installed is left out, by name; five at least must be there where tools/packages.txt can be installed.
"""

import hashlib
import json
import os
import random
import re
import shutil
import socket
import subprocess
import time
import unittest

from attune_e2e import ATTUNE, E2E, PATIENCE_S, main, needs, where_cpus_are_free, without_others

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "page.png")  # four lines of a book
PROGRAMS = ("gm", "lbzip2", "pbzip2", "pigz", "redis-check-rdb", "sort", "sysbench", "tesseract", "xz", "zstd")
LEVELS = ("profile", "blame", "trace")
CPUS = sorted(os.sched_getaffinity(0))
SYSBENCH = ("sysbench", "threads", "--threads=4", "--thread-yields=50", "--time=0", "--events=200")
COMPRESSORS = {"xz": ("xz", "-T2", "-1", "--block-size=512KiB", "-k", "-c"), "pigz": ("pigz", "-n", "-p2", "-k", "-c"),
               "pbzip2": ("pbzip2", "-p2", "-b2", "-k", "-c"), "lbzip2": ("lbzip2", "-n2", "-k", "-c"),
               "zstd": ("zstd", "-q", "-T2", "-6", "-k", "-c")}


def text(size):
    """Words in lines, the same each time."""
    chance = random.Random(1)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 9))) for _ in range(4000)]
    lines, length = [], 0
    while length < size:
        lines.append(" ".join(chance.choices(words, k=chance.randint(2, 12))) + "\n")
        length += len(lines[-1])
    return "".join(lines)


class RealProgram(E2E):
    def recorded(self, *command, level="profile"):
        return ATTUNE, "run", "-q", "-f", "--level", level, "-o", "r.attune", "--", *command

    def report(self):
        result = self.attune("report", "r.attune", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        report = json.loads(result.stdout)
        self.assertEqual(report["damage"], [])
        return report

    def findings(self, *command, level="profile"):
        result = self.run_program(*self.recorded(*command, level=level))
        self.assertEqual(result.returncode, 0, result.stderr)
        return without_others(self.report())["findings"]

    def first_finding(self, *command, level="profile"):
        findings = self.findings(*command, level=level)
        self.assertTrue(findings, "nothing was found")
        return findings[0]

    def serve_redis(self, *prefix, rounds=40):
        """Has a server with four threads for its connections answer; its replies, how it ended, and what it printed."""
        server_file = self.path("redis-server")  # in Debian both are one program, which goes by its name
        if not os.path.lexists(server_file):
            os.symlink(shutil.which("redis-check-rdb"), server_file)
        address = self.path("redis.socket")
        options = ("--port", "0", "--unixsocket", address, "--save", "", "--io-threads", "4", "--io-threads-do-reads", "yes",
                   "--loglevel", "warning")
        server = subprocess.Popen([*prefix, server_file, *options], cwd=self.folder, env=self.env,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(server.kill)
        clients = [self.connect(address, server) for _ in range(16)]
        replies = hashlib.sha256()
        for number in range(rounds):
            pairs = b"".join(b"SET k%d-%d %s\r\nGET k%d-%d\r\n" % (number, n, b"x" * 50, number, n) for n in range(20))
            for client in clients:
                client.sendall(pairs)
            for client in clients:
                replies.update(self.receive(client, 20 * len("+OK\r\n$50\r\n" + "x" * 50 + "\r\n")))
        clients[0].sendall(b"SHUTDOWN NOSAVE\r\n")
        output, _ = server.communicate(timeout=PATIENCE_S)
        for client in clients:
            client.close()
        return replies.hexdigest(), server.returncode, re.sub(rb"^\d+:.*? # |pid=\d+", b"", output, flags=re.MULTILINE)

    def connect(self, address, server):
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(PATIENCE_S)
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                client.connect(address)
                return client
            except OSError:
                if server.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def receive(self, client, length):
        data = b""
        while len(data) < length:
            part = client.recv(1 << 16)
            self.assertTrue(part, "the server closed the connection")
            data += part
        return data


class SameAsWithout(RealProgram):
    def same(self, *command, seen=lambda output: output):
        """Runs it bare, and under attune at each level. @param seen what of its output is no time"""
        bare = self.run_program(*command)
        self.assertEqual(bare.returncode, 0, bare.stderr)
        self.assertTrue(seen(bare.stdout))
        for level in LEVELS:
            observed = self.run_program(*self.recorded(*command, level=level))
            self.assertEqual(observed.returncode, bare.returncode, level)
            self.assertEqual(hashlib.sha256(seen(observed.stdout)).digest(), hashlib.sha256(seen(bare.stdout)).digest(), level)
            self.assertEqual(seen(observed.stderr), seen(bare.stderr), level)
            report = self.report()
            self.assertGreaterEqual(report["totals"]["threads"], 2, "it has several threads")
            self.assertEqual(report["totals"]["failed"], 0)
        self.assert_nothing_left()

    def test_compressors(self):
        self.write("text", text(3 << 20))
        for name, command in COMPRESSORS.items():
            with self.subTest(name):
                if shutil.which(name) is None:
                    self.skipTest("not installed: " + name)
                self.same(*command, "text")

    @needs("sort")
    def test_sort(self):
        self.write("text", text(12 << 20))  # it begins further threads from 128 Ki lines on
        self.same("sort", "--parallel=2", "-S", "64M", "text")

    @needs("git")
    def test_git_grep(self):
        lines = text(1 << 20).splitlines(keepends=True)
        for number in range(200):
            self.write(f"part{number:03}", "".join(lines[number::200]))
        self.same("git", "grep", "--no-index", "--threads=4", "-n", "ab", "--", "part*")

    @needs("gm")
    def test_graphicsmagick(self):
        self.same("gm", "convert", PAGE, "-resize", "200%", "-blur", "0x3", "ppm:-")

    @needs("tesseract")
    def test_tesseract(self):
        self.same("tesseract", PAGE, "-")

    @needs("sysbench")
    def test_sysbench(self):
        def counts(output):
            return b"\n".join(re.findall(rb"(?:Number of threads|total number of events): +\d+", output))
        self.same(*SYSBENCH, "--thread-locks=1", "run", seen=lambda output: counts(output) or output)

    @needs("redis-check-rdb")
    def test_redis(self):
        bare = self.serve_redis()
        self.assertEqual(bare[1], 0)
        for level in LEVELS:
            self.assertEqual(self.serve_redis(*self.recorded(level=level)), bare, level)
            self.assertGreaterEqual(self.report()["totals"]["threads"], 4)
        self.assert_nothing_left()

    def test_that_there_were_enough(self):
        missing = [program for program in PROGRAMS if shutil.which(program) is None]
        print("not installed: " + ", ".join(missing) if missing else "all are installed")
        if shutil.which("apt-get") is None or os.environ.get("ATTUNE_NO_SETUP") == "1":
            self.skipTest("tools/packages.txt is not installed here")
        self.assertGreaterEqual(len(PROGRAMS) - len(missing), 5, f"./dev setup test installs {missing}")


class WhatIsFound(RealProgram):
    """On two CPUs, however many there are: what threads wait for depends on that."""

    def setUp(self):
        super().setUp()
        os.sched_setaffinity(0, CPUS[:2])
        self.addCleanup(os.sched_setaffinity, 0, CPUS)

    @unittest.skipIf(len(CPUS) < 2, "two threads on one CPU")
    @where_cpus_are_free
    def test_nothing_holds_a_compressor_back(self):
        self.write("text", text(3 << 20))
        there = [name for name in ("xz", "pigz", "pbzip2", "lbzip2") if shutil.which(name) is not None]
        self.assertEqual({name: self.findings(*COMPRESSORS[name], "text") for name in there}, {name: [] for name in there})

    @needs("tesseract")
    @where_cpus_are_free
    def test_the_threads_of_tesseract_meet_too_often(self):
        for level in LEVELS[:2]:
            finding = self.first_finding("tesseract", PAGE, "-", level=level)
            self.assertIn(finding["class"], ("wait-at-barrier", "load-imbalance"))
            self.assertTrue(finding["site"]["function"].startswith("tesseract::LSTM::"), finding["site"])
            self.assertIn("libtesseract.so", finding["site"]["module"])
            self.assertEqual(finding["threads_in_all"], 4)

    @needs("tesseract")
    @where_cpus_are_free
    def test_what_the_report_says_helps_tesseract(self):
        # As docs/why-is-my-program-slow.md tells it.
        self.assertIn("OMP_THREAD_LIMIT=1", self.first_finding("tesseract", PAGE, "-")["advice"])
        os.replace(self.path("r.attune"), self.path("before.attune"))
        self.assertEqual(self.findings("env", "OMP_THREAD_LIMIT=1", "tesseract", PAGE, "-"), [])
        result = self.attune("compare", "--json", "before.attune", "r.attune")
        self.assertEqual(result.returncode, 6, result.stderr)
        comparison = json.loads(result.stdout)
        self.assertTrue(all(finding["after"] is None for finding in comparison["findings"]), comparison["findings"])
        self.assertTrue(comparison["findings"])
        waited = next(figure for figure in comparison["run"] if figure["name"] == "waited")
        self.assertLess(waited["after"], 0.1 * waited["before"], comparison["run"])
        left = self.report()["waits"]
        self.assertEqual(left["locks"], [])
        # Reading its language model, which takes as long as the disk or its cache does.
        self.assertLessEqual({what["kind"] for what in left["others"]}, {"file"}, left["others"])

    @needs("sysbench")
    @where_cpus_are_free
    def test_one_lock_for_all_threads_of_sysbench(self):
        for level in LEVELS[:2]:
            # Of shorter runs no loss is a finding: it must be 0.1 s (docs/findings.md).
            finding = self.first_finding(*SYSBENCH, "--thread-locks=1", "--events=10000", "run", level=level)
            self.assertIn(finding["class"], ("lock-contention", "lock-convoy"))
            self.assertRegex(finding["object"]["name"], "^mutex ")
            self.assertTrue(finding["site"]["module"].endswith("sysbench"), finding["site"])
            self.assertEqual(finding["threads_in_all"], 4)

    @needs("redis-check-rdb")
    @where_cpus_are_free
    def test_too_many_threads_of_redis(self):
        self.serve_redis(*self.recorded())
        # Its threads spin for a counted number of rounds, which is not recognised as waiting (docs/findings.md, Not found yet).
        classes = {finding["class"] for finding in self.report()["findings"]}
        self.assertLessEqual(classes, {"oversubscription", "other-programs"})


if __name__ == "__main__":
    main()
