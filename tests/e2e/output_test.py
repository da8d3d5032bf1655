"""Standard output of every subcommand: a reader that has gone, a full disk, and a caller that has closed it."""

import os
import pathlib
import signal
import subprocess
import sys
import time

from attune_e2e import ATTUNE, E2E, PATIENCE_S, main

ROOT = pathlib.Path(__file__).resolve().parents[2]
P2G = str(ROOT / "examples" / "p2g" / "kmeans.p2g")
KEPT = str(ROOT / "tests" / "fuzz" / "corpus" / "kept_file_fuzz" / "golden")

# A line of its own where it prints: every way in which results are printed. {a}, {b}: recordings; {p2g}: a program; {kept}: its fields.
PRINTS = """
--help
--version
help
help stat
run --help
alarms --list
alarms --list --json
alarms {a}
alarms {a} --json
alarms --for 1s
alarms --for 1s --json
clean --dry-run
clean --json
compare {a} {b}
compare {a} {b} --json
completion bash
completion fish
completion zsh
ctl status
doctor
doctor --json
export {a} --to csv
export {a} --to json
export {a} --to perfetto
export {a} --to sync-xml
info --measure none
info --measure none --json
info --status
info --every 500ms
list
list --json
list --names
list signals
list sinks
list recordings
list sessions
query {a} "select * from samples limit 10000"
query {a} "select 1" --csv
query {a} "select 1" --json
p2g check {p2g}
p2g check {p2g} --json
p2g diff {kept} {kept}
p2g diff {kept} {kept} --json
p2g dump {kept}
p2g dump {kept} --json
p2g dump {kept} m_data
p2g dump {kept} m_data --json
p2g dump {kept} m_data 1
p2g dump {kept} m_data 1 --json
p2g emit {p2g}
p2g graph {p2g}
p2g graph {p2g} --kernels
p2g graph {p2g} --json
p2g graph {p2g} --graphml
p2g graph {p2g} --unroll 2
p2g graph {p2g} --unroll 2 --json
report {a}
report {a} --json
stat -i 100ms
stat -i 100ms --csv
stat -i 100ms --json
view {a}
""".strip().splitlines()


def trouble(words):
    """Exit code of a command that failed: 1 of `p2g diff` says that the files differ."""
    return 2 if "diff" in words else 1


class Output(E2E):
    def setUp(self):
        super().setUp()
        for name in ("a", "b"):
            result = self.attune("record", "-q", "-s", "cpu,vmstat", "-i", "10ms", "--for", "300ms", "-o", name + ".attune")
            self.assertEqual(result.returncode, 0, result.stderr)

    @staticmethod
    def words(line):
        words = line.split('"')
        words = words[0].split() + ([words[1]] + words[2].split() if len(words) > 1 else [])
        return [word.format(a="a.attune", b="b.attune", p2g=P2G, kept=KEPT) for word in words]

    def each(self, check, end="", **streams):
        """Each line of PRINTS, with this standard output."""
        session = subprocess.Popen([ATTUNE, "record", "-q", "-s", "cpu", "-o", "session.attune"], cwd=self.folder, env=self.env)
        self.addCleanup(session.wait)
        self.addCleanup(session.terminate)
        deadline = time.monotonic() + PATIENCE_S
        while self.attune("ctl", "status").returncode != 0:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        for line in PRINTS:
            with self.subTest(line):
                words = ["sh", "-c", f'exec "$@" {end}', "sh", ATTUNE, *self.words(line)]
                check(subprocess.run(words, cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False, **streams))

    def test_a_reader_that_has_gone_ends_it_quietly(self):
        reader, writer = os.pipe()
        os.close(reader)
        self.addCleanup(os.close, writer)

        def check(result):
            self.assertEqual(result.returncode, -signal.SIGPIPE, result.stderr)
            self.assertNotIn(b"output", result.stderr)
        self.each(check, stdout=writer)

    def test_so_it_does_where_the_signal_is_ignored(self):
        reader, writer = os.pipe()
        os.close(reader)
        self.addCleanup(os.close, writer)
        # Python ignores it, and hands that on.
        self.each(lambda result: self.assertEqual(result.returncode, -signal.SIGPIPE, result.stderr), stdout=writer, restore_signals=False)

    def test_a_full_disk_is_an_error(self):
        def check(result):
            self.assertEqual(result.returncode, trouble(result.args), result.stderr)
            self.assertIn(b"not all of the output could be written", result.stderr)
            self.assertIn(b"is there room on the disk?", result.stderr)
        self.each(check, ">/dev/full")

    def test_a_closed_output_is_an_error(self):
        def check(result):
            self.assertEqual(result.returncode, trouble(result.args), result.stderr)
            self.assertIn(b"not all of the output could be written", result.stderr)
        self.each(check, ">&-")

    def test_head_ends_what_prints_for_ever(self):
        for line in ("stat -i 100ms", "stat -i 100ms --json", "info --every 500ms"):
            with self.subTest(line):
                result = self.run_program("bash", "-c", f"'{ATTUNE}' {line} | head -2; echo ${{PIPESTATUS[0]}}", timeout=PATIENCE_S)
                lines = result.stdout.decode().splitlines()
                self.assertEqual(len(lines), 3, result.stdout)
                self.assertEqual(lines[-1], str(128 + signal.SIGPIPE))
                self.assertEqual(result.stderr, b"")

    def test_a_recording_beside_rows_that_nobody_reads_is_finished(self):
        result = self.run_program("bash", "-c", f"'{ATTUNE}' stat -q -i 100ms -o kept.attune | head -2", timeout=PATIENCE_S)
        self.assertEqual(result.stderr, b"")
        self.assertGreater(self.query("kept.attune", "select count(*) c from samples")[0]["c"], 0)
        self.assertNotIn(b"not closed", self.attune("query", "kept.attune", "select 1").stderr)
        self.assert_nothing_left()

    def test_the_program_is_not_harmed(self):
        """It goes on without readers of attune's rows, takes no signal of theirs, and its exit code is handed on."""
        program = "trap 'echo harmed >> file' PIPE; head -c 1 /dev/zero > begun; while [ ! -e go ]; do sleep 0.05; done; echo end > file; exit 7"
        for output, error in (("head -1 > /dev/null; touch go", b""), ("", b"is there room on the disk?")):
            with self.subTest(output):
                for name in ("go", "file"):
                    if os.path.exists(self.path(name)):
                        os.unlink(self.path(name))
                if output:
                    # Rows go to a pipe whose reader leaves after the first one, and the program ends after that.
                    command = f"'{ATTUNE}' stat -i 100ms -- bash -c \"$1\" | {{ {output}; }}; exit ${{PIPESTATUS[0]}}"
                else:
                    command = f"(sleep 1; touch go) & '{ATTUNE}' stat -i 100ms -- bash -c \"$1\" > /dev/full"
                result = self.run_program("bash", "-c", command, "bash", program, timeout=PATIENCE_S)
                self.assertEqual(result.returncode, 7, result.stderr)
                with open(self.path("file"), encoding="utf-8") as f:
                    self.assertEqual(f.read(), "end\n")
                self.assertIn(error, result.stderr)
                self.assertEqual(result.stderr == b"", error == b"", result.stderr)

    def test_nothing_that_attune_opens_takes_the_place_of_a_closed_stream(self):
        for closed in ((0,), (1,), (2,), (0, 1, 2)):
            with self.subTest(closed):
                def close(streams=closed):
                    for stream in streams:
                        os.close(stream)
                name = "closed" + "".join(map(str, closed))
                result = subprocess.run([ATTUNE, "run", "-q", "-o", name + ".attune", "--", sys.executable, "-c", f"import os\nclosed = [fd for fd in (0, 1, 2) if not os.path.exists(f'/proc/self/fd/{{fd}}')]\nopen('{name}', 'w').write(repr(closed))"],
                                        cwd=self.folder, env=self.env, preexec_fn=close, timeout=PATIENCE_S, check=False)
                self.assertEqual(result.returncode, 0)
                with open(self.path(name), encoding="utf-8") as f:
                    self.assertEqual(f.read(), repr(list(closed)), "the program finds them as attune's caller left them")
                self.assertNotIn(b"not closed", self.attune("query", name + ".attune", "select 1").stderr)


if __name__ == "__main__":
    main()
