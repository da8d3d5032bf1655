"""An ordinary user who calls attune by a real sudo: what the tests of privilege share."""

import os
import shutil
import subprocess
import unittest

from attune_e2e import ATTUNE, BUILD, E2E, needs

USER = 65534  # nobody
SECRET = "root-only-text-that-nobody-may-see"
# A sudoers folder of its own that lets the user call sudo, in a mount namespace of its own.
AS_USER = """mount -t tmpfs -o mode=755 tmpfs /etc/sudoers.d && echo '#65534 ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/test &&
chmod 440 /etc/sudoers.d/test && exec setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@" """


@needs("sudo", "setpriv", "unshare")
@unittest.skipIf(os.geteuid() != 0, "needs root, to become an ordinary user who may call sudo")
class Sudo(E2E):
    """A copy of attune that an ordinary user calls by sudo, and a file that root alone may read."""

    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        # The user may be unable to reach the folder that attune was built in.
        for name in ("bin", "lib"):
            os.mkdir(self.path(name))
        self.binary = shutil.copy(ATTUNE, self.path("bin"))
        for name in os.listdir(os.path.join(BUILD, "lib")):
            if name.startswith("libattune_probe.so"):
                shutil.copy(os.path.join(BUILD, "lib", name), self.path("lib"))
        self.locks = shutil.copy(os.path.join(BUILD, "tests", "e2e", "contention"), self.path("locks"))
        self.home = self.path("home")
        os.mkdir(self.home)
        os.chown(self.home, USER, USER)
        self.secret = self.write("secret", SECRET + "\n", 0o600)
        probe = self.as_user("sudo", "-n", "true")
        if probe.returncode != 0:
            self.skipTest("sudo refuses here: " + probe.stderr.decode().strip()[:100])

    def command(self, *words):
        return ["unshare", "-m", "sh", "-c", AS_USER, "sh", *words]

    def as_user(self, *words, **kwargs):
        return subprocess.run(self.command(*words), cwd=self.home, env={"PATH": os.environ["PATH"], "NO_COLOR": "1"}, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=120, **kwargs)

    def sudo(self, *arguments):
        return self.as_user("sudo", "-n", self.binary, *arguments)

    def at_home(self, name):
        return os.path.join(self.home, name)

    def link(self, name, target=None):
        """A symbolic link of the user's."""
        path = self.at_home(name)
        if os.path.lexists(path):
            os.unlink(path)
        os.symlink(target or self.secret, path)
        os.lchown(path, USER, USER)
        return path

    def assert_secret_is_kept(self, *results):
        with open(self.secret, encoding="utf-8") as f:
            self.assertEqual(f.read(), SECRET + "\n")
        status = os.stat(self.secret)
        self.assertEqual((status.st_uid, status.st_mode & 0o777), (0, 0o600))
        for result in results:
            self.assertNotIn(SECRET.encode(), result.stdout + result.stderr)
