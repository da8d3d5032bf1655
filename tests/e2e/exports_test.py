"""What other programs read: exports of a real recording, and the recording itself in Python, against SQL."""

import csv
import json
import os
import re
import subprocess

import numascope_page
from attune_e2e import E2E, main, needs

TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools")


class Exports(E2E):
    def setUp(self):
        super().setUp()
        self.recording = self.path("x.attune")
        result = self.attune("record", "-i", "10ms", "-o", self.recording, "--", "sh", "-c", "sleep 0.3; exit 0")
        self.assertEqual(result.returncode, 0, result.stderr.decode())

    def count(self, table):
        return self.query(self.recording, f"select count(*) as n from {table}")[0]["n"]

    def export(self, *arguments):
        result = self.attune("export", self.recording, *arguments)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        return result.stdout

    def test_json_has_as_many_rows_as_sql(self):
        document = json.loads(self.export("--to", "json"))
        for table in ["elements", "series", "processes", "labels", "alarms", "gaps", "samples", "events"]:
            self.assertEqual(len(document[table]), self.count(table), table)
        self.assertGreater(len(document["samples"]), 0)

    def test_csv_has_as_many_rows_as_sql(self):
        lines = list(csv.DictReader(self.export("--to", "csv").decode().splitlines()))
        self.assertEqual(len(lines), self.count("samples"))
        self.assertTrue(all(re.fullmatch(r"-?\d+(\.\d+|e\d+)?|", line["value"]) for line in lines))

    @needs("protoc")
    def test_perfetto_is_protobuf(self):
        trace = self.path("x.perfetto-trace")
        self.export("--to", "perfetto", "-o", trace)
        with open(trace, "rb") as file:
            decoded = subprocess.run(["protoc", "--decode_raw"], stdin=file, capture_output=True, check=True).stdout.decode()
        packets = re.findall(r"^1 \{$", decoded, re.M)
        self.assertEqual(len(re.findall(r"^  10: 1$", decoded, re.M)), len(packets), "a packet without its sequence")
        states = "select count(*) as n from account where thread is not null and state <> 'unknown'"
        counters = self.count("series") + self.query(self.recording, states)[0]["n"]
        self.assertEqual(len(re.findall(r"^    8 \{$", decoded, re.M)), counters, "counter tracks")

    def test_numascope_shows_rates_of_one_sensor(self):
        traces, _ = numascope_page.shown(self.export("--to", "numascope", "--sensor", "vmstat"))
        keys = {row["signal"] for row in self.query(self.recording, "select signal from series where sensor = 'vmstat'")}
        self.assertEqual(set(traces), keys)
        # A rate times its interval, added up, is what the counter grew by.
        rows = self.query(self.recording, "select t_ns, value from samples join series on series.id = series where signal = 'pgfault' order by t_ns")
        times = [row["t_ns"] for row in rows]
        self.assertEqual(len(traces["pgfault"]), len(rows))  # the first one has levels only
        grown = sum(rate * (end - begin) / 1e9 for (_, rate), begin, end in zip(traces["pgfault"][1:], times, times[1:]))
        self.assertAlmostEqual(grown, rows[-1]["value"] - rows[0]["value"], delta=0.01 * len(rows) + 1)

    def test_numascope_wants_one_sensor(self):
        for arguments, hint in [((), b"vmstat"), (("--sensor", "vmsta"), b"did you mean vmstat")]:
            result = self.attune("export", self.recording, "--to", "numascope", *arguments)
            self.assertNotEqual(result.returncode, 0)
            self.assertEqual(result.stdout, b"")
            self.assertIn(hint, result.stderr)

    def test_hardware_counters_that_are_not_there_are_said(self):
        result = self.attune("export", self.recording, "--to", "hardware-xml")
        self.assertEqual(result.returncode, 3, result.stderr.decode())
        self.assertEqual(result.stdout, b"")
        self.assertIn(b"record with -s hardware", result.stderr)

    def test_one_sensor_alone(self):
        lines = list(csv.DictReader(self.export("--to", "csv", "--sensor", "cpu").decode().splitlines()))
        self.assertEqual({line["sensor"] for line in lines}, {"cpu"})

    def test_a_part_of_the_time(self):
        times = [int(line["t_ns"]) for line in csv.DictReader(self.export("--to", "csv", "--from", "100ms", "--to-time", "200ms").decode().splitlines())]
        self.assertGreater(len(times), 0)
        self.assertLess(max(times) - min(times), 100_000_000)
        within = self.query(self.recording, f"select count(*) as n from samples where t_ns between {min(times)} and {max(times)}")[0]["n"]
        self.assertEqual(len(times), within, "all of that part")
        document = json.loads(self.export("--to", "json", "--from", "100ms", "--to-time", "200ms"))
        self.assertEqual(len(document["samples"]), len(times))
        rest = json.loads(self.export("--to", "json", "--from", "200ms"))
        self.assertGreater(min(sample[1] for sample in rest["samples"]), max(times))

    def test_parts_that_are_none_are_usage_errors(self):
        for arguments, text in [(("--from", "9h"), b"the recording is"), (("--from", "200ms", "--to-time", "100ms"), b"not behind --from"), (("--to-time", "5"), b"--to-time")]:
            result = self.attune("export", self.recording, "--to", "json", *arguments)
            self.assertEqual(result.returncode, 2, result.stderr.decode())
            self.assertIn(text, result.stderr)

    def test_existing_output_stays(self):
        existing = self.write("there.json", "mine")
        result = self.attune("export", self.recording, "--to", "json", "-o", existing)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"--force", result.stderr)
        with open(existing, encoding="utf-8") as file:
            self.assertEqual(file.read(), "mine")
        self.export("--to", "json", "-o", existing, "--force")
        with open(existing, encoding="utf-8") as file:
            json.load(file)

    def test_the_recording_itself_is_not_replaced(self):
        result = self.attune("export", self.recording, "--to", "json", "-o", self.recording, "--force")
        self.assertEqual(result.returncode, 2)
        self.assertGreater(self.count("samples"), 0)

    def test_unknown_and_missing_formats_are_usage_errors(self):
        for arguments in [("--to", "perfeto"), ()]:
            result = self.attune("export", self.recording, *arguments)
            self.assertEqual(result.returncode, 2)
            self.assertIn(b"perfetto", result.stderr)

    def read(self, *arguments):
        result = self.run_program("/usr/bin/python3", os.path.join(TOOLS, "attune_reader.py"), self.recording, *arguments)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        return result.stdout.decode()

    def test_python_reads_what_sql_reads(self):
        for table in ["elements", "series", "processes"]:
            ids = {json.loads(line)["id"] for line in self.read(table).splitlines()}
            self.assertEqual(len(ids), self.count(table), table)
        streams = {(row["stream"], row["column"]): row["series"] for row in map(json.loads, self.read("streams").splitlines())}
        sums = {}
        for row in map(json.loads, self.read("samples").splitlines()):
            for name, value in row.items():
                if name[0] == "c" and value is not None:
                    series = streams[row["stream"], int(name[1:])]
                    sums[series] = sums.get(series, 0) + value
        rows = self.query(self.recording, "select series, sum(value) as total from samples where value is not null group by series")
        self.assertEqual(sums, {row["series"]: row["total"] for row in rows})

    def test_python_passes_over_damage(self):
        size = os.path.getsize(self.recording)
        before = sum(int(line.split()[2]) for line in self.read().splitlines()[1:])
        with open(self.recording, "r+b") as file:
            file.seek(size // 2)
            byte = file.read(1)
            file.seek(size // 2)
            file.write(bytes([byte[0] ^ 1]))
        after = sum(int(line.split()[2]) for line in self.read().splitlines()[1:])
        self.assertLess(after, before)
        self.assertGreater(after, 0)


if __name__ == "__main__":
    main()
