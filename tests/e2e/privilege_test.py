#!/usr/bin/env python3
"""attune under sudo: it has its caller's rights on every path, and the capabilities of docs/privilege.md, no more.

ATTUNE_FULL=1: 1 000 rounds of each race in place of 10. By hand: sudo tests/e2e/privilege_test.py
"""

import json
import os
import re
import subprocess
import threading
import time
import unittest

import attune_e2e
from attune_e2e import ATTUNE, E2E, FULL, PATIENCE_S
from under_sudo import SECRET, USER, Sudo

ROUNDS = 1000 if FULL else 10
SOURCE = os.environ.get("ATTUNE_SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))


def status_of(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)


def names_of(mask):
    names = ["CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP", "LINUX_IMMUTABLE",
             "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER", "SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT",
             "SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE", "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD", "LEASE",
             "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP", "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ",
             "PERFMON", "BPF", "CHECKPOINT_RESTORE"]
    return {name for bit, name in enumerate(names) if int(mask, 16) >> bit & 1}


def table_of_processes():
    """The rows of docs/privilege.md: process -> (in effect, permitted on top)."""
    rows = {}
    with open(os.path.join(SOURCE, "docs", "privilege.md"), encoding="utf-8") as f:
        for line in f:
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if len(cells) == 4 and cells[0].startswith("`"):
                rows[cells[0].strip("`")] = tuple(set(re.findall(r"[A-Z_]{3,}", cell)) for cell in cells[2:4])
    return rows


class UnderSudo(Sudo):
    def test_what_is_written_is_the_users_and_locks_are_recorded(self):
        result = self.sudo("run", "-o", "r.attune", "--xml", "g", "--pid-file", "pid", "--", self.locks)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        for folder, _, names in os.walk(self.home):
            for name in names:
                self.assertEqual(os.lstat(os.path.join(folder, name)).st_uid, USER, name)
        self.assertEqual(sorted(os.listdir(self.at_home("g")))[0], "hardware-000001.xml" if os.path.exists(self.at_home("g/hardware-000001.xml")) else "sync-000001.xml")
        waits = self.query(self.at_home("r.attune"), "select count(*) n from sync")
        self.assertGreater(waits[0]["n"], 0, "no lock was recorded")

    def test_the_program_runs_as_the_user(self):
        result = self.sudo("run", "-q", "-o", "r.attune", "--", "sh", "-c", "id -u; id -G; grep Cap /proc/self/status; echo $USER")
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        lines = result.stdout.decode().splitlines()
        self.assertEqual(lines[0], str(USER))
        self.assertNotIn("0", lines[1].split())
        for line in lines[2:]:
            if line.startswith(("CapPrm", "CapEff", "CapAmb", "CapInh")):
                self.assertEqual(int(line.split()[1], 16), 0, line)
        self.assertEqual(lines[-1], "nobody")

    def test_links_lead_to_no_file_of_roots(self):
        for name in ("out.attune", "pid", "out.json", "alarms.toml", "run.toml", "in.attune"):
            self.link(name)
        os.mkdir(self.at_home("g"))
        os.chown(self.at_home("g"), USER, USER)
        for name in ("sync-000001.xml", "sync-000001.xml.new", "task-000001.xml", "hardware-000001.xml"):
            self.link("g/" + name)
        self.link("roots", os.path.dirname(self.secret))
        made = self.sudo("run", "-q", "-o", "good.attune", "--", "true")
        self.assertEqual(made.returncode, 0, made.stderr.decode())
        program = ["--", "true"]
        attempts = [self.sudo(*words) for words in (
            ["run", "-f", "-o", "out.attune", *program], ["run", "-f", "-o", "roots/secret", *program], ["run", "-f", "-o", "a.attune", "--xml", "g", *program],
            ["run", "-f", "-o", "b.attune", "--xml", "roots", *program], ["run", "-f", "-o", "c.attune", "--pid-file", "pid", *program],
            ["run", "-f", "-o", "d.attune", "--fifo", "out.json", *program], ["run", "-f", "-o", "e.attune", "--alarms", "alarms.toml", *program],
            ["run", "-f", "-o", "f.attune", "-s", "x=" + self.secret, *program], ["run", "--console-file", "run.toml"], ["report", "in.attune"],
            ["query", "in.attune", "select 1"], ["compare", "in.attune", "good.attune"], ["merge", "-o", "m.attune", "in.attune", "good.attune"],
            ["export", "good.attune", "--to", "json", "-f", "-o", "out.json"], ["export", "good.attune", "--to", "json", "-f", "-o", "roots/secret"],
            ["report", self.secret], ["alarms", "--alarms", self.secret])]
        self.assert_secret_is_kept(*attempts)

    def test_defaults_are_the_users(self):
        def run(variable, value):
            return self.as_user("sudo", "-n", "env", f"{variable}={value}", self.binary, "run", "-q", "-f", "-o", "out.attune", "--", "true")

        self.assert_secret_is_kept(refused := run("ATTUNE_DEFAULTS", self.secret))
        self.assertEqual(refused.returncode, 4, refused.stderr.decode())
        self.assertNotEqual(run("ATTUNE_DEFAULTS", self.link("defaults.toml")).returncode, 0)
        os.makedirs(self.at_home("config/attune"))
        self.write("home/config/attune/defaults.toml", 'level = "off"\n')
        used = run("XDG_CONFIG_HOME", self.at_home("config"))
        self.assertEqual(used.returncode, 0, used.stderr.decode())
        row, = json.loads(self.sudo("query", "out.attune", "select value from info where key = 'level'", "--json").stdout)
        self.assertEqual(row["value"], "off")

    def test_races_of_links_with_the_files_that_are_written(self):
        """The user swaps a file for a link to a file of root's, again and again, while attune writes, owns and replaces it."""
        for option, name in (("-o", "race.attune"), ("--pid-file", "race.pid"), ("--xml", "race-xml")):
            ended = threading.Event()

            def swap(name=name, ended=ended):
                while not ended.is_set():
                    for target in (self.secret, os.path.dirname(self.secret)):
                        other = self.at_home(name + ".other")
                        try:
                            os.symlink(target, other)
                            os.lchown(other, USER, USER)
                            os.rename(other, self.at_home(name))
                            os.unlink(self.at_home(name))
                        except OSError:
                            pass

            thread = threading.Thread(target=swap)
            thread.start()
            try:
                script = f'for i in $(seq {ROUNDS}); do sudo -n {self.binary} run -q -f -s none --cpu-samples off ' + \
                    ("" if option == "-o" else "-o other.attune ") + f'{option} {name} -- true; rm -rf {name}; done'
                result = subprocess.run(self.command("sh", "-c", script), cwd=self.home, env={"PATH": os.environ["PATH"]}, capture_output=True,
                                        stdin=subprocess.DEVNULL, timeout=PATIENCE_S)
            finally:
                ended.set()
                thread.join()
            self.assert_secret_is_kept(result)

    def test_capabilities_are_those_of_the_table(self):
        table = table_of_processes()
        process = subprocess.Popen(self.command("sudo", "-n", self.binary, "run", "-o", "caps.attune", "--", "sleep", "1000"), cwd=self.home,
                                   env={"PATH": os.environ["PATH"]}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        try:
            def ours():
                found = {}
                for pid in filter(str.isdigit, os.listdir("/proc")):
                    try:
                        exe, status = os.readlink(f"/proc/{pid}/exe"), status_of(pid)
                        command = open(f"/proc/{pid}/cmdline", "rb").read().split(b"\0")
                        leads = os.getsid(int(pid)) == int(pid)
                    except OSError:
                        continue
                    if exe == self.binary and status["Name"] == "attune-root":
                        found["root helper"] = status
                    elif exe == self.binary:
                        found["session" if leads or status["PPid"] == "1" else "launcher"] = status
                    elif command[:2] == [b"sleep", b"1000"] and status["Uid"].split()[0] == str(USER):
                        found["program"] = status
                return found if set(found) == {"root helper", "session", "launcher", "program"} else None
            found = self.until(ours, "the four processes")
        finally:
            subprocess.run(["pkill", "-x", "-f", "sleep 1000", "-u", str(USER)], check=False)
            process.wait(timeout=PATIENCE_S)
        for name, status in found.items():
            effective, permitted = names_of(status["CapEff"]), names_of(status["CapPrm"])
            self.assertLessEqual(effective, table[name][0], name)
            self.assertLessEqual(permitted, table[name][0] | table[name][1], name)
            self.assertEqual(set(status["Uid"].split()), {"0"} if name == "root helper" else {str(USER)}, name)
            self.assertEqual(int(status["CapInh"], 16), 0, name)
            self.assertEqual(int(status["CapAmb"], 16), 0, name)
        self.assertIn("PERFMON", names_of(found["session"]["CapEff"]))


class Fifos(E2E):
    def test_a_fifo_in_place_of_a_file_is_an_error(self):
        os.mkfifo(self.path("x.attune"))
        os.mkfifo(self.path("run.toml"))
        self.assertEqual(self.attune("record", "--for", "50ms", "-o", "good.attune").returncode, 0)
        for words in (["report", "x.attune"], ["query", "x.attune", "select 1"], ["export", "x.attune", "--to", "json"], ["view", "x.attune"],
                      ["compare", "good.attune", "x.attune"], ["merge", "-o", "m.attune", "good.attune", "x.attune"],
                      ["alarms", "x.attune"], ["alarms", "--alarms", "run.toml"], ["run", "--console-file", "run.toml"],
                      ["run", "-o", "y.attune", "--alarms", "run.toml", "--", "true"]):
            result = self.run_program(ATTUNE, *words, stdin=subprocess.DEVNULL)
            self.assertNotEqual(result.returncode, 0, words)
            self.assertIn(b"FIFO", result.stderr, words)
        listing = self.attune("list", "recordings")
        self.assertEqual(listing.returncode, 0)
        self.assertIn(b"FIFO", listing.stdout + listing.stderr)


class Containers(E2E):
    def contained(self, flags, script, **kwargs):
        return subprocess.run(["unshare", *flags, "sh", "-c", script], cwd=self.folder, env=kwargs.pop("env", self.env), capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=120, **kwargs)

    def setUp(self):
        super().setUp()
        if subprocess.run(["unshare", "-pfm", "--mount-proc", "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no namespaces here")

    def test_two_pid_namespaces_with_the_same_folders(self):
        outer = subprocess.Popen([ATTUNE, "run", "-q", "-o", "outer.attune", "--", "sh", "-c", "while ! [ -e end ]; do sleep 0.05; done"],
                                 cwd=self.folder, env=self.env, stderr=subprocess.PIPE)
        self.until(lambda: self.attune("list", "sessions", "--names").stdout.strip(), "the session")
        inner = self.contained(["-pfm", "--mount-proc"], f"{ATTUNE} list sessions --names && {ATTUNE} run -q -o inner.attune -- true && {ATTUNE} ctl label seen")
        self.assertEqual(inner.returncode, 0, inner.stderr.decode())
        self.assertEqual(len(self.attune("list", "sessions", "--names").stdout.split()), 1)
        self.write("end", "")
        self.assertEqual(outer.wait(timeout=PATIENCE_S), 0)
        outer.stderr.close()
        for name in ("outer.attune", "inner.attune"):
            self.assertEqual(self.attune("report", name).returncode, 0, name)
        self.assertEqual([row["text"] for row in self.query("outer.attune", "select text from labels")], ["seen"])
        self.assert_nothing_left()

    def test_a_user_namespace_no_shared_memory_and_a_root_that_is_read_only(self):
        for flags, before in ((["-Ur"], ""), (["-m"], "mount -t tmpfs -o size=0,mode=000,ro none /dev/shm;"),
                              (["-m"], "mount -o bind,ro /dev/shm /dev/shm;"), (["-m"], "mount -o remount,bind,ro / || mount -o bind,ro / /;")):
            # The folder itself stays writable, as a volume of a container does.
            keep = "" if "-U" in flags[0] else f"mount -t tmpfs none {self.folder}; cd {self.folder}; export XDG_RUNTIME_DIR={self.folder};"
            result = self.contained(flags, f"{keep}{before} {ATTUNE} run -q -o x.attune -- sh -c 'echo out; exit 7'; c=$?; {ATTUNE} report x.attune >/dev/null || exit 1; exit $c")
            self.assertEqual((result.returncode, result.stdout), (7, b"out\n"), (before, result.stderr.decode()))


if __name__ == "__main__":
    attune_e2e.main()
