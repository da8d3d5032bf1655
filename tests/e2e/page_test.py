"""The page's server as `attune live` and `attune view` start it: its certificate, who is let in, and by which name."""

import os
import subprocess
import unittest

from attune_e2e import ATTUNE, E2E, PATIENCE_S
from flood_test import Live, make_certificate
from page_client import Page


class Certificate(E2E):
    def refused(self, *options, **kwargs):
        result = subprocess.run([ATTUNE, "live", "--for", "1s", *options], cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=PATIENCE_S, **kwargs)
        self.assertNotIn(result.returncode, (0, -9, -11))
        return result.stderr

    def test_files_are_found_from_where_attune_is_started(self):
        make_certificate(self.folder)
        live = Live(self.folder, "--tls-cert", "cert.pem", "--tls-key", "./key.pem")
        self.addCleanup(live.stop)
        page = Page(live.url)
        page.log_in()
        self.assertEqual(page.once("GET", "/")[0], 200)

    def test_tickets_are_for_those_who_have_logged_in(self):
        """A ticket lets a connection come in before those of others."""
        live = Live(self.folder, *make_certificate(self.folder))
        self.addCleanup(live.stop)
        page = Page(live.url)
        page.once("GET", "/")
        self.assertIsNone(page.session)
        page.log_in()
        page.once("GET", "/")
        self.assertIsNotNone(page.session)
        with page.connect() as connection:
            self.assertTrue(connection.session_reused)
        opened = page.web_socket()
        opened.until("hello")
        opened.close()

    def test_what_is_no_certificate_is_named(self):
        make_certificate(self.folder)
        os.mkfifo(self.path("pipe.pem"))
        self.write("text.pem", "no certificate\n")
        os.mkdir(self.path("folder.pem"))
        for name, why in {"pipe.pem": "not a regular file", "text.pem": "no ", "folder.pem": "not a regular file", "nowhere.pem": "No such file"}.items():
            for option, options in (("--tls-cert", ["--tls-cert", name, "--tls-key", "key.pem"]), ("--tls-key", ["--tls-cert", "cert.pem", "--tls-key", name])):
                said = self.refused(*options)
                self.assertIn(f"{option} {self.path(name)}: {why}", said)
        self.assertIn("--tls-key", self.refused("--tls-cert", "cert.pem"))

    def test_a_key_with_a_passphrase_is_not_asked_for(self):
        make_certificate(self.folder)
        subprocess.run(["openssl", "pkey", "-in", self.path("key.pem"), "-out", self.path("locked.pem"), "-aes128", "-passout", "pass:secret"], check=True,
                       capture_output=True)
        said = self.refused("--tls-cert", "cert.pem", "--tls-key", "locked.pem", stdin=subprocess.DEVNULL)
        self.assertIn(self.path("locked.pem"), said)
        self.assertIn("without a passphrase", said)

    @unittest.skipIf(os.geteuid() != 0, "only root can be another user")
    def test_what_may_not_be_read_is_named(self):
        make_certificate(self.folder)
        os.chmod(self.folder, 0o755)
        os.chmod(self.path("cert.pem"), 0o644)
        os.chown(self.runtime, 65534, 65534)
        self.assertIn(f"--tls-key {self.path('key.pem')}: Permission denied",
                      self.refused("--tls-cert", "cert.pem", "--tls-key", "key.pem", user=65534, group=65534, extra_groups=[]))


class Names(E2E):
    def test_cookie_and_host(self):
        live = Live(self.folder)
        self.addCleanup(live.stop)
        page = Page(live.url)
        given = page.log_in()
        self.assertTrue(given.startswith(f"attune_{page.port}="), given)
        self.assertIn("Max-Age=", given)
        for host in (f"[::1]evil.example:{page.port}", "[::1]evil.example", f"evil.example:{page.port}"):
            for target in ("/", "/login"):
                status = page.once("GET", target, headers={"Host": host})[0]
                self.assertIn(status, (400, 421), host)
        page.once("GET", "/")
        with page.connect() as connection:
            connection.sendall(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{page.port}\r\nHost: evil.example\r\n\r\n".encode())
            self.assertTrue(connection.recv(1 << 16).startswith(b"HTTP/1.1 400 "))


if __name__ == "__main__":
    unittest.main()
