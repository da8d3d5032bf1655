#!/usr/bin/env python3
"""kill -9 of a tuning session, its launcher, its guardian or all of them, at any moment: the program goes on to the right result, and everything
is as before within a second, or after `attune restore` where the guardian was killed too.

ATTUNE_FULL=1: 200 kills, else a few.
"""

import json
import os
import random
import signal
import subprocess
import time
import unittest

from attune_e2e import ATTUNE, BUILD, E2E, FULL, main

CROWD = os.path.join(BUILD, "tests", "e2e", "crowd")
ROUNDS = 200 if FULL else 5
CPUS = os.sched_getaffinity(0)


def processes_of(name, under):
    """Processes of that name which are descendants of one, or were: a detached session has another parent."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/environ", "rb") as environ, open(f"/proc/{entry}/comm", encoding="utf-8") as comm:
                    if comm.read().strip() == name and under.encode() in environ.read():
                        found.append(int(entry))
            except OSError:
                continue
    return found


def affinities(pid):
    try:
        return {frozenset(os.sched_getaffinity(int(tid))) for tid in os.listdir(f"/proc/{pid}/task")}
    except (FileNotFoundError, ProcessLookupError):
        return set()


@unittest.skipUnless(2 <= len(CPUS) < 8, "teams of eight threads are too many on two to seven CPUs")
class TuneKills(E2E):
    maxDiff = None

    def changes(self):
        return json.loads(self.attune("list", "changes", "--json").stdout)

    def sessions(self):
        return {session["pid"] for session in json.loads(self.attune("list", "sessions", "--json").stdout)}

    def kill(self, launcher, victims):
        pids = {"session": self.sessions(),
                "guardian": processes_of("attune-guardian", self.folder), "launcher": [launcher.pid]}
        for victim in victims:
            for pid in pids[victim]:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass

    def one_round(self, number):
        chance = random.Random(number)
        narrow = frozenset({min(CPUS)})
        env = dict(self.env, XDG_STATE_HOME=self.path("state"), ROUND=self.folder)
        self.env = env
        known = self.sessions()
        # A session whose launcher was killed still writes its recording for a while after the program's end.
        launcher = subprocess.Popen([ATTUNE, "tune", "-q", "-o", self.path(f"{number}.attune"), "--", "taskset", "-c", str(min(CPUS)), CROWD, "14"],
                                    env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        victims = chance.choice([["session"], ["launcher"], ["guardian"], ["session", "guardian"], ["launcher", "session", "guardian"]])
        self.until(lambda: self.sessions() - known, "the session")
        time.sleep(chance.uniform(3, 11))
        program = processes_of("crowd", self.folder)
        was_changed = bool(self.changes())
        self.kill(launcher, victims)
        if "session" in victims:
            # Within a second where there are CPUs for it; how long it takes is not what is tested.
            end = time.monotonic() + 60
            while self.changes() and time.monotonic() < end:
                if "guardian" in victims:
                    self.attune("restore")
                time.sleep(0.05)
            self.assertEqual(self.changes(), [], victims)
            for pid in program:
                self.until(lambda pid=pid: affinities(pid) <= {narrow}, f"the affinities after the end of {victims}")
        output, errors = launcher.communicate(timeout=120)
        while any(os.path.exists(f"/proc/{pid}") for pid in program):
            time.sleep(0.05)
        self.assertTrue(output.startswith(b"0 wrong, "), (output, victims, launcher.returncode, errors[-500:]))
        if "session" in victims:
            self.assertEqual(output, b"0 wrong, 8 threads\n", victims)
        end = time.monotonic() + 60
        while self.changes() and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(self.changes(), [], victims)
        return was_changed

    def test_everything_is_as_before(self):
        changed = sum(self.one_round(number) for number in range(ROUNDS))
        print(f"{ROUNDS} kills, {changed} while something was changed")


if __name__ == "__main__":
    main()
