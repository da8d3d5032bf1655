"""Plug-in sensors as a user has them: docs/plugins.md to the letter, and plug-ins that misbehave in a session."""

import json
import os
import signal
import subprocess

from attune_e2e import ATTUNE, BUILD, E2E, PATIENCE_S, main

SOURCE = os.environ["ATTUNE_SOURCE"]
BAD = os.path.join(BUILD, "tests", "plugin", "bad_plugin.so")


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

    def test_one_that_cannot_start_is_said_and_the_rest_goes_on(self):
        result = self.attune("record", "-s", f"cpu,{BAD}=refuse", "--for", "300ms", "-o", "refuse.attune")
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        self.assertIn("no card of ours in this machine", result.stderr.decode())
        self.assertTrue(self.query("refuse.attune", "select id from series where sensor = 'cpu'"))


if __name__ == "__main__":
    main()
