"""A page without a browser: logs in, asks over HTTP, has a WebSocket. Standard library only."""

import base64
import http.client
import json
import os
import socket
import ssl
import struct
import urllib.parse

from attune_e2e import PATIENCE_S


def _leb128(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def envelope(message):
    """The keys and values of a message's first frame (src/wire/frame.h)."""
    payload, rows = struct.unpack_from("<I", message, 8)[0], struct.unpack_from("<I", message, 20)[0]
    at, end, columns = 64, 64 + payload, []
    while at < end:
        in_block = struct.unpack_from("<IIHH", message, at)[2]
        at += 12
        for _ in range(in_block):
            size = struct.unpack_from("<BxxxI", message, at)[1]
            at += 8
            texts, place = [], at
            for _ in range(rows):
                length, place = _leb128(message, place)
                texts.append(message[place:place + length].decode())
                place += length
            columns.append(texts)
            at += size
    return dict(zip(columns[0], columns[1]))


class _Https(http.client.HTTPSConnection):
    def __init__(self, page):
        super().__init__(page.host, page.port, timeout=page.timeout, context=page.context)
        self.page = page

    def connect(self):
        http.client.HTTPConnection.connect(self)
        self.sock = self.page.wrap(self.sock)


class Page:
    """@param url as attune prints it, with the token"""

    def __init__(self, url, timeout=PATIENCE_S):
        parts = urllib.parse.urlsplit(url)
        self.tls = parts.scheme == "https"
        self.host, self.port, self.timeout = parts.hostname, parts.port, timeout
        self.origin = f"{parts.scheme}://{parts.netloc}"
        self.headers = {"Host": parts.netloc, "Origin": self.origin, "Accept-Encoding": "gzip"}
        self.token = parts.fragment.removeprefix("token=")
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.context.check_hostname = False
        self.context.verify_mode = ssl.CERT_NONE
        self.session = None

    def http(self):
        if self.tls:
            return _Https(self)
        return http.client.HTTPConnection(self.host, self.port, timeout=self.timeout)

    def wrap(self, plain):
        """TLS, resumed where the server gave a ticket, as browsers do."""
        return self.context.wrap_socket(plain, session=self.session)

    def keep_ticket(self, connection):
        """A ticket comes with the answer to a request."""
        if self.tls and connection is not None and connection.session is not None and connection.session.has_ticket:
            self.session = connection.session

    def ask(self, connection, method, target, body=None, headers=None):
        connection.request(method, target, body=body, headers={**self.headers, **(headers or {})})
        answer = connection.getresponse()
        content = answer.read()
        self.keep_ticket(connection.sock)
        return answer.status, content, answer

    def once(self, method, target, body=None, headers=None):
        connection = self.http()
        try:
            return self.ask(connection, method, target, body, headers)
        finally:
            connection.close()

    def log_in(self):
        """From now on every request has the cookie. @return the Set-Cookie field"""
        status, _, answer = self.once("POST", "/login", self.token)
        if status != 204:
            raise ConnectionError(f"logging in: {status}")
        given = answer.getheader("Set-Cookie")
        self.headers["Cookie"] = given.split(";")[0]
        return given

    def connect(self):
        plain = socket.create_connection((self.host, self.port), timeout=self.timeout)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self.wrap(plain) if self.tls else plain

    def web_socket(self):
        return WebSocket(self)


class WebSocket:
    def __init__(self, page):
        self.socket = page.connect()
        key = base64.b64encode(os.urandom(16)).decode()
        fields = {**page.headers, "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Key": key, "Sec-WebSocket-Version": "13"}
        self.socket.sendall(("GET /ws HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in fields.items()) + "\r\n").encode())
        self.buffer = bytearray()
        while b"\r\n\r\n" not in self.buffer:
            self._fill()
        self.status = int(self._take(self.buffer.index(b"\r\n\r\n") + 4).split()[1])
        if self.status != 101:
            self.socket.close()
            raise ConnectionError(f"the WebSocket is refused: {self.status}")
        page.keep_ticket(self.socket)

    def _fill(self):
        data = self.socket.recv(1 << 16)
        if not data:
            raise ConnectionError("the server closed the connection")
        self.buffer += data

    def _take(self, size):
        while len(self.buffer) < size:
            self._fill()
        taken = bytes(self.buffer[:size])
        del self.buffer[:size]
        return taken

    def _send(self, opcode, payload):
        size = len(payload)
        head = bytes([0x80 | opcode])
        if size < 126:
            head += bytes([0x80 | size])
        elif size < 1 << 16:
            head += bytes([0x80 | 126]) + struct.pack(">H", size)
        else:
            head += bytes([0x80 | 127]) + struct.pack(">Q", size)
        # A mask of zeros is a mask.
        self.socket.sendall(head + bytes(4) + payload)

    def send(self, message):
        self._send(1, json.dumps(message).encode())

    def receive(self):
        """The next message, whole."""
        message = b""
        while True:
            first, second = self._take(2)
            size = second & 0x7F
            if size >= 126:
                size = int.from_bytes(self._take(2 if size == 126 else 8), "big")
            payload = self._take(size)
            opcode = first & 0xF
            if opcode == 8:
                raise ConnectionError(f"closed: {payload[2:].decode(errors='replace')}")
            if opcode == 9:
                self._send(10, payload)
            if opcode in (9, 10):
                continue
            message += payload
            if first & 0x80:
                return message

    def until(self, kind, **wanted):
        """Reads until a message is of this kind and has these values."""
        while True:
            found = envelope(self.receive())
            if found.get("message") == kind and all(found.get(k) == v for k, v in wanted.items()):
                return found

    def close(self):
        self.socket.close()
