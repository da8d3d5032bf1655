"""What is printed on a terminal of 80 columns, through a pseudo-terminal."""

import errno
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

from attune_e2e import ATTUNE, E2E, PATIENCE_S, main

COLUMNS = 80


class Terminal(E2E):
    def on_terminal(self, *arguments, columns=COLUMNS, env=None):
        """Its exit code, and the lines that a terminal of that width shows."""
        terminal, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        process = subprocess.Popen([ATTUNE, *arguments], cwd=self.folder, env=env or self.env, stdin=subprocess.DEVNULL, stdout=inner, stderr=subprocess.DEVNULL)
        os.close(inner)
        text = b""
        while True:
            try:
                part = os.read(terminal, 65536)
            except OSError as error:  # the other end is closed
                self.assertEqual(error.errno, errno.EIO)
                break
            if not part:
                break
            text += part
        os.close(terminal)
        code = process.wait(timeout=PATIENCE_S)
        return code, [re.sub(r"\x1b\[[0-9;]*[mK]", "", line) for line in text.decode().replace("\r", "").splitlines()]

    def assert_fits(self, lines, columns=COLUMNS):
        for line in lines:
            if " " in line.strip():  # a word is not broken
                self.assertLessEqual(len(line), columns, line)

    def record(self, name, *program):
        result = self.attune("run", "-q", "-s", "cpu,vmstat", "-i", "10ms", "-o", name, "--", *program)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_help_fits(self):
        help_lines = self.on_terminal("--help")[1]
        names = [match.group(1) for line in help_lines if (match := re.match(r"  ([a-z]+)  ", line))]
        self.assertGreater(len(names), 15)
        for columns in (80, 100):
            for name in ["", *names]:
                with self.subTest(f"{name}, {columns}"):
                    code, lines = self.on_terminal(*([name] if name else []), "--help", columns=columns)
                    self.assertEqual(code, 0)
                    self.assert_fits(lines, columns)
        self.assert_fits(self.on_terminal("run", "--help", columns=200)[1], 100)
        self.assertEqual(self.attune("run", "--help").stdout.decode().splitlines(), self.on_terminal("run", "--help")[1], "80 columns where there is no terminal")

    def test_help_has_one_column_for_what_options_mean(self):
        _, lines = self.on_terminal("stat", "--help")
        options = lines[lines.index("Options"):lines.index("EXAMPLES")]
        for line in options[1:-1]:
            self.assertRegex(line, r"^(  -\w, --|      --).*|^ {26}\S", line)

    def test_tables_fit_and_keep_their_numbers(self):
        long_name = "a-name-that-is-longer-than-the-terminal-" * 4
        self.write(long_name, "#!/bin/sh\ni=0; while [ $i -lt 3 ]; do i=$((i+1)); sleep 0.2; done\n", 0o755)
        others = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in os.sched_getaffinity(0)]
        try:
            self.record("a.attune", "./" + long_name)
        finally:
            for other in others:
                other.kill()
                other.wait()
        self.record("b.attune", "sh", "-c", "for i in 1 2 3 4 5 6; do head -c 30000000 /dev/zero | wc -c > /dev/null; done")
        for arguments in (["report", "a.attune", "--full"], ["report", "a.attune"], ["compare", "a.attune", "b.attune", "--all"], ["alarms", "a.attune"], ["alarms", "--list"], ["alarms", "--for", "1s"],
                          ["list"], ["list", "signals"], ["list", "sinks"], ["list", "recordings"],
                          ["query", "a.attune", "select pid, command, user_ns, system_ns, max_rss_bytes from processes"]):
            with self.subTest(arguments):
                code, lines = self.on_terminal(*arguments)
                self.assertIn(code, (0, 6, 7))
                if arguments == ["report", "a.attune"]:
                    self.assertLessEqual(len(lines), 24, lines)
                if "--full" in arguments:  # its tables; sentences are as long as they are
                    begin = next(i for i, line in enumerate(lines) if line.startswith("Processes"))
                    lines = lines[begin:lines.index("", begin)]
                self.assert_fits(lines)
        piped = self.attune("query", "a.attune", "select pid, command, user_ns, system_ns, max_rss_bytes from processes").stdout.decode().splitlines()
        shown = self.on_terminal("query", "a.attune", "select pid, command, user_ns, system_ns, max_rss_bytes from processes")[1]
        self.assertGreater(max(map(len, piped)), COLUMNS)
        for whole, short in zip(piped[1:], shown[1:], strict=True):
            self.assertEqual([word for word in whole.split() if word.isdigit()], [word for word in short.split() if word.isdigit()])

    def test_rows_of_stat_fit(self):
        _, lines = self.on_terminal("stat", "-i", "100ms", "--for", "500ms")
        self.assertIn("us%", lines[0])
        self.assert_fits(lines)
        _, lines = self.on_terminal("stat", "-i", "100ms", "--for", "500ms", columns=200)
        self.assertIn("swout/s", lines[0])

    def test_doctor_fits_but_for_commands(self):
        _, lines = self.on_terminal("doctor")
        self.assert_fits([line for line in lines if not re.match(r" +(sudo|ulimit) |  ok       folder of the sessions ", line)])


if __name__ == "__main__":
    main()
