"""Steering a session: the control FIFO and `attune ctl`, in every mode that has a session."""

import os
import signal
import stat
import subprocess

from attune_e2e import ATTUNE, E2E, PATIENCE_S, main


class Control(E2E):
    def start(self, *arguments):
        process = subprocess.Popen([ATTUNE, arguments[0], "--fifo", "control", *arguments[1:]], cwd=self.folder, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        self.until(lambda: os.path.exists(self.path("control")) and self.status(), "the session to start")
        return process

    def status(self):
        result = self.attune("ctl", "status")
        return result.stdout if result.returncode == 0 else None

    def say(self, *lines):
        with open(self.path("control"), "w", encoding="utf-8") as f:
            f.write("".join(line + "\n" for line in lines))

    def end(self, process):
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 0, err.decode())
        self.assertFalse(os.path.exists(self.path("control")), "the FIFO is left")
        # The session ends after its last member has read what it wanted.
        self.until(lambda: os.listdir(os.path.join(self.runtime, "attune")) == ["lock"], "the session to end")
        return out.decode(), err.decode()

    def all_five(self, *arguments):
        process = self.start(*arguments)
        mode = os.stat(self.path("control")).st_mode
        self.assertTrue(stat.S_ISFIFO(mode))
        self.assertEqual(stat.S_IMODE(mode), 0o600)
        self.say("record second.attune", "label one", "label two", "interval 20ms")
        self.until(lambda: b'second.attune' in self.status(), "the second recording")
        self.say("pause")
        self.until(lambda: b'"paused":true' in self.status(), "the pause")
        self.say("resume", "bogus", "interval 0", "join 5", "x" * 5000, "label three")
        self.until(lambda: b'"paused":false' in self.status(), "the end of the pause")
        sampled = lambda: self.query("second.attune", "select count(*) c from samples join labels on samples.t_ns > labels.t_ns where text = 'three'")[0]["c"]
        self.until(lambda: sampled() > 0, "samples after the pause")
        out, err = self.end(process)
        for complaint in ("there is no command 'bogus'", "interval: '0'", "'join 5' is not a command for people", "longer than 4096 bytes"):
            self.assertIn(complaint, err)
        labels = self.query("second.attune", "select t_ns, text from labels order by t_ns")
        self.assertEqual([label["text"] for label in labels], ["one", "two", "three"])
        self.assertLess(labels[0]["t_ns"], labels[1]["t_ns"], "each label has a time of its own")
        paused = self.query("second.attune", "select max(t1_ns - t0_ns) as ns, sum(count) as lost from gaps where reason = 'paused'")
        self.assertGreater(paused[0]["ns"], 0)
        intervals = self.query("second.attune", "select distinct interval_ns from streams")
        self.assertIn(20_000_000, [row["interval_ns"] for row in intervals])
        self.assertEqual(self.query("second.attune", "select value from info where key = 'damage'"), [])
        return out

    def test_stat(self):
        out = self.all_five("stat", "-i", "100ms", "-s", "vmstat,cpu")
        self.assertIn("-- one", out)

    def test_record(self):
        self.all_five("record", "-i", "100ms", "-s", "vmstat,cpu", "-o", "first.attune")
        labels = self.query("first.attune", "select text from labels order by t_ns")
        self.assertEqual([label["text"] for label in labels], ["one", "two", "three"])

    def test_live(self):
        self.all_five("live", "-i", "100ms", "-s", "vmstat,cpu")

    def test_run(self):
        process = self.start("run", "-q", "-i", "100ms", "-o", "first.attune", "--", "sleep", "1000")
        self.say("label here")
        self.until(lambda: self.query("first.attune", "select count(*) c from labels")[0]["c"] == 1, "the label")
        self.assertEqual(self.attune("ctl", "stop").returncode, 0)
        subprocess.run(["pkill", "-P", str(process.pid)], check=False)  # the launcher's own child, nobody else's
        process.communicate(timeout=PATIENCE_S)
        self.assertFalse(os.path.exists(self.path("control")))

    def test_recordings_follow_each_other(self):
        process = self.start("live", "-i", "10ms", "-s", "cpu")
        self.say("record a.attune")
        count = lambda name: self.query(name, "select count(*) c from samples")[0]["c"]
        self.until(lambda: os.path.exists(self.path("a.attune")) and count("a.attune") > 0, "the first")
        self.assertEqual(self.attune("ctl", "record", "b.attune").returncode, 0)
        self.until(lambda: count("b.attune") > 0, "the second")
        self.assertEqual(self.attune("ctl", "record", "off").returncode, 0)
        existing = self.attune("ctl", "record", "a.attune")
        self.assertNotEqual(existing.returncode, 0)
        self.assertIn(b"is there already", existing.stderr)
        self.end(process)
        for name in ("a.attune", "b.attune"):
            info = self.attune("query", name, "select count(*) c from elements", "--json")
            self.assertEqual(info.returncode, 0)
            self.assertNotIn(b"not closed", info.stderr)
        first = self.query("a.attune", "select max(t_ns) t from samples")[0]["t"]
        second = self.query("b.attune", "select min(t_ns) t from samples")[0]["t"]
        self.assertLessEqual(first, second, "the one ends where the other begins")

    def labels(self, recording):
        return [label["text"] for label in self.query(recording, "select text from labels order by t_ns")]

    def test_the_end_of_a_writer_ends_its_line(self):
        process = self.start("record", "-i", "100ms", "-s", "cpu", "-o", "first.attune")
        for number, text in enumerate(("label half", "label whole\nlabel end of one", "pause")):
            with open(self.path("control"), "w", encoding="utf-8") as f:
                f.write(text)
            if number < 2:
                self.until(lambda last=text.split("label ")[-1]: last in self.labels("first.attune"), text)
        self.until(lambda: b'"paused":true' in self.status(), "the pause")
        self.assertEqual(self.labels("first.attune"), ["half", "whole", "end of one"])
        self.end(process)

    def test_labels_have_a_limit_that_is_said(self):
        process = self.start("record", "-i", "100ms", "-s", "cpu", "-o", "first.attune")
        self.assertEqual(self.attune("ctl", "label", "x" * 4000).returncode, 0)
        result = self.attune("ctl", "label", "x" * 10000)
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"the command is longer than 4096 bytes", result.stderr)
        self.assertEqual(self.attune("ctl", "label", "after it").returncode, 0)
        self.end(process)
        self.assertEqual([len(label) for label in self.labels("first.attune")], [4000, 8])

    def test_fifo_in_the_way(self):
        self.write("control", "mine")
        result = self.attune("stat", "-s", "cpu", "--for", "100ms", "--fifo", "control")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(b"is not a FIFO of yours", result.stderr)
        with open(self.path("control"), encoding="utf-8") as f:
            self.assertEqual(f.read(), "mine")

    def test_a_fifo_left_by_a_killed_attune_is_used_again(self):
        os.mkfifo(self.path("control"), 0o644)
        process = self.start("stat", "-s", "cpu", "-i", "100ms")
        self.assertEqual(stat.S_IMODE(os.stat(self.path("control")).st_mode), 0o600)
        self.end(process)


if __name__ == "__main__":
    main()
