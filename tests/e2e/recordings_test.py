"""No recording is lost: names are claimed, older files stay until something has replaced them, and programs run where nothing can be kept."""

import glob
import os
import subprocess
import time
import unittest

from attune_e2e import ATTUNE, E2E, PATIENCE_S


class Recordings(E2E):
    def start(self, *arguments, **kwargs):
        running = subprocess.Popen([ATTUNE, *arguments], cwd=kwargs.pop("cwd", self.folder), env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, **kwargs)
        self.addCleanup(running.wait)
        self.addCleanup(running.kill)
        return running

    def bytes_of(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()

    def files(self):
        return sorted(name for name in os.listdir(self.folder) if name != "runtime")

    def record(self, name):
        result = self.attune("run", "-q", "-o", name, "--", "true")
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        return self.bytes_of(name)

    def wait_until_nothing_is_left(self):
        """A temporary recording goes away after its last reader."""
        base = os.path.join(self.runtime, "attune")
        while [name for name in os.listdir(base) if name != "lock"]:
            time.sleep(0.01)

    def test_many_at_once_in_one_folder_each_have_a_recording(self):
        count = 8
        running = [self.start("run", "-q", "--", "sh", "-c", f"echo {i}") for i in range(count)]
        for i, each in enumerate(running):
            out, err = each.communicate(timeout=120)
            self.assertEqual((each.returncode, out, err), (0, f"{i}\n".encode(), b""))
        recordings = glob.glob(self.path("attune-sh-*.attune"))
        self.assertEqual(len(recordings), count)
        programs = {self.query(recording, "select value from info where key = 'program'")[0]["value"] for recording in recordings}
        self.assertEqual(programs, {f"sh -c echo {i}" for i in range(count)})

    def test_where_nothing_can_be_kept_the_program_runs(self):
        gone = self.path("gone")
        os.mkdir(gone)
        for folder, quiet in (("/proc", []), ("/proc", ["-q"]), (gone, [])):
            running = self.start("run", *quiet, "--", "echo", "here", cwd=folder, preexec_fn=(lambda: os.rmdir(gone)) if folder == gone else None)
            out, err = running.communicate(timeout=PATIENCE_S)
            self.assertEqual((running.returncode, out), (0, b"here\n"), err.decode())
            self.assertRegex(err.decode(), r"no recording is kept: .*-o FILE puts it elsewhere")
            self.assertEqual(b"echo here" in err, not quiet, "the report")  # without -q the report comes all the same
            self.wait_until_nothing_is_left()
        machine = self.start("record", "--for", "1s", cwd="/proc")
        _, err = machine.communicate(timeout=PATIENCE_S)
        self.assertNotEqual(machine.returncode, 0, "a recording of the machine that is not kept is none")
        self.assertIn(b"creating /proc/attune-record-", err)

    def test_a_program_that_cannot_run_costs_no_older_file(self):
        good = self.record("good.attune")
        for arguments in (["--", "./typo"], ["--sink", "influxdb=/no/such/folder/x", "--", "true"], ["-s", "cpu", "--listen", "192.0.2.1:1", "--", "true"]):
            result = self.attune("run", "-f", "-o", "good.attune", *arguments)
            self.assertNotEqual(result.returncode, 0)
            self.assertEqual(self.bytes_of("good.attune"), good)
            self.assertEqual(self.files(), ["good.attune"])
        self.assertEqual(self.attune("run", "-q", "-f", "-o", "good.attune", "--", "sh", "-c", "exit 0").returncode, 0)
        self.assertEqual(self.query(self.path("good.attune"), "select value from info where key = 'program'")[0]["value"], "sh -c exit 0")
        self.assertEqual(self.files(), ["good.attune"])

    def test_failed_exports_and_merges_cost_no_older_file(self):
        self.record("r.attune")
        good = self.record("good.attune")
        for arguments in (["export", "r.attune", "--to", "hardware-xml"], ["merge", "r.attune", "r.attune"]):
            result = self.attune(*arguments, "-f", "-o", "good.attune")
            self.assertNotEqual(result.returncode, 0)
            self.assertEqual(self.bytes_of("good.attune"), good)
        self.assertEqual(self.attune("export", "r.attune", "--to", "csv", "-f", "-o", "good.attune").returncode, 0)
        self.assertTrue(self.bytes_of("good.attune").startswith(b"t"))
        self.assertEqual(self.files(), ["good.attune", "r.attune"])

    def test_nobody_replaces_what_is_being_recorded(self):
        self.record("done.attune")
        running = self.start("run", "-q", "-i", "10ms", "-o", "r.attune", "--", "sh", "-c", "echo runs; read line")
        self.assertEqual(running.stdout.readline(), b"runs\n")
        for arguments in (["run", "-f", "-o", "r.attune", "--", "true"], ["record", "-f", "-o", "r.attune", "--for", "1s"],
                          ["export", "done.attune", "--to", "csv", "-f", "-o", "r.attune"], ["ctl", "record", "r.attune"]):
            result = self.attune(*arguments)
            self.assertNotEqual(result.returncode, 0, arguments)
            self.assertRegex(result.stderr.decode(), r"r\.attune is (being written by another attune|there already)[^\n]*\n[^\n]*choose another name", arguments)
        running.communicate(b"\n", timeout=PATIENCE_S)
        self.assertEqual(running.returncode, 0)
        self.assertEqual(self.query(self.path("r.attune"), "select exit_code from processes where parent is null or parent = 0")[0]["exit_code"], 0)
        self.assertEqual(self.files(), ["done.attune", "r.attune"])

    def test_stat_reads_the_recording_that_it_makes(self):
        self.record("r.attune")
        result = self.attune("stat", "-f", "-o", "r.attune", "-i", "50ms", "--csv", "--", "sleep", "1")
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        self.assertGreater(len(result.stdout.splitlines()), 10)


if __name__ == "__main__":
    unittest.main(verbosity=2)
