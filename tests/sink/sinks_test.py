"""Sinks as a user has them: the shipped one to everything that it can write to, the template by its one line, recordings, control,
and sinks that misbehave in a session. What comes is read by line_protocol.py, which knows nothing of attune."""

import contextlib
import http.server
import json
import os
import signal
import socket
import subprocess
import threading
import urllib.parse

import line_protocol
from attune_e2e import ATTUNE, BUILD, E2E, PATIENCE_S, main

SOURCE = os.environ["ATTUNE_SOURCE"]
BAD = os.path.join(BUILD, "tests", "sink", "bad_sink.so")


class Influx(http.server.ThreadingHTTPServer):
    """Takes lines as InfluxDB does: 204, or 400 with the reason. `failures` answers with 503 come first."""

    def __init__(self, failures=0, status=503):
        super().__init__(("127.0.0.1", 0), Handler)
        self.failures, self.status = failures, status
        self.lock = threading.Lock()
        self.points, self.requests, self.problems = [], [], []


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        with self.server.lock:
            self.server.requests.append((self.path, self.headers.get("Authorization")))
            fail = self.server.failures > 0
            self.server.failures -= fail
        status = self.server.status if fail else 204
        if status == 204:
            try:
                points = line_protocol.parse(body)
                with self.server.lock:
                    self.server.points += points
            except line_protocol.LineError as error:
                self.server.problems.append(str(error))
                status = 400
        answer = b"" if status == 204 else b'{"error":"not\nnow"}'
        self.send_response(status)
        if answer:
            self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


@contextlib.contextmanager
def serving(server):
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Listener:
    """Everything that comes over a socket, as one text."""

    def __init__(self, family, kind, address):
        self.socket = socket.socket(family, kind)
        self.socket.bind(address)
        self.bytes = b""
        self.thread = threading.Thread(target=self.stream if kind == socket.SOCK_STREAM else self.datagrams)
        if kind == socket.SOCK_STREAM:
            self.socket.listen()
        self.thread.start()

    def stream(self):
        connection, _ = self.socket.accept()
        with connection:
            while piece := connection.recv(65536):
                self.bytes += piece

    def datagrams(self):
        while (piece := self.socket.recv(65536)) != b"end":
            assert piece.endswith(b"\n") and (len(piece) <= 1400 or piece.count(b"\n") == 1), piece[:100]
            self.bytes += piece

    def close(self):
        self.thread.join()
        self.socket.close()
        return self.bytes.decode()


class Sinks(E2E):
    def setUp(self):
        super().setUp()
        for name in [name for name in self.env if name.lower().endswith("_proxy")]:
            del self.env[name]

    def record(self, sink, name="x.attune", env=None, length="600ms", code=0):
        result = self.attune("record", "-s", "cpu,vmstat@20ms", "-i", "50ms", "--for", length, "-o", name, "--sink", sink, env=env or self.env)
        self.assertEqual(result.returncode, code, result.stderr.decode())
        return name

    def start_session(self, sink):
        """One that records into x.attune until it is ended."""
        session = subprocess.Popen([ATTUNE, "record", "-q", "-s", "cpu,vmstat@20ms", "-i", "50ms", "-o", "x.attune", "--sink", sink], cwd=self.folder, env=self.env,
                                   stderr=subprocess.DEVNULL)
        self.addCleanup(session.wait)
        self.addCleanup(session.kill)
        self.until(lambda: os.path.exists(self.path("x.attune")), "the recording")
        return session

    def labels(self, recording):
        result = self.attune("query", recording, "select text from labels", "--json")
        return [row["text"] for row in json.loads(result.stdout)] if result.returncode == 0 else []

    def values(self, recording):
        """(sensor, signal, element, real time) -> value, as SQL has it."""
        offset = self.query(recording, "select real_ns - monotonic_ns as n from clock limit 1")[0]["n"]
        rows = self.query(recording, "select sensor, signal, kind, scale, elements.name, t_ns, value from samples join series on series.id = series"
                                     " join (select id as e, kind as element_kind, name from elements) as elements on e = element where value is not null")
        return {(row["sensor"], row["signal"], row["name"], row["t_ns"] + offset): row["value"] * 10 ** row["scale"] for row in rows}

    def points(self, points):
        """The same of lines."""
        values = {}
        for measurement, tags, fields, time_ns in points:
            if measurement.startswith("attune_"):
                continue
            element = tags.get("cpu", tags["host"])
            for key, value in fields.items():
                values[measurement, key, element, time_ns] = value
        return values

    def assert_complete(self, recording, points):
        wanted, had = self.values(recording), self.points(points)
        self.assertGreater(len(wanted), 0)
        self.assertEqual(set(had), set(wanted))
        for key, value in wanted.items():
            self.assertAlmostEqual(had[key], value, delta=abs(value) * 1e-12)

    def sinks_of(self, recording):
        result = self.attune("report", recording, "--json")
        return {sink["name"]: sink for sink in json.loads(result.stdout)["sinks"]}

    def test_a_file_has_every_value_of_the_recording(self):
        result = self.attune("record", "-s", "cpu,vmstat@20ms", "-i", "50ms", "-o", "x.attune", "--sink", "influxdb=out.lp", "--", "sh", "-c", "sleep 0.5; exit 3")
        self.assertEqual(result.returncode, 3, result.stderr.decode())
        with open(self.path("out.lp"), encoding="utf-8") as file:
            points = line_protocol.parse(file.read())
        self.assertEqual(os.stat(self.path("out.lp")).st_mode & 0o777, 0o600)
        self.assert_complete("x.attune", points)
        ends = [fields for name, tags, fields, _ in points if name == "attune_processes" and tags["event"] == "exit" and fields.get("exit_code") == 3]
        self.assertEqual(len(ends), 1)
        self.assertIn("sleep 0.5", ends[0]["command"])
        sink = self.sinks_of("x.attune")["influxdb"]
        self.assertEqual((sink["dropped"], sink["problem"]), (0, ""))
        self.assertGreaterEqual(sink["written"], len(self.values("x.attune")))

    def test_a_recording_gives_the_same_as_the_session_did(self):
        self.record("influxdb=live.lp")
        result = self.attune("export", "x.attune", "--to", "sink:influxdb=later.lp")
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        both = []
        for name in ("live.lp", "later.lp"):
            with open(self.path(name), encoding="utf-8") as file:
                both.append(sorted(map(repr, line_protocol.parse(file.read()))))
        self.assertEqual(both[0], both[1])

    def test_version_1_and_2_over_http(self):
        for path, token in [("/write?db=attune&u=me", None), ("/api/v2/write?org=o&bucket=b&precision=ns", "secret token")]:
            with self.subTest(path), serving(Influx()) as server:
                env = dict(self.env, INFLUX_TOKEN=token) if token else self.env
                name = self.record(f"influxdb=http://127.0.0.1:{server.server_port}{path}", name=f"{token is None}.attune", env=env)
                self.assertEqual(server.problems, [])
                self.assert_complete(name, server.points)
                asked = urllib.parse.urlsplit(server.requests[0][0])
                self.assertEqual(asked.path + "?" + asked.query, path)
                self.assertEqual({authorization for _, authorization in server.requests}, {token and f"Token {token}"})

    def test_a_server_that_is_busy_is_asked_again(self):
        with serving(Influx(failures=10**6)) as server:
            session = self.start_session(f"influxdb=http://127.0.0.1:{server.server_port}/write?db=x")
            said = self.until(lambda: [text for text in self.labels("x.attune") if "HTTP 503" in text], "its word about that")
            server.failures = 0
            self.until(lambda: server.points, "the next try")
            session.send_signal(signal.SIGINT)
            self.assertEqual(session.wait(PATIENCE_S), 0)
            self.assert_complete("x.attune", server.points)
        self.assertNotIn("\n", said[0])

    def test_a_server_that_refuses_or_is_away_costs_its_values_only(self):
        with serving(Influx(failures=10**6, status=400)) as server:
            refused = self.record(f"influxdb=http://127.0.0.1:{server.server_port}/write?db=x", name="refused.attune", code=1)
            port = server.server_port
        away = self.record(f"influxdb=http://127.0.0.1:{port}/write?db=x", name="away.attune", code=1)
        for name, words in [(refused, "HTTP 400"), (away, "onnect")]:
            sink = self.sinks_of(name)["influxdb"]
            self.assertGreaterEqual(sink["dropped"], len(self.values(name)), name)
            self.assertIn(words, sink["problem"])
            self.assertNotIn("db=x", sink["problem"])
            self.assertIn(b"sink influxdb", self.attune("report", name, "missed").stdout)

    def test_tcp_udp_and_unix_sockets(self):
        unix = self.path("socket")
        for kind, address, family, scheme in [(socket.SOCK_STREAM, ("127.0.0.1", 0), socket.AF_INET, "tcp"),
                                              (socket.SOCK_DGRAM, ("127.0.0.1", 0), socket.AF_INET, "udp"),
                                              (socket.SOCK_STREAM, unix, socket.AF_UNIX, "unix")]:
            with self.subTest(scheme):
                listener = Listener(family, kind, address)
                if kind == socket.SOCK_DGRAM:
                    listener.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
                where = "unix:socket" if scheme == "unix" else "{}://127.0.0.1:{}".format(scheme, listener.socket.getsockname()[1])
                name = self.record(f"influxdb={where}", name=f"{scheme}.attune")
                if kind == socket.SOCK_DGRAM:
                    with socket.socket(family, kind) as end:
                        while listener.thread.is_alive():  # the kernel may drop this, too
                            end.sendto(b"end", listener.socket.getsockname())
                            listener.thread.join(0.05)
                points = line_protocol.parse(listener.close())
                if scheme == "udp":  # what the kernel dropped, nobody knows
                    self.assertTrue(set(self.points(points)) <= set(self.values(name)))
                    self.assertGreater(len(points), 0)
                else:
                    self.assert_complete(name, points)

    def test_what_makes_no_sense_is_said_before_anything_runs(self):
        for sink, code, words in [("influx=x", 2, "did you mean influxdb?"), ("influxdb", 2, "where to"), ("influxdb=-", 2, "give a file"),
                                  ("influxdb=http://h:1/", 2, "/write?db=NAME"), ("influxdb=/no/such/folder/x", 2, "No such file"),
                                  ("=x", 2, "NAME[=ARGUMENT]"), (BAD + "=refuse", 2, "no database of ours")]:
            result = self.attune("record", "-s", "cpu", "--for", "100ms", "-o", "never.attune", "--sink", sink, "--", "touch", "ran")
            self.assertEqual(result.returncode, code, (sink, result.stderr.decode()))
            self.assertIn(words, result.stderr.decode())
            self.assertFalse(os.path.exists(self.path("ran")), sink)
            self.assertFalse(os.path.exists(self.path("never.attune")), sink)
        twice = self.attune("record", "--for", "100ms", "--sink", "influxdb=a", "--sink", "influxdb=b")
        self.assertIn(b"given twice", twice.stderr)
        self.assert_nothing_left()

    def test_the_template_by_its_one_line(self):
        with open(os.path.join(SOURCE, "examples", "plugin-sink", "tsv.c"), encoding="utf-8") as source:
            self.write("tsv.c", source.read())
        subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2", "-shared", "-fPIC", "-fvisibility=hidden", "-I", os.path.join(SOURCE, "include"),
                        "tsv.c", "-o", "tsv.so"], cwd=self.folder, check=True)
        self.record("./tsv.so=values.tsv")
        with open(self.path("values.tsv"), encoding="utf-8") as file:
            rows = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
        self.assertEqual({len(row) for row in rows}, {5})
        self.assertEqual(len(rows), len(self.values("x.attune")))

    def test_it_is_listed_and_found_in_the_folder_of_sinks(self):
        config = self.path("config")
        os.makedirs(os.path.join(config, "attune", "sinks"))
        os.symlink(os.path.join(BUILD, "examples", "plugin-sink", "tsv.so"), os.path.join(config, "attune", "sinks", "tsv.so"))
        env = dict(self.env, XDG_CONFIG_HOME=config)
        self.assertEqual(self.attune("list", "sinks", "--names", env=env).stdout.decode().split(), ["influxdb", "tsv"])
        listed = {row["name"]: row for row in json.loads(self.attune("list", "sinks", "--json", env=env).stdout)}
        self.assertEqual(listed["tsv"]["argument"], "FILE")
        self.assertIn("/write?db=NAME", listed["influxdb"]["argument"])

    def test_a_crash_costs_nobody_else_anything(self):
        session = self.start_session(BAD + "=crash")  # it dies of its sixth delivery
        self.until(lambda: "sink bad_sink crashed (SIGSEGV); it is started again" in self.labels("x.attune"), "the crash")
        session.send_signal(signal.SIGINT)
        self.assertEqual(session.wait(PATIENCE_S), 0)
        sink = self.sinks_of("x.attune")["bad_sink"]
        self.assertGreater(sink["restarts"], 0)
        self.assertGreater(sink["dropped"], 0)
        self.assertEqual(self.query("x.attune", "select count(*) as n from gaps where reason in ('dropped', 'vanished')")[0]["n"], 0)
        self.assert_nothing_left()

    def test_a_sink_that_comes_late_knows_what_came_before(self):
        with subprocess.Popen([ATTUNE, "record", "-s", "cpu", "-i", "20ms", "-o", "x.attune", "--", "cat"], cwd=self.folder, env=self.env,
                              stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as session:
            self.until(lambda: self.attune("ctl", "status").returncode == 0, "the session")
            late = self.path("late.lp")
            self.assertEqual(self.attune("ctl", "sink", f"influxdb={late}").returncode, 0)
            refused = self.attune("ctl", "sink", "influx=x")
            self.assertIn(b"did you mean influxdb?", refused.stderr)
            self.until(lambda: os.path.exists(late) and os.path.getsize(late) > 0, "its first lines")
            status = json.loads(self.attune("ctl", "status").stdout)
            self.assertEqual(status["sinks"][0]["name"], "influxdb")
            self.assertEqual(self.attune("ctl", "sink", "off", "tsv").returncode, 1)
            self.assertEqual(self.attune("ctl", "sink", "off", "influxdb").returncode, 0)
            with open(late, encoding="utf-8") as file:
                points = line_protocol.parse(file.read())
            session.stdin.close()
        self.assertEqual(session.returncode, 0)
        values = self.points(points)
        self.assertGreater(len(values), 0)
        self.assertTrue(set(values) < set(self.values("x.attune")))
        self.assertTrue(any(name == "attune_processes" and tags["event"] == "start" for name, tags, _, _ in points))
        self.assertEqual(self.sinks_of("x.attune")["influxdb"]["dropped"], 0)


if __name__ == "__main__":
    main()
