"""What ranks of an MPI job wait for each other is what attune finds: the class, the place, the time. In balance nothing.

Each rank notes when it comes to its calls, in the very run that attune observes. With each implementation of MPI that is installed.
"""

import json
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree

SOURCE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(SOURCE, os.pardir, "e2e"))
from attune_e2e import BUILD, E2E, each_where_cpus_are_free, main, needs, without_others  # noqa: E402

PROGRAMS = os.path.join(BUILD, "tests", "truth")
SCHEMA = os.path.join(SOURCE, os.pardir, os.pardir, "docs", "schema", "task-graph.xsd")
IMPLEMENTATIONS = {
    "openmpi": ["mpirun.openmpi", "--oversubscribe"],
    "mpich": ["mpirun.mpich"],
}


def planted_line(mark):
    with open(os.path.join(SOURCE, "mpi_waits.c"), encoding="utf-8") as f:
        return next(number for number, text in enumerate(f, 1) if text.rstrip().endswith("// " + mark))


class Job(E2E):
    implementation = ""

    def setUp(self):
        super().setUp()
        self.program = os.path.join(PROGRAMS, "mpi_waits_" + self.implementation)
        launcher = IMPLEMENTATIONS[self.implementation][0]
        if shutil.which(launcher) is None or not os.path.exists(self.program):
            self.skipTest(f"not installed: {launcher} and its compiler")
        self.env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")

    def observe(self, kind, ranks=2, options=()):
        """Nanoseconds that the ranks waited by their own account, and the report."""
        result = self.attune("run", "-q", "-f", "-o", "r.attune", *options, "--", *IMPLEMENTATIONS[self.implementation], "-n", str(ranks),
                             self.program, kind)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        report = self.attune("report", "r.attune", "--json")
        self.assertEqual(report.returncode, 0, report.stderr.decode())
        return int(result.stdout.split()[-1]), without_others(json.loads(report.stdout))

    def check(self, expected_class, mark, kind, ranks=2):
        lost_ns, report = self.observe(kind, ranks)
        self.assertTrue(report["findings"], report["messages"])
        finding = report["findings"][0]
        self.assertEqual(finding["class"], expected_class, report["findings"])
        site = finding["site"]
        self.assertEqual((os.path.basename(site["file"]), site["line"]), ("mpi_waits.c", planted_line(mark)), finding)
        truth = lost_ns * 1e-9
        print(f"{self.implementation} {kind}: found {finding['seconds']:.4f} s, true {truth:.4f} s, "
              f"{100 * (finding['seconds'] / truth - 1):+.2f} %")
        self.assertAlmostEqual(finding["seconds"], truth, delta=0.05 * truth)
        self.assertEqual(report["messages"]["unmatched_sent"] + report["messages"]["unmatched_received"], 0)
        self.assertTrue(finding["threads"] and finding["evidence"] and finding["advice"], finding)
        return finding


class Cases:
    def test_late_sender(self):
        finding = self.check("late-sender", "late sender", "sender")
        self.assertEqual([rank["name"] for rank in finding["caused_by"]], ["rank 0"])
        self.assertEqual([rank["name"] for rank in finding["threads"]], ["rank 1"])
        self.assertEqual(finding["waiters"][0]["site"]["function"], "receive_from")

    def test_what_made_a_sender_late(self):
        finding = self.check("late-sender", "late sender", "busy")
        report = json.loads(self.attune("report", "r.attune", "--json").stdout)
        if any(what.startswith("CPU samples:") for what in report["unseen"]):
            self.skipTest("no CPU samples here")
        places = {os.path.basename(place["site"]["file"] or "") for place in finding["places"] if place["site"]}
        self.assertTrue(places & {"mpi_waits.c"}, finding["places"])
        self.assertGreater(finding["figures"]["busy_seconds"], 0.5 * finding["seconds"])

    def test_late_receiver(self):
        finding = self.check("late-receiver", "late receiver", "receiver")
        self.assertEqual([rank["name"] for rank in finding["caused_by"]], ["rank 1"])

    def test_late_to_a_reduction(self):
        finding = self.check("wait-at-collective", "late to the reduction", "reduce")
        self.assertEqual(finding["object"]["name"], "MPI_Allreduce")
        self.assertEqual(finding["caused_by"][0]["name"], "rank 1")

    def test_late_to_a_barrier(self):
        finding = self.check("wait-at-collective", "late to the barrier", "barrier")
        self.assertEqual(finding["object"]["name"], "MPI_Barrier")

    def test_several_at_once(self):
        self.check("late-sender", "the last of both", "waitall")

    def test_waiting_is_put_down_to_where_it_began(self):
        finding = self.check("late-sender", "late sender", "relay", ranks=3)
        self.assertEqual(finding["caused_by"][0]["name"], "rank 0")
        self.assertEqual(sorted(rank["name"] for rank in finding["threads"]), ["rank 1", "rank 2"])
        self.assertGreater(finding["figures"]["indirect_seconds"], 0.4 * finding["seconds"])

    def test_a_balanced_exchange_has_no_finding(self):
        _, report = self.observe("stencil")
        self.assertEqual(report["findings"], [])
        pairs = {(pair["count"], pair["bytes"]) for pair in report["messages"]["pairs"]}
        self.assertEqual(pairs, {(40, 40 * 8192 * 8)})

    @needs("xmllint")
    def test_the_task_graph(self):
        folder = self.path("graphs")
        _, report = self.observe("sender", options=["--xml", folder, "--every", "100ms"])
        for kind in ("xml", "graphml", "json", "csv"):
            exported = self.attune("export", "r.attune", "--to", "task-graph-" + kind, "-o", self.path("g." + kind))
            self.assertEqual(exported.returncode, 0, exported.stderr.decode())
        written = sorted(name for name in os.listdir(folder) if name.startswith("task-"))
        self.assertGreater(len(written), 2)
        for path in [self.path("g.xml")] + [os.path.join(folder, name) for name in written]:
            result = subprocess.run(["xmllint", "--noout", "--schema", SCHEMA, path], capture_output=True, check=False)
            self.assertEqual(result.returncode, 0, result.stderr.decode())
        for path in (self.path("g.xml"), os.path.join(folder, written[-1])):
            graph = xml.etree.ElementTree.parse(path).getroot()
            ranks = {rank.get("id"): rank.get("name") for rank in graph.iter("rank")}
            self.assertEqual(sorted(ranks.values()), ["rank 0", "rank 1"])
            pair = next(graph.iter("pair"))
            self.assertEqual((ranks[pair.get("source")], ranks[pair.get("destination")], pair.get("count"), pair.get("bytes")),
                             ("rank 0", "rank 1", "40", "160"))
            self.assertEqual(pair.find("sender").get("count"), "40")
            self.assertGreater(int(pair.find("receiver").get("waited_ns")), 300_000_000)
            self.assertGreater(float(pair.find("receiver").get("cycles_per_word")), 0)
        with open(self.path("g.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["pairs"][0]["bytes"], 160)
        with open(self.path("g.csv"), encoding="utf-8") as file:
            self.assertEqual(file.read().split("\n")[1].rstrip("\r"), "rank 0,0,160")
        text = self.attune("report", "r.attune", "--full").stdout.decode()
        self.assertIn("rank 0 to rank 1", text)
        self.assertIn("MPI_Gather, MPI_COMM_WORLD", text)
        self.assertEqual(len(report["messages"]["ranks"]), 2)
        rows = self.query("r.attune", "select kind, function, count(*) as n, sum(bytes) as bytes from messages group by 1, 2 order by 1")
        self.assertEqual([(row["kind"], row["function"], row["n"], row["bytes"]) for row in rows],
                         [("received", "MPI_Recv", 40, 160), ("sent", "MPI_Send", 40, 160)])


def cases_of(implementation):
    tests = {name: test for name, test in vars(Cases).items() if name.startswith("test_")}
    return each_where_cpus_are_free(type(implementation, (Job,), {**tests, "implementation": implementation}))


OpenMpi = cases_of("openmpi")
Mpich = cases_of("mpich")


if __name__ == "__main__":
    main()
