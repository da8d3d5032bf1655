#!/usr/bin/env python3
"""The account of each thread's time and of the CPUs: it balances, on real programs. As root with each switch, as an ordinary user without."""

import json
import os
import shutil
import sys
import unittest

from attune_e2e import ATTUNE, BUILD, E2E, main, where_cpus_are_free

CONTENTION = os.path.join(BUILD, "tests", "e2e", "contention")
THREADS = """
import threading
def work():
    for _ in range(3_000_000): pass
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


class Account(E2E):
    def account_of(self, *command, prefix=()):
        result = self.run_program(*prefix, ATTUNE, "run", "-q", "-f", "-o", self.path("r.attune"), "--", *command)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        report = self.attune("report", self.path("r.attune"), "--json")
        self.assertEqual(report.returncode, 0, report.stderr.decode())
        report = json.loads(report.stdout)
        return report["account"], report["info"]

    def assert_balanced(self, account):
        total = 0.0
        for thread in account["threads"]:
            total += thread["seconds"].get("running", 0)
            # The account of the first process begins when it is followed, some milliseconds after its start.
            known = sum(thread["seconds"].values())
            self.assertAlmostEqual(known + thread["unknown_seconds"], max(known, thread["life_seconds"]), places=6)
            self.assertLessEqual(thread["unknown_seconds"], 0.03 * thread["life_seconds"] + 0.05, thread)
            # The watcher tells of an end when it begins; until it is over the thread may wait for a CPU that others have.
            self.assertLessEqual(known, 1.03 * thread["life_seconds"] + 0.1, thread)
        return total

    @where_cpus_are_free
    def test_processes_pipes_and_a_sleep(self):
        account, info = self.account_of("sh", "-c", "sleep 0.3; yes | head -c 3000000 >/dev/null")
        if not info["time_account"].startswith("ebpf"):
            self.assertIn("none (", info["time_account"])
            return
        self.assertTrue(account["exact"])
        self.assert_balanced(account)
        cpus = account["cpus"] * account["wall_seconds"]
        self.assertLessEqual(account["unknown_seconds"], 0.03 * cpus + 0.02)
        by_name = {thread["name"].split()[0]: thread for thread in account["threads"]}
        self.assertGreaterEqual(by_name["sleep"]["seconds"]["sleep"], 0.3)
        self.assertGreaterEqual(by_name["sh"]["seconds"]["child"], 0.3)
        self.assertGreaterEqual(account["no_thread_seconds"], 0.29)
        wakers = self.query(self.path("r.attune"), "select w.name, sum(s.count) n from state_times s join elements w on w.id = s.waker "
                                                   "join elements e on e.id = s.element where s.state = 'pipe' group by 1")
        self.assertTrue(all(row["n"] > 0 for row in wakers))

    @where_cpus_are_free
    def test_threads_that_share_one_lock(self):
        account, info = self.account_of(sys.executable, "-c", THREADS)
        if info["time_account"].startswith("ebpf"):
            self.assert_balanced(account)
            self.assertEqual(len(account["threads"]), 4)
            main_thread, = (thread for thread in account["threads"] if thread["pid"] == thread["tid"])
            # The threads run by turns: most of the time no other one does, unless they wait for a CPU that others have.
            self.assertGreater(sum(thread["alone_seconds"] for thread in account["threads"]), 0)
            self.assertIn("running", main_thread["seconds"])

    @where_cpus_are_free
    def test_sums_are_those_of_the_kernel(self):
        account, info = self.account_of(CONTENTION)
        if not info["time_account"].startswith("ebpf"):
            return
        self.assert_balanced(account)
        processes = self.query(self.path("r.attune"), "select user_ns + system_ns as ns from processes")
        kernel_s = sum(row["ns"] for row in processes) * 1e-9
        threads_s = sum(thread["seconds"]["running"] for thread in account["threads"])
        self.assertAlmostEqual(threads_s, kernel_s, delta=0.01 * kernel_s + 0.005)
        self.assertAlmostEqual(account["program_seconds"], threads_s, delta=0.01 * threads_s + 0.005)

    @unittest.skipIf(os.geteuid() != 0 or not shutil.which("setpriv"), "needs root, to become an ordinary user")
    def test_an_ordinary_user_is_told_what_is_missing(self):
        os.chmod(self.folder, 0o777)
        os.chmod(self.runtime, 0o777)
        self.env["XDG_RUNTIME_DIR"] = self.path("user")
        os.mkdir(self.path("user"), 0o700)
        os.chown(self.path("user"), 65534, 65534)
        prefix = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all")
        if self.run_program(*prefix, ATTUNE, "--version").returncode != 0:
            return  # the build folder is not for everybody
        account, info = self.account_of(CONTENTION, prefix=prefix)
        self.assertIn("none (only eBPF", info["time_account"])
        self.assertFalse(account["exact"])
        self.assertIsNone(account["no_thread_seconds"])
        known_s = sum(account[f"{part}_seconds"] for part in ("program", "others", "idle"))
        self.assertAlmostEqual(known_s, account["cpus"] * account["wall_seconds"], places=6)


if __name__ == "__main__":
    main()
