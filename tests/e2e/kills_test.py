"""Attune killed, the program killed, the launcher killed, at random moments.

Every recording opens and lacks at most the last second; every event that was committed to a ring before the program's
death is in the file; the program ends with the right output when attune dies; the next start leaves nothing stale.
Rounds: 6 of each kind, or with ATTUNE_FULL=1 200 of each. ATTUNE_SEED repeats a run.
"""

import contextlib
import glob
import json
import os
import random
import re
import signal
import struct
import subprocess
import time

from attune_e2e import ATTUNE, BUILD, E2E, FULL, PATIENCE_S, OthersLoad, main, not_measured

ROUNDS = 200 if FULL else 6
SEED = int(os.environ.get("ATTUNE_SEED", "0")) or random.randrange(1 << 30)
VICTIM = os.path.join(BUILD, "bin", "steady_events")
LONGEST_S = 1.5


class Kills(E2E):
    def setUp(self):
        super().setUp()
        self.random = random.Random(SEED)
        print(f"ATTUNE_SEED={SEED}", flush=True)

    def start(self):
        """@return attune on a program that has begun to emit, and the description of its session"""
        while True:
            for name in ("r.attune", "counter"):
                if os.path.exists(self.path(name)):
                    os.unlink(self.path(name))
            running = subprocess.Popen([ATTUNE, "run", "-q", "-i", "10ms", "-o", "r.attune", "--", VICTIM, self.path("counter"), str(LONGEST_S)],
                                       cwd=self.folder, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            while running.poll() is None:
                for path in glob.glob(os.path.join(self.runtime, "attune", "*", "info.json")):
                    if self.committed() > 0:
                        with open(path, encoding="utf-8") as f:
                            return running, json.load(f)
                time.sleep(0.001)
            _, err = running.communicate()  # it was over before this process got a CPU
            self.assertEqual(running.returncode, 0, err)

    def committed(self):
        try:
            with open(self.path("counter"), "rb") as f:
                data = f.read(8)
            return struct.unpack("<q", data)[0] if len(data) == 8 else 0
        except FileNotFoundError:
            return 0

    def program_pid(self):
        out = subprocess.run(["pgrep", "-f", f"^{VICTIM} {self.path('counter')}"], capture_output=True, text=True, check=False).stdout.split()
        return int(out[0]) if out else None

    def wait_random(self):
        time.sleep(self.random.uniform(0, LONGEST_S * 0.8))

    def wait_until_gone(self, session):
        self.until(lambda: not os.path.exists(session["folder"]), "the end of the session")

    def wait_until_dead(self, pid):
        """A killed process takes some milliseconds to give back what it has, and is alive until then."""
        def is_dead():
            try:
                with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
                    return f.read().rsplit(")", 1)[1].split()[0] in "ZX"
            except (FileNotFoundError, ProcessLookupError):
                return True

        self.until(is_dead, "the end of the killed session", 0.005)

    def assert_events_up_to(self, number):
        """Everything that was committed is there; what found its ring full never was, and is a gap with its count."""
        row = self.query(self.path("r.attune"), f"select count(*) as n, count(distinct a) as d, max(a) as newest from events where kind = 'instant' and a <= {number}")[0]
        dropped = self.query(self.path("r.attune"), "select coalesce(sum(count), 0) as n from gaps where reason = 'dropped'")[0]["n"]
        self.assertEqual(row["n"], row["d"], "events are doubled")
        # The kill can come between a drop and the program's own count of it.
        self.assertIn(row["n"] + dropped, (number, number + 1) if dropped else (number,), "events that were committed are missing")

    def assert_nothing_stale(self, session):
        """The lock of a killed session ends with the last of its threads."""
        def is_collected():
            self.assertEqual(self.attune("list", "sessions", "--json").returncode, 0)
            return not os.path.exists(session["folder"]) and not os.path.exists(session["rings"])
        self.until(is_collected, "the end of what the session left")
        self.assert_nothing_left()

    def test_program_killed(self):
        for _ in range(ROUNDS):
            running, _ = self.start()
            self.wait_random()
            pid = self.program_pid()
            if pid is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            out, _ = running.communicate(timeout=PATIENCE_S)
            if out:  # the program was quicker
                self.assertRegex(out, rb"^done \d+\n$")
            else:
                self.assertEqual(running.returncode, -signal.SIGKILL)
            self.assert_events_up_to(self.committed())
            self.assert_nothing_left()

    def test_session_killed(self):
        busy = 0.0
        for _ in range(ROUNDS):
            load = OthersLoad()
            running, session = self.start()
            self.wait_random()
            killed_ns, killed_real_ns = time.monotonic_ns(), time.time_ns()
            with contextlib.suppress(ProcessLookupError):  # it was quicker
                os.kill(session["pid"], signal.SIGKILL)
            out, err = running.communicate(timeout=PATIENCE_S)
            self.assertEqual(running.returncode, 0)
            self.assertRegex(out, rb"^done \d+\n$")
            row = self.query(self.path("r.attune"), "select (select max(t_ns) from samples) as s, (select max(t_ns) from events) as e, "
                                                     "(select min(t_ns) from samples) as first")[0]
            for newest in (row["s"], row["e"]):
                if killed_real_ns - session["start_real_ns"] > 1_200_000_000 and killed_ns - newest >= 1_000_000_000:
                    self.assertTrue(load.is_much(), "more than the last second is lost")
                    busy = max(busy, load.share())
            self.assert_nothing_stale(session)
        if busy > 0:  # a session that gets no CPU cannot write
            not_measured(self, busy)

    def test_launcher_killed(self):
        for _ in range(ROUNDS):
            running, session = self.start()
            self.wait_random()
            running.kill()
            out = running.stdout.read()  # until the program, which holds it open, has ended
            running.communicate(timeout=PATIENCE_S)
            self.assertRegex(out, rb"^done \d+\n$")
            self.wait_until_gone(session)
            number = int(re.match(rb"done (\d+)", out).group(1))
            self.assert_events_up_to(number)
            self.assert_nothing_stale(session)

    def test_everything_killed(self):
        for _ in range(ROUNDS):
            running, session = self.start()
            self.wait_random()
            for pid in (session["pid"], running.pid, self.program_pid()):
                try:
                    if pid is not None:
                        os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            running.communicate(timeout=PATIENCE_S)
            self.wait_until_dead(session["pid"])
            self.query(self.path("r.attune"), "select count(*) from samples")
            self.assert_nothing_stale(session)


if __name__ == "__main__":
    main()
