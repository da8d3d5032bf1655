"""Plug-in sensors as a user has them: docs/plugins.md to the letter, and plug-ins that misbehave in a session."""

import json
import os
import signal
import subprocess

from attune_e2e import ATTUNE, BUILD, E2E, PATIENCE_S, main

SOURCE = os.environ["ATTUNE_SOURCE"]
BAD = os.path.join(BUILD, "tests", "plugin", "bad_plugin.so")


DESCRIPTION = """[sensor]
name = "board"
description = "temperatures of a board"
[files]
folder = "/nowhere"
[elements]
name = "board{number}"
[[signal]]
name = "temperature"
file = "temp"
unit = "C"
scale = -2
kind = "gauge"
sum = "max"
description = "temperature"
"""


class Plugins(E2E):
    def test_the_template_by_its_one_line(self):
        with open(os.path.join(SOURCE, "examples", "plugin-sensor", "dice.c"), encoding="utf-8") as source:
            self.write("dice.c", source.read())
        subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2", "-shared", "-fPIC", "-fvisibility=hidden", "-I", os.path.join(SOURCE, "include"),
                        "dice.c", "-o", "dice.so"], cwd=self.folder, check=True)
        result = self.attune("record", "-s", "./dice.so=42", "-i", "10ms", "--for", "1s", "-o", "dice.attune")
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        rows = self.query("dice.attune", "select elements.name, min(value) as low, max(value) as high, count(*) as n from samples join series on series.id = series"
                                         " join elements on elements.id = element where signal = 'spots' group by elements.name")
        self.assertEqual([row["name"] for row in rows], ["left", "right"])
        for row in rows:
            self.assertTrue(1 <= row["low"] < row["high"] <= 6, row)

    def test_in_the_folder_of_sensors_it_is_listed(self):
        config = self.path("config")
        os.makedirs(os.path.join(config, "attune", "sensors"))
        os.symlink(os.path.join(BUILD, "examples", "plugin-sensor", "dice.so"), os.path.join(config, "attune", "sensors", "dice.so"))
        env = dict(self.env, XDG_CONFIG_HOME=config)
        self.assertIn("dice.throws\n", self.attune("list", "signals", "dice", "--names", env=env).stdout.decode())

    def test_a_crash_costs_its_own_series_only(self):
        session = subprocess.Popen([ATTUNE, "record", "-q", "-s", f"cpu,{BAD}=crash", "-i", "10ms", "-o", "crash.attune"], cwd=self.folder, env=self.env)
        self.addCleanup(session.wait)
        self.addCleanup(session.kill)

        def found(sql):
            result = self.attune("query", "crash.attune", sql, "--json")
            return result.returncode == 0 and json.loads(result.stdout)

        self.until(lambda: found("select text from labels where text = 'plug-in bad_plugin crashed (SIGSEGV); it is started again'"), "the crash")
        self.until(lambda: found("select reason from gaps join streams on streams.stream = gaps.stream join series on series.id = streams.series"
                                 " where sensor = 'bad_plugin' and reason = 'vanished'"), "its gap")
        session.send_signal(signal.SIGINT)
        self.assertEqual(session.wait(PATIENCE_S), 0)
        vanished = self.query("crash.attune", "select count(*) as n from gaps join streams on streams.stream = gaps.stream join series on series.id = streams.series"
                                              " where sensor = 'cpu' and reason = 'vanished'")
        self.assertEqual(vanished[0]["n"], 0)
        self.assert_nothing_left()

    def run_with_sensor(self, sensor, program, **kwargs):
        """The output of a program that runs beside that sensor, and of attune."""
        result = self.attune("run", "-s", f"cpu,{sensor}", "-i", "10ms", "-o", "run.attune", "-f", "--", "sh", "-c", program, **kwargs)
        self.assertEqual((result.returncode, result.stdout), (7, b"ran\n"), result.stderr.decode())
        self.assertTrue(self.query("run.attune", "select id from series where sensor = 'cpu'"))
        self.assert_nothing_left()
        return result.stderr.decode()

    def why_skipped(self):
        """As the recording has it, where the sensor's start took so long that it is not on standard error."""
        return self.query("run.attune", "select value from info where key like 'skipped.%'")[0]["value"]

    def test_a_slow_open_does_not_hold_up_the_program_and_joins_when_it_is_ready(self):
        # Only the program lets the plug-in go on, and it ends when that is sampled: neither may wait for the other.
        attune = f"{ATTUNE} query run.attune \"select count(*) as n from samples join series on series.id = series where sensor = 'bad_plugin'\" --json"
        said = self.run_with_sensor(f"{BAD}=waits=" + self.path("go"), f"echo ran; : > go; until {attune} | grep -q '\"n\": *[1-9]'; do :; done; exit 7")
        self.assertIn("sensor bad_plugin is slow: it was not ready after 100 ms; it joins when it is", said)
        self.assertEqual(self.query("run.attune", "select value from info where key = 'skipped.bad_plugin'"), [{"value": "was not there from the start"}])

    def test_an_open_that_never_returns_is_left_out(self):
        said = self.run_with_sensor(f"{BAD}=hang-in-open", "echo ran; exit 7")
        self.assertIn("sensor bad_plugin is slow: it was not ready after 100 ms", said)
        self.assertEqual(self.query("run.attune", "select value from info where key = 'skipped.bad_plugin'"), [{"value": "it was not ready after 100 ms"}])

    def test_stat_leaves_no_second_instance_of_a_plugin_behind(self):
        pids = self.path("pids")
        # The newest one is the session's; those that stat asked for their signals have ended by then.
        script = 'until [ "$(wc -l <pids)" -ge 2 ]; do :; done; for pid in $(sed \'$d\' pids); do kill -0 $pid && exit 3; done; exit 7'
        result = self.attune("stat", "-s", f"{BAD}=lists={pids}", "-e", "bad_plugin.samples", "--", "sh", "-c", script)
        self.assertEqual(result.returncode, 7, result.stderr)

    def test_one_in_the_folder_of_sensors_does_not_hold_up_the_program(self):
        folder = self.path("config/attune/sensors")
        os.makedirs(folder)
        with open(os.path.join(folder, "never.c"), "w", encoding="utf-8") as source:
            source.write("#include <unistd.h>\n__attribute__((constructor)) static void never(void) { for (;;) pause(); }\n")
        subprocess.run(["cc", "-shared", "-fPIC", "never.c", "-o", "never.so"], cwd=folder, check=True)
        env = dict(self.env, XDG_CONFIG_HOME=self.path("config"))
        result = self.attune("run", "-o", "run.attune", "--", "sh", "-c", "echo ran; exit 7", env=env)
        self.assertEqual((result.returncode, result.stdout), (7, b"ran\n"))
        self.assertIn("sensor never is slow", result.stderr.decode())

    def test_a_fifo_in_the_place_of_a_file_of_numbers_is_said(self):
        os.mkdir(self.path("board"))
        os.mkfifo(self.path("board/temp"))
        self.write("board.toml", DESCRIPTION)
        self.run_with_sensor("./board.toml=" + self.path("board"), "echo ran; sleep 1; exit 7")
        self.assertIn("temp is a FIFO", self.why_skipped())

    def test_a_description_that_vanishes_before_the_session_reads_it_is_said(self):
        self.write("board.toml", DESCRIPTION)
        folder = os.open(self.folder, os.O_PATH)
        self.addCleanup(os.close, folder)
        # The launcher alone has that descriptor.
        path = f"/proc/self/fd/{folder}/board.toml"
        self.run_with_sensor(path, "echo ran; sleep 1; exit 7", pass_fds=[folder])
        self.assertIn(f"{path}: No such file or directory", self.why_skipped())

    def test_a_captured_tree_that_vanishes_is_said(self):
        self.write("board.toml", DESCRIPTION)
        self.run_with_sensor("./board.toml=" + self.path("nowhere"), "echo ran; sleep 1; exit 7")
        self.assertIn(self.path("nowhere/temp") + ": No such file or directory", self.why_skipped())

    def test_one_that_cannot_start_is_said_and_the_rest_goes_on(self):
        result = self.attune("record", "-s", f"cpu,{BAD}=refuse", "--for", "300ms", "-o", "refuse.attune")
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        self.assertIn("no card of ours in this machine", result.stderr.decode())
        self.assertTrue(self.query("refuse.attune", "select id from series where sensor = 'cpu'"))


if __name__ == "__main__":
    main()
