"""Levels trace and stamped: every acquisition and release is in the recording, and in what other tools read."""

import collections
import os
import signal
import subprocess

from attune_e2e import ATTUNE, BUILD, E2E, main, needs

PROGRAM = os.path.join(BUILD, "tests", "probe", "sync_scenarios")
TURNS = "select kind, count(*) as n, max(a) as bound_ns from events where kind in ('acquire', 'release') group by kind"


class Trace(E2E):
    def turns(self, recording):
        return {row["kind"]: row for row in self.query(recording, TURNS)}

    def start_steps(self, *options):
        """A program that locks once for each letter that it is given."""
        command = [ATTUNE, "run", "-q", "-f", "-o", "r.attune", *options, "--", PROGRAM, "steps"]
        return subprocess.Popen(command, cwd=self.folder, env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def step(self, program, times):
        program.stdin.write(b"l" * times)
        program.stdin.flush()
        self.assertEqual(program.stdout.read(times), b"d" * times)

    def test_every_acquisition_is_there_once(self):
        for level in ("trace", "stamped"):
            result = self.attune("run", "-q", "-f", "-o", "r.attune", "--level", level, "--trace-stream",
                                 "--trace-buffer", "4MiB", "--", PROGRAM, "counts", "4", "5000")
            self.assertEqual((result.returncode, result.stdout), (0, b"20000\n"), result.stderr)
            counted = self.query("r.attune", "select sum(count) as n from sync where kind = 'mutex'")[0]["n"]
            turns = self.turns("r.attune")
            self.assertEqual(counted, 20000)
            self.assertEqual((turns["acquire"]["n"], turns["release"]["n"]), (20000, 20000))
            self.assertEqual(turns["acquire"]["bound_ns"] == 0, level == "stamped")
            # Each thread takes turns, one release for each acquisition.
            rows = self.query("r.attune", "select thread, kind, t_ns from events where kind in ('acquire', 'release')")
            threads = collections.defaultdict(list)
            for row in rows:
                threads[row["thread"]].append(row)
            for thread in threads.values():
                self.assertEqual({row["kind"] for row in thread[::2]}, {"acquire"})
                self.assertEqual({row["kind"] for row in thread[1::2]}, {"release"})
                times = [row["t_ns"] for row in thread]
                self.assertTrue(times == sorted(times), "times go back")

    def test_of_stamped_holders_none_overlaps_another(self):
        result = self.attune("run", "-q", "-f", "-o", "r.attune", "--level", "stamped", "--trace-stream",
                             "--trace-buffer", "4MiB", "--", PROGRAM, "counts", "4", "5000")
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = self.query("r.attune", "select thread, kind, t_ns from events where kind in ('acquire', 'release')")
        since, held = {}, []
        for row in rows:
            if row["kind"] == "acquire":
                since[row["thread"]] = row["t_ns"]
            else:
                held.append((since[row["thread"]], row["t_ns"]))
        held.sort()
        self.assertEqual(len(held), 20000)
        self.assertEqual(sum(before[1] > after[0] for before, after in zip(held, held[1:])), 0)

    @needs("otf2-print")
    def test_otf2_has_the_same(self):
        result = self.attune("run", "-q", "-f", "-o", "r.attune", "--level", "trace", "--trace-stream",
                             "--trace-buffer", "4MiB", "--", PROGRAM, "counts", "4", "3000")
        self.assertEqual(result.returncode, 0, result.stderr)
        exported = self.attune("export", "r.attune", "--to", "otf2", "-o", "job.otf2")
        self.assertEqual(exported.returncode, 0, exported.stderr)
        printed = self.run_program("otf2-print", "job.otf2/traces.otf2")
        self.assertEqual((printed.returncode, printed.stderr), (0, b""))
        records = collections.Counter(line.split()[0] for line in printed.stdout.decode().splitlines() if line[:1].isupper())
        turns = self.turns("r.attune")
        waits = self.query("r.attune", "select count(*) as n from events where kind = 'wait'")[0]["n"]
        self.assertEqual(records["THREAD_ACQUIRE_LOCK"], turns["acquire"]["n"])
        self.assertEqual(records["THREAD_RELEASE_LOCK"], turns["release"]["n"])
        self.assertEqual((records["ENTER"], records["LEAVE"]), (waits, waits))
        self.assertEqual(turns["acquire"]["n"], 12000)
        # It is a folder, which is not written into by accident.
        again = self.attune("export", "r.attune", "--to", "otf2", "-o", "job.otf2")
        self.assertNotEqual(again.returncode, 0)
        self.assertIn(b"exists", again.stderr)
        forced = self.attune("export", "r.attune", "--to", "otf2", "-o", "job.otf2", "--force")
        self.assertEqual(forced.returncode, 0, forced.stderr)

    def test_a_dump_has_what_was_just_now(self):
        program = self.start_steps("--level", "trace")
        self.step(program, 20)

        def dumped():
            self.assertEqual(self.attune("ctl", "dump").returncode, 0)
            return self.turns("r.attune").get("acquire", {"n": 0})["n"] >= 20

        self.until(dumped, "the dump")
        self.step(program, 20)
        program.communicate()
        self.assertEqual(program.returncode, 0)
        turns = self.turns("r.attune")
        self.assertEqual((turns["acquire"]["n"], turns["release"]["n"]), (40, 40))

    def test_a_killed_program_leaves_its_trace(self):
        program = self.start_steps("--level", "stamped")
        self.step(program, 50)
        running = self.until(lambda: self.query("r.attune", "select pid from processes where command like '%steps%'"), "the program")
        os.kill(running[0]["pid"], signal.SIGKILL)
        program.communicate()
        self.assertEqual(program.returncode, -signal.SIGKILL)
        turns = self.turns("r.attune")
        self.assertEqual((turns["acquire"]["n"], turns["release"]["n"]), (50, 50))


if __name__ == "__main__":
    main()
