"""MPI in what other programs read: an OTF2 archive and a Perfetto trace have the calls and messages of the recording."""

import collections
import json
import os
import re
import shutil
import subprocess
import unittest

from attune_e2e import BUILD, E2E, main, needs

IMPLEMENTATIONS = {"openmpi": ["mpirun.openmpi", "--oversubscribe"], "mpich": ["mpirun.mpich"]}
RANKS, ROUNDS = 4, 20


def number(text):
    """A field of 64 bits as protoc shows it."""
    return int(text, 16) if text.startswith("0x") else int(text)


class MpiExports(E2E):
    def record(self, implementation):
        program = os.path.join(BUILD, "tests", "e2e", "mpi_mix_" + implementation)
        mpirun = IMPLEMENTATIONS[implementation]
        if shutil.which(mpirun[0]) is None or not os.path.exists(program):
            self.skipTest(f"not installed: {mpirun[0]} and its compiler")
        self.env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        result = self.attune("run", "-q", "-f", "-o", "r.attune", "--", *mpirun, "-n", str(RANKS), program, str(ROUNDS))
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        self.sent, self.parts = (int(word) for word in result.stdout.split())
        counts = self.query("r.attune", "select kind, count(*) as n from messages group by 1 union all select 'parts', count(*) from collectives")
        self.assertEqual({row["kind"]: row["n"] for row in counts},
                         {"sent": self.sent, "received": self.sent, "parts": self.parts}, "not even the recording has them all")

    def function_counts(self, table):
        return {row["function"]: row["n"] for row in self.query("r.attune", f"select function, count(*) as n from {table} group by 1")}

    def check_otf2(self):
        exported = self.attune("export", "r.attune", "--to", "otf2", "-o", "job.otf2", "--force")
        self.assertEqual(exported.returncode, 0, exported.stderr.decode())
        self.assertIn(f"{2 * self.sent} messages sent or received, {self.parts} parts", exported.stderr.decode())
        printed = self.run_program("otf2-print", "job.otf2/traces.otf2")
        self.assertEqual((printed.returncode, printed.stderr), (0, b""))
        lines = [line for line in printed.stdout.decode().splitlines() if line[:1].isupper()]
        records = collections.Counter(line.split()[0] for line in lines)
        self.assertEqual(records["MPI_SEND"] + records["MPI_ISEND"], self.sent)
        self.assertEqual(records["MPI_RECV"] + records["MPI_IRECV"], self.sent)
        self.assertEqual((records["MPI_ISEND_COMPLETE"], records["MPI_IRECV_REQUEST"]), (records["MPI_ISEND"], records["MPI_IRECV"]))
        self.assertEqual(records["MPI_COLLECTIVE_END"] + records["NON_BLOCKING_COLLECTIVE_COMPLETE"], self.parts)
        self.assertEqual(records["MPI_COLLECTIVE_BEGIN"], records["MPI_COLLECTIVE_END"])
        self.assertEqual(records["ENTER"], records["LEAVE"])
        # Every call that began a message or took part in a collective operation, once.
        entered = collections.Counter(re.findall(r'^ENTER .*Region: "(MPI_\w+)"', printed.stdout.decode(), re.M))
        begun = collections.Counter(self.function_counts("messages"))
        begun["MPI_Sendrecv"] //= 2
        begun.update(self.function_counts("collectives"))
        self.assertEqual({name: entered[name] for name in begun}, dict(begun))
        self.assertEqual(entered["MPI_Waitall"], RANKS * ROUNDS)
        self.check_peers(lines)
        self.check_order(lines)

    def check_peers(self, lines):
        """Who sent how much to whom is the same on either side, and in the recording."""
        sent, received = collections.Counter(), collections.Counter()
        for line in lines:
            found = re.search(r"^MPI_(I?SEND|I?RECV) +(\d+) .*(?:Receiver|Sender): \d+ \(.*?<(\d+)>\), Communicator: .*, Tag: (\d+), Length: (\d+)", line)
            if not found:
                continue
            kind, own, other, tag, length = found.groups()
            (sent if "SEND" in kind else received)[(own, other, tag, length) if "SEND" in kind else (other, own, tag, length)] += 1
        self.assertEqual(sum(sent.values()), self.sent)
        self.assertEqual(sent, received)
        rows = self.query("r.attune", "select m.thread as own, (select min(thread) from messages o where o.rank = m.peer) as other, tag, bytes, count(*) as n "
                                      "from messages m where kind = 'sent' group by 1, 2, 3, 4")
        self.assertEqual({(str(row["own"]), str(row["other"]), str(row["tag"]), str(row["bytes"])): row["n"] for row in rows}, dict(sent))

    def check_order(self, lines):
        """The roots of MPI_Bcast are the last rank; each location's times go forwards and its calls lie in each other."""
        roots = re.findall(r"Operation: BCAST, Communicator: \"MPI_COMM_WORLD\".*?Root: (\d+)", "\n".join(lines))
        self.assertEqual(set(roots), {str(RANKS - 1)})
        open_regions, times = collections.defaultdict(list), {}
        for line in lines:
            found = re.match(r"([A-Z_]+) +(\d+) +(\d+) ", line)
            if not found:
                continue
            kind, location, t_ns = found.group(1), found.group(2), int(found.group(3))
            self.assertGreaterEqual(t_ns, times.get(location, 0), line)
            times[location] = t_ns
            if kind == "ENTER":
                open_regions[location].append(line.split("Region:")[1])
            elif kind == "LEAVE":
                self.assertEqual(open_regions[location].pop(), line.split("Region:")[1])
        self.assertFalse(any(open_regions.values()))

    def check_perfetto(self):
        trace = self.path("job.perfetto-trace")
        exported = self.attune("export", "r.attune", "--to", "perfetto", "-o", trace, "--force")
        self.assertEqual(exported.returncode, 0, exported.stderr.decode())
        with open(trace, "rb") as file:
            decoded = subprocess.run(["protoc", "--decode_raw"], stdin=file, capture_output=True, check=True).stdout.decode()
        begins, ends, slices = {}, {}, collections.Counter()
        for packet in re.split(r"^1 \{$", decoded, flags=re.M)[1:]:
            event = re.search(r"^  11 \{\n(.*?)^  \}", packet, re.M | re.S)
            if not event:
                continue
            name = re.search(r'^    23: "(.*)"', event.group(1), re.M)
            kind = re.search(r"^    9: (\d)", event.group(1), re.M).group(1)
            t_ns = int(re.search(r"^  8: (\d+)", packet, re.M).group(1))
            if kind == "1" and name and name.group(1).startswith("MPI_"):
                slices[name.group(1)] += 1
            for field, flows in (("47", begins), ("48", ends)):
                flow = re.search(rf"^    {field}: (\w+)", event.group(1), re.M)
                if flow:
                    self.assertNotIn(number(flow.group(1)), flows)
                    flows[number(flow.group(1))] = t_ns
        self.assertEqual(len(begins), self.sent, "an arrow for each message")
        self.assertEqual(set(begins), set(ends))
        self.assertTrue(all(ends[flow] >= t_ns for flow, t_ns in begins.items()), "an arrow goes back")
        self.assertEqual(slices["MPI_Waitall"], RANKS * ROUNDS)
        self.assertEqual(slices["MPI_Sendrecv"], RANKS * ROUNDS)
        self.assertEqual(slices["MPI_Bcast"], RANKS * ROUNDS)
        self.assertIn("rank 0: ", decoded)

    def placed(self, places):
        """Of a job whose ranks send each other much two and two, on a machine that looks like one with two NUMA nodes: bytes times distance, the finding."""
        program = os.path.join(BUILD, "tests", "e2e", "mpi_pairs_openmpi")
        if not os.path.exists(program):
            self.skipTest("not installed: mpicc.openmpi")
        env = dict(self.env, HWLOC_SYNTHETIC="node:2 core:1 pu:1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        # What starts the ranks shall see the machine as it is.
        result = self.attune("run", "-q", "-f", "-o", "r.attune", "--", "env", "-u", "HWLOC_SYNTHETIC", "mpirun.openmpi", "--oversubscribe", "--bind-to", "none",
                             "-n", "4", program, ",".join(map(str, places)), env=env)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        report = json.loads(self.attune("report", "r.attune", "--json").stdout)
        pairs = report["messages"]["pairs"]
        self.assertEqual(sum(pair["count"] for pair in pairs), 4 * 200)
        return sum(pair["bytes"] * pair["distance"] for pair in pairs), [row for row in report["findings"] if row["class"] == "rank-placement"]

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "one CPU")
    @needs("mpirun.openmpi")
    def test_a_better_placement_saves_what_was_predicted(self):
        before, findings = self.placed([0, 1, 0, 1])
        self.assertEqual(len(findings), 1, "ranks that are far apart")
        figures = findings[0]["figures"]
        self.assertEqual(figures["bytes_by_distance"], before)
        text = self.attune("export", "r.attune", "--to", "rankfile").stdout.decode()
        places = [int(cpu) for cpu in re.findall(r"^rank \d+=\S+ slot=(\d+)$", text, re.M)]
        self.assertEqual(len(places), 4, text)
        self.assertIn(f"-bind-to user:{','.join(map(str, places))} -n 4", text)
        self.assertEqual(places[0], places[1])
        self.assertEqual(places[2], places[3])
        after, findings = self.placed(places)
        self.assertEqual(findings, [])
        self.assertEqual(after, figures["bytes_by_distance_then"])
        self.assertLess(after, 0.5 * before)
        kept = self.attune("export", "r.attune", "--to", "rankfile").stdout.decode()
        self.assertIn("no better placement", kept)

    @needs("otf2-print", "protoc")
    def test_open_mpi(self):
        self.record("openmpi")
        self.check_otf2()
        self.check_perfetto()

    @needs("otf2-print", "protoc")
    def test_mpich(self):
        self.record("mpich")
        self.check_otf2()
        self.check_perfetto()


if __name__ == "__main__":
    main()
