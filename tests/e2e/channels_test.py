"""What processes send each other through pipes, sockets and queues is in the recording, with both sides."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

from attune_e2e import ATTUNE, main

PROGRAM = os.path.join(os.environ["ATTUNE_BUILD"], "tests", "e2e", "channels")
COUNTS = """select m.kind, m.function, c.name as channel, r.os_id as rank, p.os_id as peer, count(*) as count, sum(m.bytes) as bytes,
    count(m.tag) as tags from messages m
    join elements c on c.id = m.communicator join elements r on r.id = m.rank join elements p on p.id = m.peer
    group by 1, 2, 3, 4, 5"""
PIPELINE = """
import os, sys
if sys.argv[1] == "write":
    for _ in range(1000): os.write(1, b"x" * 100)
else:
    while os.read(0, 4096): pass
"""


def observe(folder, *command):
    recording = os.path.join(folder, "channels.attune")
    subprocess.run([ATTUNE, "run", "-q", "-f", "-s", "none", "-o", recording, "--", *command], check=True,
                   stdout=subprocess.PIPE)
    return recording


def rows(recording, query):
    output = subprocess.run([ATTUNE, "query", "--json", recording, query], check=True, capture_output=True, text=True).stdout
    return json.loads(output)


class Channels(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def check_exports(self, recording):
        """OTF2 knows messages of MPI only; where there is no tag there is none in Perfetto."""
        archive = os.path.join(self.folder.name, "channels.otf2")
        told = subprocess.run([ATTUNE, "export", recording, "--to", "otf2", "-o", archive], check=True, capture_output=True, text=True)
        self.assertIn("0 acquisitions", told.stdout + told.stderr)
        self.assertNotIn("messages sent or received", told.stdout + told.stderr)
        trace = os.path.join(self.folder.name, "channels.pftrace")
        subprocess.run([ATTUNE, "export", recording, "--to", "perfetto", "-o", trace], check=True, capture_output=True)
        with open(trace, "rb") as f:
            absent = b"\x80" * 9 + b"\x01"  # the number that stands for none
            self.assertNotIn(absent, f.read())

    def test_every_way_is_seen_from_both_sides(self):
        recording = observe(self.folder.name, PROGRAM)
        parent = rows(recording, "select pid from processes order by start_ns limit 1")[0]["pid"]
        seen = {}
        for row in rows(recording, COUNTS):
            kind, function, channel, rank, peer, count, size, tags = row.values()
            self.assertNotEqual(rank, peer)
            seen[(kind, function, channel.rstrip("0123456789").strip(), rank == parent)] = (count, size, tags)
        ways = {(kind, function): (count, size, tags) for (kind, function, channel, is_parent), (count, size, tags) in seen.items()
                if function not in ("read", "write")}
        self.assertEqual(ways, {("sent", "send"): (30, 9000, 0), ("received", "recv"): (15, 4500, 0), ("received", "recvfrom"): (15, 4500, 0),
                                ("sent", "mq_send"): (7, 700, 7), ("received", "mq_receive"): (7, 700, 7),
                                ("sent", "msgsnd"): (8, 320, 8), ("received", "msgrcv"): (8, 320, 8),
                                ("sent", "attune_channel_send"): (9, 576, 9), ("received", "attune_channel_recv"): (9, 576, 9)})
        self.check_exports(recording)
        pipe = {key[0]: value[1] for key, value in seen.items() if key[2] == "pipe"}
        self.assertEqual(pipe, {"sent": 100000, "received": 100000})
        socket = {(key[0], key[3]): value[1] for key, value in seen.items() if key[2].startswith("socket")}
        self.assertEqual(socket, {("sent", True): 10009, ("received", False): 10009, ("sent", False): 4000, ("received", True): 4000})
        self.assertIn("own words", {key[2] for key in seen})

    def test_a_pipeline_has_its_processes_as_nodes(self):
        command = f"{sys.executable} -c '{PIPELINE}' write | {sys.executable} -c '{PIPELINE}' read"
        recording = observe(self.folder.name, "sh", "-c", command)
        graph = os.path.join(self.folder.name, "graph.json")
        subprocess.run([ATTUNE, "export", recording, "--to", "task-graph-json", "-f", "-o", graph], check=True)
        with open(graph, encoding="utf-8") as file:
            graph = json.load(file)
        pairs = [(pair["count"], pair["bytes"]) for pair in graph["pairs"]]
        self.assertEqual(len(pairs), 1)
        self.assertEqual(pairs[0][1], 100000)
        self.assertTrue(all(rank["pid"] for rank in graph["ranks"]))
        self.assertEqual((graph["unmatched_sent"], graph["unmatched_received"]), (0, 0))

    def test_what_nobody_reads_is_no_message(self):
        recording = observe(self.folder.name, sys.executable, "-c", PIPELINE, "write")
        self.assertEqual(rows(recording, "select * from messages"), [])


if __name__ == "__main__":
    main()
