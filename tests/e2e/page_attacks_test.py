"""What somebody sends who means ill, or knows HTTP and WebSocket by hearsay: each has its answer, and the page goes on."""

import socket
import struct
import unittest
import zlib

from attune_e2e import E2E
from flood_test import Live, make_certificate
from page_client import Page

CLOSED = 0  # without an answer


class Attacks(E2E):
    def options(self):
        return []

    def setUp(self):
        super().setUp()
        self.live = Live(self.folder, *self.options())
        self.addCleanup(self.live.stop)
        self.page = Page(self.live.url)
        self.page.log_in()
        self.own = f"Host: {self.page.headers['Host']}\r\n"
        self.cookie = f"Cookie: {self.page.headers['Cookie']}\r\n"

    def tearDown(self):
        # Whatever was sent, the page is served.
        self.assertEqual(self.page.once("GET", "/")[0], 200)
        opened = self.page.web_socket()
        opened.until("hello")
        opened.close()
        self.assertIsNone(self.live.process.poll())
        super().tearDown()

    # ---- HTTP

    @staticmethod
    def read_answers(connection, bodiless=False):
        """The answers until the server closes, or has answered what asks it to close: (status, fields, body)."""
        data, answers = b"", []
        try:
            while part := connection.recv(1 << 16):
                data += part
        except ConnectionError:
            pass
        while data:
            head, _, data = data.partition(b"\r\n\r\n")
            lines = head.decode().split("\r\n")
            fields = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines[1:])}
            size = 0 if bodiless else int(fields.get("content-length", "0"))
            answers.append((int(lines[0].split()[1]), fields, data[:size]))
            data = data[size:]
        return answers

    def send(self, request, half_close=True, bodiless=False):
        """@return all answers. The server is told that nothing more comes, so that it closes when it has answered."""
        request = request if isinstance(request, bytes) else request.encode("latin-1")
        with self.page.connect() as connection:
            try:
                connection.sendall(request)
                if half_close and not self.page.tls:
                    connection.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # it has answered and closed already
            return self.read_answers(connection, bodiless)

    def statuses(self, request):
        return [status for status, _, _ in self.send(request)] or [CLOSED]

    def check(self, cases):
        """@param cases what it is, what is sent, the statuses of the answers"""
        for what, request, expected in cases:
            with self.subTest(what):
                self.assertEqual(self.statuses(request), expected if isinstance(expected, list) else [expected], what)

    def get(self, fields="", target="/", method="GET", version="HTTP/1.1"):
        return f"{method} {target} {version}\r\n{self.own}{fields}\r\n"


class Requests(Attacks):
    def test_smuggling(self):
        hidden = self.get(self.cookie, "/login")

        def post(fields, body=hidden):
            return f"POST /login HTTP/1.1\r\n{self.own}{fields}\r\n{body}"

        size = len(hidden)
        self.check([
            ("length and chunks", post(f"Content-Length: {size}\r\nTransfer-Encoding: chunked\r\n", f"0\r\n\r\n{hidden}"), 400),
            ("chunks and length", post(f"Transfer-Encoding: chunked\r\nContent-Length: {size}\r\n", f"0\r\n\r\n{hidden}"), 400),
            ("two lengths", post(f"Content-Length: 0\r\nContent-Length: {size}\r\n"), 400),
            ("two lengths in one", post(f"Content-Length: 0, {size}\r\n"), 400),
            ("a length with a sign", post(f"Content-Length: +{size}\r\n"), 400),
            ("a length below zero", post("Content-Length: -1\r\n"), 400),
            ("a length in hexadecimal", post("Content-Length: 0x10\r\n"), 400),
            ("a length of nothing", post("Content-Length: \r\n"), 400),
            ("a length that overflows", post("Content-Length: 18446744073709551616\r\n"), 400),
            ("a length that is the largest", post("Content-Length: 18446744073709551615\r\n"), 413),
            ("an encoding that is not known", post("Transfer-Encoding: xchunked\r\n"), 400),
            ("chunks in something else", post("Transfer-Encoding: chunked, identity\r\n"), 400),
            ("chunks twice", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400),
            ("chunks in a list", post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), 400),
            ("chunks with a tab", post("Transfer-Encoding:\x0bchunked\r\n"), 400),
            ("a name with a space", post(f"Content-Length : {size}\r\n"), 400),
            ("a chunk that overflows", post("Transfer-Encoding: chunked\r\n", "FFFFFFFFFFFFFFFFF\r\n" + hidden), 400),
            ("a chunk that is the largest", post("Transfer-Encoding: chunked\r\n", "FFFFFFFFFFFFFFFF\r\n" + hidden), 413),
            ("a chunk below zero", post("Transfer-Encoding: chunked\r\n", "-1\r\n" + hidden), 400),
            ("a chunk without its end", post("Transfer-Encoding: chunked\r\n", "1\r\nab\r\n0\r\n\r\n"), 400),
            ("a chunk's extension without end", post("Transfer-Encoding: chunked\r\n", "1;" + "x" * 20000), 431),
            ("chunks that are too many", post("Transfer-Encoding: chunked\r\n", "400\r\n" + "x" * 1024 + "\r\n" + "800\r\n" + "x" * 2048 + "\r\n" + "800\r\n" +
                                              "x" * 2048 + "\r\n0\r\n\r\n"), 413),
            ("line feeds alone", f"GET / HTTP/1.1\n{self.own}\n".replace("\r", ""), 505),
            ("a carriage return in a field", self.get("X: a\rContent-Length: 5\r\n"), 400),
            ("a line feed in a field", self.get("X: a\nContent-Length: 5\r\n"), 400),
            ("a zero in a field", self.get("X: a\0b\r\n"), 400),
            ("a field that begins the next line", "GET / HTTP/1.1\r\n Host: evil.example\r\n" + self.own + "\r\n", 400),
        ])

    def test_what_is_well_formed_is_answered(self):
        self.check([
            ("one chunk", f"POST /login HTTP/1.1\r\n{self.own}Origin: {self.page.origin}\r\nTransfer-Encoding: chunked\r\n\r\n"
                          f"20\r\n{self.page.token}\r\n0\r\n\r\n", 204),
            ("a folded field", self.get("X: a\r\n b\r\n"), 200),
            ("three at once", self.get() + self.get(target="/nothing") + self.get(), [200, 404, 200]),
            ("three at once, with the cookie", self.get(self.cookie) + self.get(self.cookie, "/nothing") + self.get(self.cookie, "/login"), [200, 404, 204]),
            ("two that change who one is", self.get() + self.get(self.cookie, "/login") + self.get(target="/login"), [200, 204, 401]),
            ("the last one closes", self.get("Connection: close\r\n") + self.get(), [200]),
            ("HTTP/1.0", self.get(version="HTTP/1.0"), 200),
            ("an upgrade to something else", self.get("Connection: Upgrade\r\nUpgrade: h2c\r\n"), 200),
            ("empty lines before it", "\r\n\r\n" + self.get(), 400),
        ])

    def test_versions_and_methods(self):
        self.check([
            ("HTTP/0.9", "GET /\r\n", 400),
            ("HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
            ("HTTP/1.2", self.get(version="HTTP/1.2"), 505),
            ("HTTP/11.1", self.get(version="HTTP/11.1"), 505),
            ("no HTTP", self.get(version="ICY/1.1"), 505),
            ("TLS in the clear", b"\x16\x03\x01\x02\x00\x01" + bytes(500), 400),
            ("nothing", "", CLOSED),
            ("half a request", "GET / HT", CLOSED),
            ("a method that there is not", self.get(method="BREW"), 405),
            ("TRACE", self.get(method="TRACE"), 405),
            ("OPTIONS", self.get(method="OPTIONS", target="*"), 405),
            ("CONNECT", self.get(method="CONNECT", target="evil.example:443"), 405),
            ("a body where none is read", self.get("Content-Length: 3\r\n") + "abc" + self.get(), [200, 200]),
        ])
        answers = self.send(self.get(method="HEAD"), bodiless=True)
        self.assertEqual([answer[0] for answer in answers], [200])
        self.assertEqual(answers[0][1]["content-length"], str(len(self.page.once("GET", "/")[1])))

    def test_sizes(self):
        self.check([
            ("a target of 9000 bytes", self.get(target="/" + "x" * 9000), 431),
            ("a target of 7000 bytes", self.get(target="/" + "x" * 7000), 404),
            ("a field of 9000 bytes", self.get("X: " + "x" * 9000 + "\r\n"), 431),
            ("a name of 9000 bytes", self.get("X" * 9000 + ": x\r\n"), 431),
            ("a thousand fields", self.get("a: b\r\n" * 1000), 200),
            ("ten thousand fields", self.get("a: b\r\n" * 10_000), 431),
            ("a body of 5000 bytes", f"POST /login HTTP/1.1\r\n{self.own}Content-Length: 5000\r\n\r\n" + "x" * 5000, 413),
            ("a cookie of 7000 bytes", self.get("Cookie: " + "a=b; " * 1400 + "\r\n", "/login"), 401),
        ])

    def test_targets(self):
        address = self.page.headers["Host"]
        self.check([
            ("absolute", self.get(target=f"http://{address}/"), 200),
            ("absolute, of another scheme", self.get(target=f"https://{address}/"), 400),
            ("absolute, of another host", self.get(target="http://evil.example/"), 400),
            ("absolute, with somebody's name", self.get(target=f"http://x@{address}/"), 400),
            ("absolute, without a path", self.get(target=f"http://{address}"), 200),
            ("a parent folder", self.get(target="/../../etc/passwd"), 404),
            ("a parent folder, encoded", self.get(target="/%2e%2e/%2e%2e/etc/passwd"), 404),
            ("another host's", self.get(target="//evil.example/"), 404),
            ("an encoded zero", self.get(target="/index.html%00.png"), 404),
            ("a query", self.get(target="/?x=../../etc/passwd"), 200),
            ("a fragment", self.get(target="/#token=0"), 404),
            ("a space", self.get(target="/ /"), 505),
        ])

    def test_hosts_origins_and_cookies(self):
        port = self.page.port

        def of(host):
            return f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"

        value = self.page.headers["Cookie"].split("=")[1]
        name = self.page.headers["Cookie"].split("=")[0]
        self.check([
            ("none", "GET / HTTP/1.1\r\n\r\n", 400),
            ("two", f"GET / HTTP/1.1\r\n{self.own}{self.own}\r\n", 400),
            ("nothing", of(""), 400),
            ("a list", of(f"127.0.0.1:{port}, evil.example"), 400),
            ("two ports", of(f"127.0.0.1:{port}:80"), 400),
            ("port 0", of("127.0.0.1:0"), 400),
            ("port 65536", of("127.0.0.1:65536"), 400),
            ("a port with a sign", of(f"127.0.0.1:+{port}"), 400),
            ("somebody's name", of(f"x@127.0.0.1:{port}"), 400),
            ("a path", of(f"127.0.0.1:{port}/x"), 400),
            ("another name", of(f"evil.example:{port}"), 421),
            ("a name that only ends like ours", of(f"evil.localhost:{port}"), 421),
            ("a name that only begins like ours", of(f"127.0.0.1.evil.example:{port}"), 421),
            ("the address as a number", of(f"2130706433:{port}"), 421),
            ("our name in capitals", of(f"LOCALHOST:{port}"), 200),
            ("an address of IPv6 with a zone", of(f"[::1%lo]:{port}"), 400),
            ("a cookie", self.get(self.cookie, "/login"), 204),
            ("the cookie twice", self.get(self.cookie + self.cookie, "/login"), 400),
            ("the cookie behind a wrong one", self.get(f"Cookie: {name}={'0' * 32}; {name}={value}\r\n", "/login"), 401),
            ("the cookie without its end", self.get(f"Cookie: {name}={value[:-1]}\r\n", "/login"), 401),
            ("the cookie in quotes", self.get(f"Cookie: {name}=\"{value}\"\r\n", "/login"), 401),
            ("the token in the address", self.get(target=f"/login?token={self.page.token}"), 401),
            ("logging in without an origin", f"POST /login HTTP/1.1\r\n{self.own}Content-Length: 32\r\n\r\n{self.page.token}", 403),
        ])

    def test_slowness(self):
        with self.page.connect() as connection:
            for byte in self.get(self.cookie, "/login").encode():
                connection.sendall(bytes([byte]))
            connection.shutdown(socket.SHUT_WR)
            self.assertEqual([answer[0] for answer in self.read_answers(connection)], [204])


class WebSockets(Attacks):
    def upgrade(self, origin=None, fields="", target="/ws", cookie=None, version="13", method="GET", key="x3JJHMbDL1EzLkh9GBhXDw=="):
        origin = self.page.origin if origin is None else origin
        key = "" if key is None else f"Sec-WebSocket-Key: {key}\r\n"
        return (f"{method} {target} HTTP/1.1\r\n{self.own}{'Origin: ' + origin if origin else 'X: x'}\r\n{self.cookie if cookie is None else cookie}"
                f"Upgrade: websocket\r\nConnection: Upgrade\r\n{key}Sec-WebSocket-Version: {version}\r\n{fields}\r\n")

    def test_who_may_open_one(self):
        port = self.page.port
        self.check([
            ("no cookie", self.upgrade(cookie=""), 401),
            ("two cookies", self.upgrade(cookie=self.cookie + self.cookie), 400),
            ("no origin", self.upgrade(""), 403),
            ("no site's origin", self.upgrade("null"), 403),
            ("another site", self.upgrade("http://evil.example"), 403),
            ("another scheme", self.upgrade(f"https://127.0.0.1:{port}"), 403),
            ("another port", self.upgrade(f"http://127.0.0.1:{port + 1}"), 403),
            ("a name that begins like ours", self.upgrade(f"http://127.0.0.1:{port}.evil.example"), 403),
            ("an origin with a path", self.upgrade(f"http://127.0.0.1:{port}/"), 403),
            ("two origins", self.upgrade(fields=f"Origin: {self.page.origin}\r\n"), 400),
            ("another target", self.upgrade(target="/"), 404),
            ("another method", self.upgrade(method="POST"), 405),
            ("an old version", self.upgrade(version="8"), 426),
            ("no key", self.upgrade(key=None), 400),
        ])

    def opened(self, fields=""):
        """@return a WebSocket's connection, with the answer's fields"""
        connection = self.page.connect()
        self.addCleanup(connection.close)
        connection.sendall(self.upgrade(fields=fields).encode())
        data = b""
        while b"\r\n\r\n" not in data:
            data += connection.recv(1)
        self.assertTrue(data.startswith(b"HTTP/1.1 101 "), data)
        return connection, data.decode().lower()

    @staticmethod
    def frame(opcode, payload=b"", final=True, reserved=0, masked=True, size=None):
        length = len(payload) if size is None else size
        head = bytes([(0x80 if final else 0) | reserved << 4 | opcode])
        mask = 0x80 if masked else 0
        if length < 126:
            head += bytes([mask | length])
        elif length < 1 << 16:
            head += bytes([mask | 126]) + struct.pack(">H", length)
        else:
            head += bytes([mask | 127]) + struct.pack(">Q", length)
        return head + (bytes(4) if masked else b"") + payload

    def closed_with(self, sent, fields=""):
        """The code that the server closes with; 0: without one."""
        connection, _ = self.opened(fields)
        try:
            connection.sendall(sent)
        except ConnectionError:
            pass
        data = b""
        try:
            while part := connection.recv(1 << 16):
                data += part
        except ConnectionError:
            pass
        at = 0
        while at + 2 <= len(data):
            opcode, size, head = data[at] & 0xF, data[at + 1] & 0x7F, 2
            if size >= 126:
                head = 4 if size == 126 else 10
                size = int.from_bytes(data[at + 2:at + head], "big")
            if opcode == 8:
                return int.from_bytes(data[at + head:at + head + 2], "big")
            at += head + size
        return CLOSED

    def test_frames(self):
        ask = b'{"credits":1}'
        bomb = zlib.compressobj(9, zlib.DEFLATED, -15)
        compressed = bomb.compress(b" " * (8 << 20)) + bomb.flush(zlib.Z_SYNC_FLUSH)
        for what, sent, code in [
            ("no mask", self.frame(1, ask, masked=False), 1002),
            ("reserved bits", self.frame(1, ask, reserved=1), 1002),
            ("a compressed bomb", self.frame(1, compressed, reserved=4), 1002),
            ("an opcode that there is not", self.frame(3, ask), 1002),
            ("a control opcode that there is not", self.frame(11), 1002),
            ("a ping in pieces", self.frame(9, b"x", final=False), 1002),
            ("a close in pieces", self.frame(8, b"", final=False), 1002),
            ("a ping that is too long", self.frame(9, bytes(126)), 1002),
            ("a piece of nothing", self.frame(0, ask), 1002),
            ("a message within a message", self.frame(1, b"{", final=False) + self.frame(1, ask), 1002),
            ("a length that overflows", self.frame(2, b"", size=(1 << 64) - 1), 1009),
            ("a length of 1 TiB", self.frame(1, b"", size=1 << 40), 1009),
            ("a message that is too long", self.frame(1, b" " * (64 << 10) + ask), 1009),
            ("pieces that are too long together", self.frame(1, b" " * 40000, final=False) + self.frame(0, b" " * 40000), 1009),
            ("a length that could be shorter", b"\x81\xfe\x00\x0d" + bytes(4) + ask, 1002),
            ("bytes that are no text", self.frame(1, b"\xff\xfe"), 1007),
            ("a close with one byte", self.frame(8, b"\x03"), 1002),
            ("a close with a code that there is not", self.frame(8, struct.pack(">H", 1005)), 1002),
            ("a close with a reason that is no text", self.frame(8, struct.pack(">H", 1000) + b"\xff"), 1002),
            ("no JSON", self.frame(1, b"{"), 1008),
            ("JSON that is deep", self.frame(1, b"[" * 60000), 1008),
            ("a close", self.frame(8, struct.pack(">H", 1000)), 1000),
        ]:
            with self.subTest(what):
                self.assertEqual(self.closed_with(sent), code, what)

    def test_compression_is_not_agreed_on(self):
        _, answer = self.opened("Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n")
        self.assertNotIn("sec-websocket-extensions", answer)

    def test_floods_of_pings_and_pieces(self):
        opened = self.page.web_socket()
        self.addCleanup(opened.close)
        opened.until("hello")
        pings = self.frame(9, bytes(125)) * 100
        for _ in range(200):
            opened.socket.sendall(pings)
            # It takes the answers, or neither side could go on.
            answered = 0
            while answered < 100:
                first, second = opened._take(2)
                opened._take(second & 0x7F)
                answered += first == 0x8A
        empty = self.frame(1, b"", final=False) + self.frame(0, b"", final=False) * 50_000 + self.frame(0, b'{"credits":1}')
        opened.socket.sendall(empty)
        opened.until("update")

    def test_pings_that_nobody_hears_the_answers_of(self):
        connection, _ = self.opened()
        connection.setblocking(False)
        pings, sent = self.frame(9, bytes(125)) * 1000, 0
        try:
            while sent < 64 << 20:
                sent += connection.send(pings)
        except (BlockingIOError, ConnectionError):
            pass
        # What the server does not read stays with the sender.
        self.assertLess(sent, 64 << 20)

    def test_a_client_that_is_half_closed(self):
        connection, _ = self.opened()
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(1 << 16):
            pass


class WithTls(Attacks):
    """What comes in one piece, when it is another thread that goes on."""

    def options(self):
        return make_certificate(self.folder)

    def test_several_requests_at_once(self):
        last = self.get(self.cookie + "Connection: close\r\n", "/login")
        for what, request, expected in [
            ("with the cookie", self.get(self.cookie) + self.get(self.cookie, "/nothing") + last, [200, 404, 204]),
            ("first without it", self.get() + self.get(self.cookie, "/login") + last, [200, 204, 204]),
        ]:
            with self.subTest(what):
                self.assertEqual([status for status, _, _ in self.send(request)], expected)

    def test_several_requests_in_records_of_their_own(self):
        with self.page.connect() as connection:
            for target in ("/", "/nothing"):
                connection.sendall(self.get(self.cookie, target).encode())
            connection.sendall(self.get(self.cookie + "Connection: close\r\n", "/login").encode())
            self.assertEqual([status for status, _, _ in self.read_answers(connection)], [200, 404, 204])


if __name__ == "__main__":
    unittest.main()
