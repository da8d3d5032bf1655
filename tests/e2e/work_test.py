#!/usr/bin/env python3
"""What a dataflow graph tells of its kernels: in report, JSON and on the page, without being built for it."""

import json
import os
import unittest

from attune_e2e import BUILD, E2E, main, where_cpus_are_free

KMEANS = os.path.join(BUILD, "examples", "p2g_kmeans")
TBB_GRAPH = os.path.join(BUILD, "examples", "example_tbb_graph")
POINTS, CENTRES, ITERATIONS = 2000, 100, 10


class Work(E2E):
    def ok(self, *arguments):
        result = self.attune(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.decode()

    def test_a_graph_tells_what_its_kernels_cost(self):
        recording = self.path("kmeans.attune")
        self.ok("run", "-q", "-o", recording, "--", KMEANS, str(POINTS), str(CENTRES), str(ITERATIONS), "2")
        work = json.loads(self.ok("report", "--json", recording))["work"]
        kernels = {row["kernel"]: row for row in work["kernels"]}
        self.assertEqual({name: row["instances"] for name, row in kernels.items()},
                         {"init": 1, "assign": POINTS * CENTRES * ITERATIONS, "refine": CENTRES * ITERATIONS, "print": ITERATIONS + 1})
        self.assertEqual(kernels["refine"]["ages"], ITERATIONS)
        self.assertGreater(kernels["refine"]["body_ns"], kernels["refine"]["dispatch_ns"])
        data = {(row["kernel"], row["field"], row["stores"]): row["bytes"] for row in work["data"]}
        self.assertEqual(data["assign", "distances", True], 4 * POINTS * CENTRES * ITERATIONS)
        self.assertEqual(data["refine", "distances", False], 4 * POINTS * CENTRES * CENTRES * ITERATIONS)
        self.assertEqual(data["init", "points", True], 8 * POINTS)
        self.assertEqual(work["threads"], 2)
        ages = {(row["kernel"], row["field"], row["stores"]): (row["age"], row["fixed"], row["streams"]) for row in work["data"]}
        self.assertEqual(ages["refine", "centres", True], (1, False, False))
        self.assertEqual(ages["init", "points", True], (0, True, False))
        self.assertGreater(work["forecast"]["modelled_ns"], 0)
        text = self.ok("report", recording, "work")
        self.assertIn("of run on 2 threads", text)
        self.assertIn("distances -> refine", text)
        self.assertNotIn("work/", self.ok("report", recording, "counters"))

    def test_a_worker_without_work_is_idle(self):
        recording = self.path("idle.attune")
        self.ok("run", "-q", "-o", recording, "--", KMEANS, "20000", "20", "20", "4")
        waits = json.loads(self.ok("query", "--json", recording, "select kind, sum(wait_ns) as ns from sync where kind != 'wake' group by kind"))
        kinds = {row["kind"]: row["ns"] for row in waits}
        self.assertGreater(kinds["no work"], 0)
        self.assertNotIn("futex", kinds)
        findings = json.loads(self.ok("report", "--json", recording))["findings"]
        self.assertEqual([row["class"] for row in findings if "FutexWait" in json.dumps(row) or "workers 0x" in json.dumps(row)], [])

    def test_another_runtime_tells_its_own(self):
        recording = self.path("told.attune")
        self.ok("run", "-q", "-o", recording, "--", os.path.join(BUILD, "bin", "told_work"))
        work = json.loads(self.ok("report", "--json", recording))["work"]
        self.assertEqual([(row["kernel"], row["instances"], row["dispatch_ns"], row["body_ns"]) for row in work["kernels"]],
                         [("encode", 2000, 20_000, 3_000_000), ("read", 1000, 10_000, 100_000)])
        self.assertEqual([(row["kernel"], row["field"], row["stores"], row["bytes"]) for row in work["data"]],
                         [("encode", "blocks", False, 64_000), ("read", "blocks", True, 64_000)])
        self.assertEqual({row["kernel"]: row["at_once"] for row in work["kernels"]}, {"encode": 0, "read": 1})
        forecast = work["forecast"]
        self.assertTrue(forecast["fits"], forecast)
        self.assertEqual(forecast["halved"][0]["kernel"], "encode")

    @where_cpus_are_free
    @unittest.skipUnless(os.path.exists(TBB_GRAPH), "no oneTBB (apt install libtbb-dev)")
    def test_a_flow_graph_of_onetbb_tells_what_bounds_it(self):
        recording = self.path("tbb.attune")
        self.ok("run", "-q", "-o", recording, "--", TBB_GRAPH, "3000")
        work = json.loads(self.ok("report", "--json", recording))["work"]
        self.assertEqual({row["kernel"]: row["instances"] for row in work["kernels"]}, {"make": 3001, "check": 3000, "count": 3000})
        self.assertEqual(work["forecast"]["halved"][0]["kernel"], "check")


if __name__ == "__main__":
    main()
