"""`attune clean`: what killed sessions left goes, what belongs to a living one stays."""

import json
import os
import signal
import subprocess

from attune_e2e import ATTUNE, E2E, PATIENCE_S, main


class Clean(E2E):
    def start(self):
        """A session without a recording of its own. @return its launcher, and what it says of itself"""
        known = {session["id"] for session in self.sessions()}
        launcher = subprocess.Popen([ATTUNE, "live", "-q", "-s", "cpu:sum", "-i", "10ms"], cwd=self.folder, env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(launcher.wait, PATIENCE_S)
        self.addCleanup(launcher.terminate)
        return launcher, self.until(lambda: next((each for each in self.sessions() if each["id"] not in known), None), "the session")

    def sessions(self):
        return json.loads(self.attune("list", "sessions", "--json").stdout)

    def clean(self, *arguments):
        result = self.attune("clean", "--json", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_nothing_is_left(self):
        result = self.attune("clean")
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertEqual(self.attune("clean", "now").returncode, 2)

    def test_a_killed_session_goes_and_a_living_one_stays(self):
        _, living = self.start()
        launcher, dead = self.start()
        os.kill(dead["pid"], signal.SIGKILL)
        launcher.wait(PATIENCE_S)
        left = dead["folder"]

        def found():
            return [each for each in self.clean("--dry-run")["abandoned"] if each["path"] == left]
        # The lock of a killed session ends with the last of its threads.
        looked, = self.until(found, "the end of the killed session")
        self.assertEqual((looked["what"], looked["removed"]), ("session", False))
        self.assertGreater(looked["bytes"], 0, "it has a temporary recording")
        self.assertTrue(os.path.isdir(left), "looking removes nothing")

        cleaned = self.clean()
        self.assertIn({**looked, "removed": True}, cleaned["abandoned"])
        self.assertGreaterEqual(cleaned["bytes"], looked["bytes"])
        self.assertEqual(cleaned["living"], [living["folder"]])
        self.assertFalse(os.path.exists(left))
        self.assertTrue(os.path.isdir(living["folder"]))
        self.assertEqual([each["id"] for each in self.sessions()], [living["id"]])
        self.assertIn(b"1 session left alone: it lives", self.attune("clean").stdout)


if __name__ == "__main__":
    main()
