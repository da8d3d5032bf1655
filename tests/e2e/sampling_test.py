"""What a session samples: pauses and intervals in every mode, threads of the program, sums, no leak."""

import json
import os
import socket
import subprocess
import sys

from attune_e2e import ATTUNE, E2E, PATIENCE_S, main

MS = 1_000_000

# Three threads that live until the file of the argument appears.
THREADS = """
import os, sys, threading, time
def work():
    while not os.path.exists(sys.argv[1]): time.sleep(0.005)
threads = [threading.Thread(target=work) for _ in range(3)]
for t in threads: t.start()
for t in threads: t.join()
"""


class Sampling(E2E):
    def start(self, *arguments):
        process = subprocess.Popen([ATTUNE, *arguments], cwd=self.folder, env=self.env, stdout=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.until(lambda: self.attune("ctl", "status").returncode == 0, "the session")
        return process

    def ctl(self, *words):
        result = self.attune("ctl", *words)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        return result.stdout

    def rows(self, recording, sensor):
        return self.query(recording, f"select count(*) n from samples join series on series.id = samples.series "
                                     f"where sensor = '{sensor}' and series = (select min(id) from series where sensor = '{sensor}')")[0]["n"]

    def wait_for_rows(self, recording, sensor, more):
        wanted = self.rows(recording, sensor) + more
        self.until(lambda: self.rows(recording, sensor) >= wanted, "samples")

    def expect_every_tick(self, recording, sensor, interval_ns):
        """Every grid point from the first sample to the last is a sample, or counted in a gap. One sample beside the grid begins, and one ends."""
        first = f"(select min(id) from series where sensor = '{sensor}')"
        t_ns = [row["t_ns"] for row in self.query(recording, f"select t_ns from samples where series = {first} order by t_ns")]
        gaps = self.query(recording, f"select t0_ns, count from gaps where stream in (select stream from streams where series = {first})")
        lost = sum(gap["count"] for gap in gaps if t_ns[0] < gap["t0_ns"] < t_ns[-1])
        points = {t // interval_ns for t in t_ns}
        self.assertLessEqual(len(t_ns) - len(points), 2)
        self.assertEqual(len(points) + lost, t_ns[-1] // interval_ns - t_ns[0] // interval_ns + 1)

    def test_pauses_and_intervals_in_every_mode(self):
        for mode, program in (("record", []), ("run", ["--", "sleep", "6000"]), ("stat", []), ("live", [])):
            with self.subTest(mode):
                recording = self.path(mode + ".attune")
                session = self.start(mode, "-q", "-s", "cpu,vmstat@10ms", "-i", "20ms", "-o", recording, *program)
                self.wait_for_rows(recording, "cpu", 10)
                for _ in range(3):
                    self.ctl("pause")
                    self.assertTrue(json.loads(self.ctl("status"))["paused"])
                    self.ctl("resume")
                    self.wait_for_rows(recording, "cpu", 3)
                self.ctl("interval", "vmstat", "5ms")
                self.wait_for_rows(recording, "vmstat", 10)
                self.ctl("stop")
                if mode == "run":
                    session.terminate()
                session.wait(PATIENCE_S)
                self.expect_every_tick(recording, "cpu", 20 * MS)
                intervals = self.query(recording, "select distinct interval_ns i from streams join series on series.id = series "
                                                  "where sensor = 'vmstat' order by i")
                self.assertEqual([row["i"] for row in intervals], [5 * MS, 10 * MS])
                pauses = self.query(recording, "select count(*) n from gaps where reason = 'paused'")
                self.assertGreaterEqual(pauses[0]["n"], 6)

    def test_hundreds_of_toggles_leak_no_descriptor(self):
        recording = self.path("toggles.attune")
        session = self.start("record", "-q", "-o", recording)
        self.wait_for_rows(recording, "cpu", 1)
        pid = json.loads(self.ctl("status"))["id"]
        with socket.socket(socket.AF_UNIX) as control:
            control.connect(os.path.join(self.runtime, "attune", pid, "ctl"))
            answers = control.makefile()

            def ask(line):
                control.sendall(line.encode() + b"\n")
                self.assertIs(json.loads(answers.readline())["ok"], True, line)

            ask("status")
            before = len(os.listdir(f"/proc/{pid}/fd"))
            for i in range(300):
                ask("pause")
                ask(f"interval {'1ms' if i % 2 else '100ms'}")
                ask("resume")
            ask("interval 100ms")
            # Now and then sensors are opened anew, one beside the other for a moment; a leak would be hundreds.
            self.until(lambda: len(os.listdir(f"/proc/{pid}/fd")) <= before + 10, "the descriptors to be closed")
            ask("stop")
        session.wait(PATIENCE_S)

    def test_threads_hang_on_their_process(self):
        recording, done = self.path("threads.attune"), self.path("done")
        session = self.start("run", "-q", "-s", "thread@10ms", "-o", recording, "--", sys.executable, "-c", THREADS, done)

        def threads():
            return self.query(recording, "select t.os_id tid, p.kind parent, max(value) run from samples join series on series.id = samples.series "
                                         "join elements t on t.id = series.element join elements p on p.id = t.parent "
                                         "where sensor = 'thread' and signal = 'run' group by t.id")

        self.until(lambda: len(threads()) >= 4, "the threads")  # the first thread and three more
        self.write("done", "")
        self.assertEqual(session.wait(PATIENCE_S), 0)
        seen = threads()
        self.assertEqual({row["parent"] for row in seen}, {"process"})
        rss = self.query(recording, "select max(value) rss from samples join series on series.id = samples.series where signal = 'rss'")
        self.assertGreater(rss[0]["rss"], 1 << 20)

    def test_summed_is_one_series_of_the_machine(self):
        recording = self.path("sum.attune")
        result = self.attune("record", "-q", "-s", "cpu:sum@10ms", "--for", "300ms", "-o", recording)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        series = self.query(recording, "select elements.kind level from series join elements on elements.id = element where sensor = 'cpu'")
        self.assertEqual([row["level"] for row in series], ["machine"] * 15)


main()
