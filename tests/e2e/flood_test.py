"""The page while others on the machine open connections without a token: who has logged in is served all the time.

    python3 tests/e2e/flood_test.py --measure [--seconds 20] [--connections 300]

prints how long requests take then, in the clear and with TLS, and fails where the 95th percentile is over the limit. As a test it asks
only that every request is answered.
"""

import argparse
import contextlib
import copy
import encodings.idna  # noqa: F401  with many connections open it cannot be loaded any more
import http.client
import os
import re
import select
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from attune_e2e import ATTUNE, E2E, PATIENCE_S
from page_client import Page

CONNECTIONS = 300
LIMIT_MS = 100
# The user whose connections they are: only root can be another one.
STRANGER = 65534 if os.geteuid() == 0 else os.geteuid()


ECDSA = ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
RSA = ["rsa:2048"]


def make_certificate(folder, new_key=RSA):
    """@return the options of attune"""
    key, certificate = os.path.join(folder, "key.pem"), os.path.join(folder, "cert.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", *new_key, "-nodes", "-days", "2", "-subj",
                    "/CN=localhost", "-keyout", key, "-out", certificate], check=True, capture_output=True)
    return ["--tls-cert", certificate, "--tls-key", key]


class Live:
    """`attune live` of the whole machine, with its page."""

    def __init__(self, folder, *options):
        runtime = os.path.join(folder, "runtime")
        os.makedirs(runtime, mode=0o700, exist_ok=True)
        self.process = subprocess.Popen([ATTUNE, "live", *options], cwd=folder, env=dict(os.environ, XDG_RUNTIME_DIR=runtime, NO_COLOR="1"),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.said = ""
        for line in self.process.stderr:
            self.said += line
            found = re.search(r"page at (\S+)", line)
            if found:
                self.url = found[1]
                # What it says later must not fill the pipe.
                self.reader = threading.Thread(target=self.process.stderr.read, daemon=True)
                self.reader.start()
                return
        raise AssertionError("attune live did not start: " + self.said)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=PATIENCE_S)
        self.reader.join()
        self.process.stderr.close()


# ---- others


class Stranger:
    """A connection without a token, in one way or another. It comes again when it is closed."""

    HALF = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "

    def __init__(self, page, kind):
        self.page, self.kind = page, kind

    def run(self):
        while True:
            try:
                self.once()
            except OSError:
                time.sleep(0.01)  # its own descriptors or the backlog are full

    def once(self):
        plain = socket.create_connection((self.page.host, self.page.port), timeout=PATIENCE_S)
        with plain:
            if self.kind == "silent":  # with TLS: before the handshake
                plain.recv(1)
                return
            if self.kind == "half a greeting" and self.page.tls:
                self.drip(plain, b"\x16\x03\x01\x02\x00\x01" + bytes(500))
                return
            with self.page.context.wrap_socket(plain) if self.page.tls else plain as connection:
                if self.kind == "fast":
                    self.ask(connection, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                elif self.kind == "guessing":
                    self.ask(connection, b"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 32\r\n\r\n" + b"0" * 32)
                elif self.kind == "body":
                    self.drip(connection, b"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4000\r\n\r\n" + bytes(4000), at_once=80)
                else:
                    self.drip(connection, self.HALF + bytes(b"x" * 8000), at_once=len(self.HALF))

    @staticmethod
    def drip(connection, data, at_once=1):
        connection.sendall(data[:at_once])
        for byte in data[at_once:]:
            # Until the server closes, or for a byte's time.
            if select.select([connection], [], [], 0.5)[0]:
                return
            connection.sendall(bytes([byte]))

    @staticmethod
    def ask(connection, request):
        connection.sendall(request)
        connection.recv(1 << 16)


KINDS = ["silent", "fast", "half a greeting", "header", "fast", "body", "guessing", "fast", "silent", "header"]


def knock(url, first, last, user):
    """Runs until it is killed."""
    if user != os.geteuid():
        os.setuid(user)
    page = Page(url)
    for i in range(first, last):
        threading.Thread(target=Stranger(page, KINDS[i % len(KINDS)]).run, daemon=True).start()
    print("there", flush=True)
    signal.pause()


class Crowd:
    """Processes of its own, so that they do not slow down the client that is looked at."""

    PROCESSES = 2

    def __init__(self, url, connections, user=os.geteuid()):
        share = connections // self.PROCESSES
        self.processes = [subprocess.Popen([sys.executable, os.path.abspath(__file__), "--knock", url.split("#")[0], str(share * i), str(share * (i + 1)),
                                            str(user)], stdout=subprocess.PIPE) for i in range(self.PROCESSES)]
        for process in self.processes:
            process.stdout.readline()

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait()
            process.stdout.close()


# ---- whoever has logged in


class Visitor:
    """Requests of a page that has logged in, with the time that each took."""

    def __init__(self, url):
        self.page = Page(url)
        self.kept = self.page.http()
        self.as_a_browser(self.page.log_in)
        self.web_socket = self.as_a_browser(self.open_socket)
        self.took = {}
        self.view = 0

    def as_a_browser(self, request, tries=50):
        """A new connection can give way to others of the same user until its first request is read: it is made again."""
        for _ in range(tries - 1):
            try:
                return request()
            except (ConnectionError, http.client.HTTPException, ssl.SSLError):
                self.kept.close()  # it is opened again by its next request
        return request()

    def timed(self, name, request):
        begin = time.monotonic()
        self.as_a_browser(request)
        self.took.setdefault(name, []).append((time.monotonic() - begin) * 1000)

    def round(self):
        self.timed("page, same connection", lambda: self.expect(200, self.page.ask(self.kept, "GET", "/")))
        self.timed("login, same connection", lambda: self.expect(204, self.page.ask(self.kept, "GET", "/login")))
        self.timed("page, new connection", lambda: self.expect(200, self.page.once("GET", "/")))
        if self.page.tls:
            self.timed("page, without a ticket", self.ask_without_a_ticket)
        self.timed("view", self.ask_view)
        self.timed("document", self.ask_document)
        self.timed("WebSocket, new", self.open_another)

    @staticmethod
    def expect(status, answer):
        if answer[0] != status or (status == 200 and not answer[1]):
            raise AssertionError(f"answered {answer[0]} with {len(answer[1])} bytes")

    def ask_without_a_ticket(self):
        """As a browser that has the cookie from before it, or the server's key, was started."""
        page = copy.copy(self.page)
        page.session = None
        self.expect(200, page.once("GET", "/"))

    def ask_view(self):
        self.view += 1
        self.web_socket.send({"credits": 1, "view": {"id": self.view, "series": [1, 2, 3], "follow": 10_000_000_000, "pixels": 500}})
        # An update that was under way may take the credit.
        while True:
            if self.web_socket.until("update").get("view") == str(self.view):
                return
            self.web_socket.send({"credits": 1})

    def ask_document(self):
        self.web_socket.send({"document": {"name": "waits", "version": 0}})
        self.web_socket.until("document")

    def open_socket(self):
        opened = self.page.web_socket()
        opened.until("hello")
        return opened

    def open_another(self):
        self.open_socket().close()

    def close(self):
        self.web_socket.close()
        self.kept.close()


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def measure(seconds, connections):
    """@return whether all is below the limit"""
    good = True
    for name, new_key in (("plain", None), ("TLS with an ECDSA key", ECDSA), ("TLS with an RSA key", RSA)):
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="attune-flood-"))
            live = Live(folder, *(make_certificate(folder, new_key) if new_key else []))
            stack.callback(live.stop)
            visitor = Visitor(live.url)
            stack.callback(visitor.close)
            for crowd_size in (0, connections):
                with contextlib.closing(Crowd(live.url, crowd_size)):
                    visitor.took = {}
                    end = time.monotonic() + seconds
                    while time.monotonic() < end:
                        visitor.round()
                        time.sleep(0.01)
                print(f"{name}, {crowd_size} connections without a token:")
                for what, took in visitor.took.items():
                    p95 = percentile(took, 0.95)
                    good = good and p95 < LIMIT_MS
                    print(f"  {what:24}{len(took):6} requests  p50 {percentile(took, 0.5):7.1f} ms  p95 {p95:7.1f} ms  max {max(took):7.1f} ms"
                          + ("" if p95 < LIMIT_MS else f"  over {LIMIT_MS} ms"), flush=True)
    return good


class Flood(E2E):
    def is_served(self, *options, user=STRANGER):
        live = Live(self.folder, *options)
        self.addCleanup(live.stop)
        visitor = Visitor(live.url)
        self.addCleanup(visitor.close)
        crowd = Crowd(live.url, CONNECTIONS, user)
        self.addCleanup(crowd.close)
        for _ in range(20):
            visitor.round()
        # So is whoever comes only now.
        newcomer = Visitor(live.url)
        newcomer.round()
        newcomer.close()
        self.assertIsNone(live.process.poll())

    def test_in_the_clear(self):
        self.is_served()

    def test_with_tls(self):
        self.is_served(*make_certificate(self.folder))

    def test_of_the_same_user(self):
        self.is_served(user=os.geteuid())


def main():
    if sys.argv[1:2] == ["--knock"]:
        knock(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]))
    if "--measure" not in sys.argv:
        unittest.main()
    parser = argparse.ArgumentParser()
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--connections", type=int, default=CONNECTIONS)
    options = parser.parse_args()
    sys.exit(0 if measure(options.seconds, options.connections) else 1)


if __name__ == "__main__":
    main()
