"""attune info: its document is what docs/info.schema.json says, also of machines that are not this one."""

import json
import os
import subprocess
import sys

from attune_e2e import E2E, main

SOURCE = os.environ["ATTUNE_SOURCE"]
TYPES = {"string": str, "boolean": bool, "array": list, "object": dict, "integer": int, "number": (int, float), "null": type(None)}


def is_a(value, kind):
    return isinstance(value, TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def problems(value, schema, root, where="document"):
    """What of the value is not as the schema says: the part of JSON Schema that ours uses."""
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where}: {value!r} is none of {schema['enum']}"
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(is_a(value, kind) for kind in kinds):
        yield f"{where}: {value!r} is no {' or '.join(kinds)}"
        return
    if isinstance(value, list):
        for i, item in enumerate(value):
            yield from problems(item, schema.get("items", {}), root, f"{where}[{i}]")
    if isinstance(value, dict):
        yield from (f"{where}: {key} is missing" for key in schema.get("required", []) if key not in value)
        for key, item in value.items():
            if key in schema.get("properties", {}):
                yield from problems(item, schema["properties"][key], root, f"{where}.{key}")
            elif schema.get("additionalProperties") is False:
                yield f"{where}: {key} is not in the schema"


class Info(E2E):
    def setUp(self):
        super().setUp()
        with open(os.path.join(SOURCE, "docs/info.schema.json"), encoding="utf-8") as f:
            self.schema = json.load(f)

    def info(self, *arguments, **environment):
        result = self.attune("info", "--json", *arguments, env=dict(self.env, **environment))
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        self.assertEqual(result.stderr, b"", "progress is for terminals")
        document = json.loads(result.stdout)
        self.assertEqual(list(problems(document, self.schema, self.schema)), [])
        return document

    def generate(self, host):
        folder = self.path(host)
        subprocess.run([sys.executable, os.path.join(SOURCE, "tests/hosts/generate.py"), host, folder], check=True)
        return folder

    def test_the_document_is_as_the_schema_says(self):
        document = self.info()
        self.assertIn("latency", document)
        self.assertEqual({clock["name"] for clock in document["clocks"]["clocks"]} >= {"time", "gettimeofday", "CLOCK_MONOTONIC", "rdtsc"}, True)
        self.assertEqual(document["topology"]["machine"]["cpus"], document["cpus_online"])

    def test_the_schema_refuses_what_it_does_not_know(self):
        document = self.info("--measure", "none")
        document["topology"]["machine"]["kind"] = "cluster"
        document["capabilities"]["flags"] = "fpu"
        document["surprise"] = 1
        del document["host"]
        found = "\n".join(problems(document, self.schema, self.schema))
        for part in ("cluster", "flags", "surprise", "host is missing"):
            self.assertIn(part, found)

    def test_only_what_is_asked_for_is_measured(self):
        self.assertNotIn("clocks", self.info("--measure", "latency"))
        self.assertNotIn("latency", self.info("--measure", "clocks"))
        self.assertFalse({"latency", "clocks"} & set(self.info("--measure", "none")))
        refused = self.attune("info", "--measure", "latancy")
        self.assertEqual(refused.returncode, 2)
        self.assertIn(b"did you mean latency", refused.stderr)

    def test_one_cpu_alone_is_said(self):
        cpu = min(os.sched_getaffinity(0))
        result = self.run_program("taskset", "-c", str(cpu), os.environ["ATTUNE_BIN"], "info", "--json", "--measure", "latency")
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        document = json.loads(result.stdout)
        self.assertEqual(document["latency"]["pairs"], [])
        self.assertTrue(any("needs two CPUs" in note for note in document["latency"]["notes"]))

    def test_another_machine_is_drawn_but_not_measured(self):
        root = self.generate("six-boards")
        document = self.info(HWLOC_FSROOT=root)
        self.assertEqual([board["name"] for board in document["topology"]["machine"]["children"]], [f"board{i}" for i in range(6)])
        self.assertIn("not this machine's", document["not_measured"])
        self.assertNotIn("latency", document)
        text = self.attune("info", env=dict(self.env, HWLOC_FSROOT=root, LC_ALL="C.UTF-8")).stdout.decode()
        self.assertIn("6 boards, 36 packages, 36 nodes, 144 cores, 144 CPUs", text)
        self.assertIn("┌─", text)
        plain = self.attune("info", env=dict(self.env, HWLOC_FSROOT=root, LC_ALL="C")).stdout.decode()
        self.assertIn("+- board0 to board5: 6 alike", plain)
        self.assertTrue(plain.isascii(), [line for line in plain.splitlines() if not line.isascii()])

    def test_a_recording_holds_the_machine(self):
        recording = self.path("machine.attune")
        result = self.attune("run", "-o", recording, "--", "true")
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        topology = json.loads(self.query(recording, "select value from info where key = 'topology'")[0]["value"])
        found = list(problems(topology, {"$ref": "#/$defs/topology"}, self.schema))
        self.assertEqual(found, [])
        above = "select c.name as cpu, p.kind as above from elements c join elements p on c.parent = p.id where c.kind = 'cpu'"
        rows = self.query(recording, above)
        self.assertTrue(rows)
        self.assertEqual({row["above"] for row in rows}, {"core"})


if __name__ == "__main__":
    main()
