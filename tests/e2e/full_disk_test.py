"""Disks and files without room: a disk that is full for a while, a recording under --max-size, a run that is over at once."""

import json
import os
import re
import subprocess
import threading
import time
import unittest

from attune_e2e import ATTUNE, BUILD, E2E, main

# In a mount namespace of its own, so that the disk goes with it. The disk stays full for two seconds more.
FULL_FOR_A_WHILE = """
mount -t tmpfs -o size=2m none disk || exit 99
"$0" record -o disk/a.attune -s vmstat -i 5ms 2> said &
recorder=$!
until [ -s disk/a.attune ] && grep -q Ctrl-C said; do sleep 0.02; done
until grep -q 'the recording waits:' said; do cat /dev/zero >> disk/all 2> /dev/null; sleep 0.02; done
sleep 2
rm disk/all
until grep -q 'goes on: nothing could be written' said; do sleep 0.02; done
kill -INT $recorder
wait $recorder
echo $? > exit_code
cp disk/a.attune a.attune
"""
THREADS = """
#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t locks[1024];
static void *work(void *argument) {
  const long rounds = (long)argument;
  unsigned seed = (unsigned)(size_t)&rounds;
  for (long i = 0; i < rounds; ++i) {
    pthread_mutex_t *const lock = &locks[rand_r(&seed) % 1024];
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
  }
  return NULL;
}
int main(int argc, char **argv) {
  pthread_t threads[8];
  for (int i = 0; i < 1024; ++i) pthread_mutex_init(&locks[i], NULL);
  for (int i = 0; i < 8; ++i) pthread_create(&threads[i], NULL, work, (void *)atol(argv[argc - 1]));
  for (int i = 0; i < 8; ++i) pthread_join(threads[i], NULL);
  return 0;
}
"""


class LargestSize(threading.Thread):
    """Looks at a file as often as it can."""

    def __init__(self, path):
        super().__init__()
        self.path, self.bytes, self.looks, self.over = path, 0, 0, threading.Event()

    def run(self):
        while not self.over.wait(0.0005):
            try:
                self.bytes = max(self.bytes, os.stat(self.path).st_size)
                self.looks += 1
            except FileNotFoundError:
                pass


class FullDisk(E2E):
    def report(self, recording):
        result = self.attune("report", recording, "--json")
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        return json.loads(result.stdout)

    def test_a_disk_that_is_full_for_a_while_does_not_end_the_recording(self):
        os.mkdir(self.path("disk"))
        namespace = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
        result = self.run_program(*namespace, "bash", "-c", FULL_FOR_A_WHILE, ATTUNE)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        with open(self.path("said"), encoding="utf-8") as f:
            said = f.read()
        self.assertEqual(len(re.findall("the recording waits: writing .* it goes on when it can", said)), 1, said)
        self.assertEqual(len(re.findall("the recording goes on: nothing could be written for .*: nothing is lost", said)), 1, said)
        self.assertEqual(len(re.findall("(?<!on: )nothing could be written for .*: nothing is lost", said)), 1, said)
        with open(self.path("exit_code"), encoding="ascii") as f:
            self.assertEqual(f.read(), "0\n")
        recording = self.path("a.attune")
        gaps = self.query(recording, "select t0_ns, t1_ns, count from gaps where reason = 'disk full'")
        self.assertEqual(len(gaps), 1)
        self.assertEqual(gaps[0]["count"], 0)
        self.assertGreater(gaps[0]["t1_ns"] - gaps[0]["t0_ns"], 2_000_000_000)
        rows = "select count(distinct t_ns) n from samples where t_ns "
        self.assertGreater(self.query(recording, f"{rows} > {gaps[0]['t1_ns']}")[0]["n"], 10)
        self.assertGreater(self.query(recording, f"{rows} between {gaps[0]['t0_ns']} and {gaps[0]['t1_ns']}")[0]["n"], 10)
        labels = [row["text"] for row in self.query(recording, "select text from labels order by t_ns")]
        self.assertEqual([label.split(":")[0] for label in labels], ["the recording waits", "the recording goes on"])
        report = self.attune("report", recording, "--full")
        self.assertEqual(report.returncode, 0, report.stderr.decode())
        self.assertRegex(report.stdout.decode(), "all: nothing could be written once, .* in all: nothing is lost")

    def least_size(self, *arguments):
        """That attune names when it is given less."""
        result = self.attune("run", "-q", "-o", self.path("refused.attune"), "--max-size", "10k", *arguments)
        self.assertEqual((result.returncode, result.stdout), (2, b""), result.stderr.decode())
        found = re.search(r"--max-size 10.0 kB is too small: .*give --max-size at least (\d+)kB", result.stderr.decode(), re.S)
        self.assertIsNotNone(found, result.stderr.decode())
        self.assertFalse(os.path.exists(self.path("refused.attune")), "it is removed")
        return int(found.group(1)) << 10

    def test_a_largest_size_is_never_exceeded(self):
        source, program = self.write("threads.c", THREADS), self.path("threads")
        subprocess.run(["cc", "-O1", "-pthread", "-o", program, source], check=True)
        many = ["-s", "cpu@1ms,vmstat@1ms,pressure@1ms,interrupts@1ms,memory@1ms,perf@1ms,thread@1ms"]
        load = [*many, "--level", "stamped", "--trace-stream", "--trace-buffer", "8MiB", "--", program, "400000"]
        for name, limit, arguments in (("least", self.least_size(*load), load), ("1MB", 1 << 20, load)):
            with self.subTest(name):
                recording = self.path(name + ".attune")
                seen = LargestSize(recording)
                seen.start()
                began = time.monotonic_ns()
                result = self.attune("run", "-q", "-o", recording, "--max-size", str(limit >> 10) + "k", *arguments)
                seen.over.set()
                seen.join()
                self.assertEqual(result.returncode, 0, result.stderr.decode())
                print(f"{name}: limit {limit}, at most {seen.bytes} in {seen.looks} looks, at the end {os.path.getsize(recording)}, "
                      f"{(time.monotonic_ns() - began) / 1e9:.1f} s", flush=True)
                self.assertGreater(seen.looks, 10)
                self.assertLessEqual(max(seen.bytes, os.path.getsize(recording)), limit, result.stderr.decode())
                report = self.report(recording)
                self.assertEqual(report["damage"], [])
                self.assertEqual([gap["reason"] for gap in report["gaps"] if gap["reason"] == "rolled"], ["rolled"])
                end = report["processes"][0]["end_ns"]
                # Of the least size the sums of the locks, which come last, may take all that is left.
                last = max(self.query(recording, f"select coalesce(max(t_ns), 0) t_ns from {table}")[0]["t_ns"] for table in ("samples", "events", "sync"))
                # Rows that came faster than this machine writes are told by a gap.
                dropped = self.query(recording, "select coalesce(max(t1_ns), 0) t_ns from gaps where reason = 'dropped'")[0]["t_ns"]
                self.assertLess(end - max(last, dropped), 1_000_000_000)

    def test_a_run_shorter_than_an_interval_has_values_and_a_date(self):
        for name, arguments in (("run", ["run", "-i", "1s", "--", "true"]), ("record", ["record", "--for", "5ms", "-i", "1s"]),
                                ("nothing", ["record", "--for", "5ms", "-s", "none"])):
            with self.subTest(name):
                recording = self.path(name + ".attune")
                began = time.time_ns()
                result = self.attune(arguments[0], "-q", "-o", recording, *arguments[1:])
                self.assertEqual(result.returncode, 0, result.stderr.decode())
                report = self.report(recording)
                self.assertGreater(report["start_real_ns"], began - 1_000_000_000)
                self.assertLess(report["start_real_ns"], time.time_ns())
                if name == "nothing":
                    continue
                signals = {signal["name"]: signal for signal in report["machine"]["signals"]}
                self.assertIn("vmstat.pgfault", signals)
                self.assertGreater(signals["vmstat.pgfault"]["total"], 0)
                self.assertGreater(report["machine"]["measured_s"], 0)


if __name__ == "__main__":
    main()
