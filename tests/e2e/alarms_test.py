"""Alarms on real load: `attune alarms`, and those of sessions and recordings."""

import json
import os
import signal
import socket
import subprocess
import threading
import time
import unittest

from attune_e2e import ATTUNE, E2E, PATIENCE_S, main

RAISED = 7


class Alarms(E2E):
    def start(self, *arguments):
        process = subprocess.Popen([ATTUNE, *arguments], cwd=self.folder, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for pipe in (process.stdout, process.stderr):
            self.addCleanup(pipe.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def record(self, *arguments):
        process = self.start("record", "-q", "-o", "x.attune", *arguments)
        self.until(lambda: self.attune("ctl", "status").returncode == 0, "the session")
        return process

    def end(self, process):
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 0, err.decode())

    def rows(self, where="1"):
        result = self.attune("query", "x.attune", "--json", f"select alarms.*, name from alarms left join elements on elements.id = element where {where} order by alarms.t_ns")
        return json.loads(result.stdout) if result.returncode == 0 else []

    def settings(self, text):
        with open(self.path("alarms.toml"), "w", encoding="utf-8") as f:
            f.write(text)
        return self.path("alarms.toml")

    def failed(self, code, *arguments):
        result = self.attune(*arguments)
        self.assertEqual(result.returncode, code, result.stderr.decode())
        return result.stderr.decode()


class ThisMachine(Alarms):
    def look(self, *arguments):
        result = self.attune("alarms", "--json", "--for", "2s", "--alarm", "all=off", *arguments)
        document = json.loads(result.stdout)
        return result.returncode, document, {rule["alarm"]: rule for rule in document["rules"]}

    def test_what_is_off_is_not_raised(self):
        code, document, rules = self.look()
        self.assertEqual((code, document["raised"]), (0, 0))
        self.assertEqual({rule["state"] for rule in rules.values()}, {"off"})

    def test_what_is_raised_sets_the_exit_code(self):
        code, document, rules = self.look("--alarm", "memory.low=100%")
        self.assertEqual((code, document["raised"]), (RAISED, 1))
        low = rules["memory.low"]
        self.assertEqual((low["state"], low["threshold"], low["side"]), ("raised", 100, "below"))
        self.assertTrue(0 < low["readings"][0]["value"] < 100)
        self.assertEqual(document["alarms"][0]["alarm"], "memory.low")
        text = self.attune("alarms", "--for", "2s", "--alarm", "all=off", "--alarm", "memory.low=100")
        self.assertEqual(text.returncode, RAISED)
        self.assertRegex(text.stdout.decode(), r"RAISED +memory.low +[0-9.]+ % +below 100 %")

    def test_what_cannot_be_judged_says_why(self):
        # No machine has both: disks that say something of themselves to everybody, and no smartctl.
        env = dict(self.env, PATH="/nonexistent")
        result = subprocess.run([ATTUNE, "alarms", "--json", "--for", "2s", "--alarm", "all=off", "--alarm", "disk.failing=on"], cwd=self.folder, env=env, capture_output=True, check=False)
        rules = {rule["alarm"]: rule for rule in json.loads(result.stdout)["rules"]}
        self.assertEqual(rules["disk.failing"]["state"], "cannot be judged")
        self.assertRegex(rules["disk.failing"]["why"], "^no sensor smart here: .+")
        self.assertEqual(result.returncode, 0, "nothing is raised by what is not known")

    def test_the_list(self):
        rules = json.loads(self.attune("alarms", "--list", "--json", "--alarm", "storage.space=12%", "--alarm", "memory.low=off").stdout)
        rules = {rule["alarm"]: rule for rule in rules}
        self.assertGreater(len(rules), 20)
        self.assertEqual(rules["storage.space"]["threshold"], 12)
        self.assertFalse(rules["memory.low"]["on"])
        self.assertFalse(rules["network.traffic"]["on"], "only where it is asked for")

    def test_settings_come_from_the_users_file(self):
        config = os.path.join(self.folder, "config")
        os.makedirs(os.path.join(config, "attune"))
        env = dict(self.env, XDG_CONFIG_HOME=config)
        file = os.path.join(config, "attune", "alarms.toml")

        def listed(text, *arguments):
            with open(file, "w", encoding="utf-8") as f:
                f.write(text)
            return subprocess.run([ATTUNE, "alarms", "--list", "--json", *arguments], cwd=self.folder, env=env, capture_output=True, check=False)

        text = 'memory.low = "10 %"\ndisk.hot = 50\n[storage.space]\nthreshold = "20 %"\nclear = 30\nfor = "2s"\n[storage.inodes]\non = false\n'
        rules = {rule["alarm"]: rule for rule in json.loads(listed(text, "--alarm", "disk.hot=55").stdout)}
        self.assertEqual(rules["memory.low"]["threshold"], 10)
        self.assertEqual(rules["disk.hot"]["threshold"], 55, "an option goes before the file")
        self.assertEqual([rules["storage.space"][key] for key in ("threshold", "clear", "for_s")], [20, 30, 2])
        self.assertFalse(rules["storage.inodes"]["on"])
        for wrong, said in [("memory.lwo = 5", "did you mean memory.low"), ("memory.low = 5\nmemory = ", "alarms.toml:2"),
                            ('memory.low = "5 GB"', "is not in %"), ("[memory.low]\nthreshhold = 5", "did you mean threshold"),
                            ("[memory.low]\nthreshold = 50\nclear = 10", "lies beyond the threshold"), ("low = 5", "'low' is no alarm"),
                            ('[memory.low]\nfor = "x"', "is not a time")]:
            result = listed(wrong)
            self.assertNotEqual(result.returncode, 0, wrong)
            self.assertIn(said, result.stderr.decode(), wrong)

    def test_wrong_options(self):
        self.assertIn("did you mean memory.low?", self.failed(2, "alarms", "--alarm", "memory.lwo=5"))
        self.assertIn("is no number", self.failed(2, "alarms", "--alarm", "memory.low=much"))
        self.assertIn("is not in %", self.failed(2, "alarms", "--alarm", "memory.low=5GB"))
        self.assertIn("is not NAME=VALUE", self.failed(2, "run", "--alarm", "memory.low", "--", "true"))
        self.assertIn("--alarms", self.failed(1, "alarms", "--alarms", "there-is-no-such-file"))
        self.assertIn("--for", self.failed(2, "alarms", "--for", "1ms"))
        self.assertIn("exclude", self.failed(2, "alarms", "x.attune", "--session", "1"))

    def test_follow(self):
        process = self.start("alarms", "--follow", "--json", "--alarm", "all=off", "--alarm", "memory.low=100%")
        line = json.loads(process.stdout.readline())
        self.assertEqual((line["alarm"], line["state"]), ("memory.low", "raised"))
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, RAISED)


class Status(Alarms):
    def test_once(self):
        document = json.loads(self.attune("info", "--status", "--json").stdout)
        self.assertEqual(set(document), {"status", "health", "alarms"})
        status = document["status"]
        self.assertEqual(status["cpu"]["cpus"], os.sysconf("SC_NPROCESSORS_ONLN"))
        self.assertTrue(0 <= status["cpu"]["busy_percent"] <= 100)
        self.assertGreater(status["memory"]["total_bytes"], status["memory"]["available_bytes"])
        lo = [row for row in status["network"] if row["name"] == "lo"]
        self.assertGreaterEqual(lo[0]["received_bytes_per_s"], 0)
        self.assertIsNone(lo[0]["received_percent"], "a loopback has no speed")
        self.assertTrue(all(row["free_bytes"] <= row["total_bytes"] for row in document["health"]["file_systems"]))
        self.assertIn("memory.low", {rule["alarm"] for rule in document["alarms"]})
        text = self.attune("info", "--status").stdout.decode()
        for heading in ("status", "health", "alarms"):
            self.assertRegex(text, rf"(?m)^{heading}$")

    def test_every(self):
        process = self.start("info", "--every", "500ms")
        lines = [json.loads(process.stdout.readline()) for _ in range(3)]
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 0)
        times = [line["t_real_ns"] for line in lines]
        self.assertEqual(times, sorted(set(times)))
        self.assertTrue(all(0 <= line["status"]["cpu"]["busy_percent"] <= 100 for line in lines[1:]))
        self.assertIn("--every", self.failed(2, "info", "--every", "1ms"))


class Sessions(Alarms):
    def test_thresholds_change_while_it_runs(self):
        process = self.record("-s", "memory@100ms", "--alarm", "all=off")
        def rules():
            asked = self.attune("ctl", "alarms")
            self.assertEqual(asked.returncode, 0, asked.stderr.decode())
            return {rule["alarm"]: rule for rule in json.loads(asked.stdout)["alarms"]}
        self.assertEqual(rules()["memory.low"]["state"], "off")
        self.assertEqual(self.attune("ctl", "alarm", "memory.low=100%").returncode, 0)
        self.until(lambda: rules()["memory.low"]["state"] == "raised", "the alarm")
        session = json.loads(self.attune("ctl", "status").stdout)
        self.assertEqual(session["alarms_raised"], 1)
        asked = self.attune("alarms", "--session", session["id"])
        self.assertEqual(asked.returncode, RAISED, asked.stderr.decode())
        self.assertIn("RAISED", asked.stdout.decode())
        self.assertIn("did you mean memory.low?", self.failed(2, "ctl", "alarm", "memory.lwo=5"))
        self.assertIn("is no number", self.failed(2, "ctl", "alarm", "memory.low=x"))
        self.assertEqual(self.attune("ctl", "alarm", "memory.low=off").returncode, 0)
        self.until(lambda: len(self.rows("state = 'cleared'")) == 1, "the end of the alarm")
        self.end(process)
        raised, cleared = self.rows()
        self.assertEqual((raised["alarm"], raised["severity"], raised["unit"], cleared["text"]), ("memory.low", "critical", "%", "turned off"))
        self.assertEqual(raised["id"], cleared["id"])
        self.assertLess(0, raised["value"] * 10 ** raised["scale"])

        shown = self.attune("alarms", "x.attune")
        self.assertEqual(shown.returncode, RAISED)
        self.assertRegex(shown.stdout.decode(), r"critical +memory.low")
        report = self.attune("report", "x.attune", "--full").stdout.decode()
        self.assertRegex(report, r"(?s)Alarms.*memory.low")
        self.assertEqual(json.loads(self.attune("report", "--json", "x.attune").stdout)["alarms"][0]["alarm"], "memory.low")

        other = json.loads(self.attune("alarms", "x.attune", "--json", "--alarm", "all=off", "--alarm", "memory.low=100%").stdout)
        self.assertEqual({alarm["alarm"] for alarm in other["alarms"]}, {"memory.low"})
        self.assertTrue(all(alarm["t_s"] >= 0 for alarm in other["alarms"]))
        why = {rule["alarm"]: rule["why"] for rule in other["rules"]}
        self.assertEqual(why["memory.low"], "")
        strict = json.loads(self.attune("alarms", "x.attune", "--json", "--alarm", "heat.margin=on").stdout)
        self.assertEqual({rule["alarm"]: rule["why"] for rule in strict["rules"]}["heat.margin"], "the sensor hwmon is not sampled")

    def test_a_busy_interface(self):
        # Well above what other tests send over lo meanwhile.
        file = self.settings('[network.traffic]\nthreshold = "10 MB/s"\nfor = "0s"\n')
        process = self.record("-s", "network@100ms", "--alarms", file)
        stop = threading.Event()

        def send():
            sent, begin = 0, time.monotonic()
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
                while not stop.is_set():
                    while sent < 60e6 * (time.monotonic() - begin):  # as much, however seldom this thread gets a CPU
                        sent += out.sendto(b"x" * 60_000, ("127.0.0.1", 9))
                    time.sleep(0.001)

        sender = threading.Thread(target=send)
        sender.start()
        try:
            self.until(lambda: self.rows("state = 'raised' and name = 'lo'"), "the alarm of the busy interface")
        finally:
            stop.set()
            sender.join()
        self.until(lambda: self.rows("state = 'cleared' and name = 'lo'"), "its end")
        self.end(process)

    @unittest.skipUnless(os.path.exists("/proc/pressure/cpu"), "this kernel does not count pressure")
    def test_busy_cpus(self):
        file = self.settings('[cpu.overloaded]\nthreshold = 20\nclear = 20\nfor = "0s"\n')
        process = self.record("-s", "pressure@100ms,cpu@100ms", "--alarms", file)
        hogs = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(3 * (os.cpu_count() or 1))]
        try:
            self.until(lambda: self.rows("alarm = 'cpu.overloaded' and state = 'raised'"), "the alarm of the busy CPUs")
        finally:
            for hog in hogs:
                hog.kill()
                hog.wait()
        self.end(process)
        text = self.rows("alarm = 'cpu.overloaded'")[0]["text"]
        self.assertRegex(text, r"tasks wait for a CPU [0-9.]+ % of the time")


class FullFileSystem(Alarms):
    def setUp(self):
        super().setUp()
        self.mount = self.path("full")
        os.mkdir(self.mount)
        image = self.path("image")
        with open(image, "wb") as f:
            f.truncate(32 << 20)
        made = subprocess.run(["mkfs.ext4", "-q", "-F", image], capture_output=True, check=False) if os.path.exists("/sbin/mkfs.ext4") else None
        mounted = made is not None and made.returncode == 0 and subprocess.run(["mount", "-o", "loop", image, self.mount], capture_output=True, check=False).returncode == 0
        if not mounted:
            self.skipTest("a file system in a file cannot be mounted here")
        self.addCleanup(subprocess.run, ["umount", "-l", self.mount], check=False)

    def test_it_is_raised_and_cleared(self):
        process = self.record("-s", "storage@100ms")
        here = f"name = '{self.mount}' and alarm = 'storage.space'"
        self.until(lambda: f"'{self.mount}'" in self.attune("query", "x.attune", "--json", f"select quote(name) as n from elements where name = '{self.mount}'").stdout.decode(), "the file system")
        self.assertEqual(self.rows(here), [])
        with open(os.path.join(self.mount, "large"), "wb") as f:
            try:
                while True:
                    f.write(b"x" * 65536)
                    f.flush()
            except OSError:
                pass
        self.until(lambda: self.rows(f"{here} and state = 'raised'"), "the alarm of the full file system")
        os.unlink(os.path.join(self.mount, "large"))
        self.until(lambda: self.rows(f"{here} and state = 'cleared'"), "its end")
        self.end(process)


if __name__ == "__main__":
    main()
