"""The file of a user's defaults: what it says holds where neither the command line nor a console file says otherwise."""

import json
import os

from attune_e2e import E2E, main


class Defaults(E2E):
    def setUp(self):
        super().setUp()
        os.makedirs(self.path("config/attune"))
        self.env["XDG_CONFIG_HOME"] = self.path("config")
        self.env.pop("ATTUNE_DEFAULTS", None)

    def defaults(self, text, name="config/attune/defaults.toml"):
        return self.write(name, text)

    def line(self, *arguments, command="run"):
        """@return the command line that applied, as the recording has it"""
        result = self.attune(command, "-o", "out.attune", "-f", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        return self.query(self.path("out.attune"), "select value from info where key = 'command_line'")[0]["value"]

    def test_options_hold_where_nothing_else_is_said(self):
        self.defaults('level = "off"\nsensors = "vmstat"\n[run]\ninterval = "50ms"\nquiet = true\n[stat]\nevents = "vmstat.pgfault"\njson = true\n')
        self.assertEqual(self.line("--", "true"), "attune run --sensors vmstat --interval 50ms --output out.attune --force --quiet --level off -- true")
        self.assertEqual(self.query(self.path("out.attune"), "select value from info where key = 'level'"), [{"value": "off"}])
        self.assertEqual({row["sensor"] for row in self.query(self.path("out.attune"), "select distinct sensor from series where sensor in ('cpu', 'vmstat')")}, {"vmstat"})
        line = self.line("-s", "cpu", "-l", "profile", "--", "true")
        self.assertTrue("--sensors cpu " in line and "--level profile" in line and "--interval 50ms" in line, line)
        self.assertNotIn("interval", self.line("--for", "100ms", command="record"), "that is for run")
        rows = self.attune("stat", "-i", "50ms", "--for", "200ms").stdout.decode().splitlines()
        self.assertIn("vmstat.pgfault", json.loads(rows[0]))

    def test_a_console_file_goes_before_them(self):
        self.defaults('trace-stream = true\nlevel = "off"\n[run]\nsensors = "vmstat"\n')
        run = self.write("run.toml", 'program = "true"\n[observe]\nlevel = "profile"\ntrace-stream = false\n')
        line = self.line("-q", "--console-file", run)
        self.assertIn("--sensors vmstat", line)
        self.assertIn("--level profile", line)
        self.assertNotIn("--trace-stream", line, "false is said, too")

    def test_they_can_be_left_out(self):
        self.defaults("no TOML\n")
        other = self.defaults('level = "off"\n', "other.toml")
        for arguments, variable in ((["--no-defaults"], None), ([], "")):
            if variable is not None:
                self.env["ATTUNE_DEFAULTS"] = variable
            self.assertNotIn("--level", self.line("-q", "-s", "cpu:sum", *arguments, "--", "true"))
        self.env["ATTUNE_DEFAULTS"] = other
        self.assertIn("--level off", self.line("-q", "-s", "cpu:sum", "--", "true"))
        self.env["ATTUNE_DEFAULTS"] = self.path("nowhere.toml")
        result = self.attune("run", "--", "true")
        self.assertEqual(result.returncode, 1)
        self.assertIn("nowhere.toml", result.stderr.decode())

    def test_what_depends_on_others_counts_with_them_only(self):
        self.defaults('every = "100ms"\n[run]\ncheck-influence = true\n[live]\nruns = "runs"\n[stat]\njson = true\n')
        line = self.line("-q", "-s", "cpu:sum", "--no-interpose", "--", "true")
        self.assertNotIn("--every", line)
        self.assertNotIn("--check-influence", line)
        self.assertEqual(self.attune("live", "-q", "-s", "cpu:sum", "--for", "100ms").returncode, 0)
        self.assertIn(b",", self.attune("stat", "--csv", "--interval", "50ms", "--for", "300ms").stdout.splitlines()[0])

    def test_mistakes_name_line_and_column_and_cost_nothing(self):
        file = self.defaults('quiet = true\n[run]\nsensors = "no-such-sensor"\n')
        result = self.attune("run", "-o", "out.attune", "--", "true")
        self.assertEqual(result.returncode, 2)
        self.assertIn(f"{file}:3:11: --sensors: there is no sensor", result.stderr.decode())
        self.defaults('[run]\nlevle = "off"\n')
        for command in (["record", "--for", "1s"], ["stat", "--for", "1s"], ["live", "--for", "1s"]):
            result = self.attune(*command)
            self.assertEqual((result.returncode, result.stdout), (2, b""))
            self.assertIn(f"{file}:2:1: [run] has the unknown key 'levle'", result.stderr.decode())
        self.assertFalse(os.path.exists(self.path("out.attune")))
        check = next(each for each in json.loads(self.attune("doctor", "--json").stdout)["checks"] if each["id"] == "defaults")
        self.assertEqual(check["status"], "missing")
        self.assertIn("defaults.toml:2:1", check["detail"])
        os.unlink(file)
        os.mkfifo(file)
        self.assertIn("a FIFO", self.attune("run", "--", "true").stderr.decode())

    def test_doctor_says_that_there_is_one(self):
        def check():
            return next(each for each in json.loads(self.attune("doctor", "--json").stdout)["checks"] if each["id"] == "defaults")
        self.assertEqual((check()["status"], check()["detail"]), ("ok", "none"))
        file = self.defaults('level = "blame"\n')
        self.assertEqual((check()["status"], check()["detail"]), ("ok", file))


if __name__ == "__main__":
    main()
