"""Recordings of several hosts become one: hosts in network namespaces, whose clocks differ by what is known here."""

import json
import os
import re
import shutil
import subprocess
import unittest

from attune_e2e import ATTUNE, BUILD, E2E, main, needs

HOSTS, RANKS, ROUNDS = 4, 8, 12
CLOCK_STEP_S = 100_000
TABLES = ["messages", "collectives", "events", "samples", "sync", "sites", "processes", "cpu_samples", "stacks", "accesses", "series", "labels"]

# Every message by both of its sides, as MPI matches them.
PAIRS = """
with s as (select *, row_number() over (partition by communicator, rank, peer, tag order by post_ns) as n from messages where kind = 'sent'),
     r as (select *, row_number() over (partition by communicator, peer, rank, tag order by post_ns) as n from messages where kind = 'received')
select count(*) as n, sum(r.t_ns < s.post_ns) as backward, sum(rs.host <> rr.host) as between_hosts
from s join r on r.communicator = s.communicator and r.rank = s.peer and r.peer = s.rank and r.tag = s.tag and r.n = s.n
join elements rs on rs.id = s.rank join elements rr on rr.id = r.rank"""

# Of every operation that all wait for, how long the last one came after the first had left.
EARLY = """
select count(*) as n, sum(early) as early from (select max(post_ns) > min(t_ns) as early from collectives
where function in ('MPI_Ibarrier', 'MPI_Allreduce') group by communicator, sequence)"""

ENTER = """#!/bin/sh
# ENTER HOST COMMAND...: a host of its own: network, name, clock, and folders of sessions.
host=$1; shift
export XDG_RUNTIME_DIR={folder}/run-$host
mkdir -p -m 700 "$XDG_RUNTIME_DIR"
exec ip netns exec {prefix}-$host unshare --uts --time --monotonic $(($host * {step})) --fork --kill-child \\
  sh -c 'hostname node"$1"; shift; exec "$@"' sh $host "$@"
"""
AGENT = """#!/bin/sh
# What ssh is to mpirun: AGENT [-x] ADDRESS COMMAND
[ "$1" = -x ] && shift
host=${{1##*.}}; shift
exec {folder}/enter $host sh -c "$*"
"""
RANK = """#!/bin/sh
exec {attune} run -q -f -o {folder}/$(hostname).attune -- {program} {rounds} 2000
"""


class Namespaces:
    """Network namespaces HOST 1, 2, ... that see each other by way of a bridge in one more."""

    def __init__(self, count):
        self.prefix = f"attune{os.getpid()}"
        self.made = []
        try:
            self.make("switch")
            self.ip("-n", f"{self.prefix}-switch", "link", "add", "bridge", "type", "bridge")
            self.ip("-n", f"{self.prefix}-switch", "link", "set", "bridge", "up")
            for host in range(1, count + 1):
                self.make(host)
                name = f"{self.prefix}-{host}"
                self.ip("-n", f"{self.prefix}-switch", "link", "add", f"port{host}", "type", "veth", "peer", "name", "eth0", "netns", name)
                self.ip("-n", f"{self.prefix}-switch", "link", "set", f"port{host}", "master", "bridge", "up")
                self.ip("-n", name, "address", "add", f"10.77.0.{host}/24", "dev", "eth0")
                self.ip("-n", name, "link", "set", "eth0", "up")
                self.ip("-n", name, "link", "set", "lo", "up")
            subprocess.run(["unshare", "--uts", "--time", "--monotonic", "5", "--fork", "true"], check=True, capture_output=True)
        except (subprocess.CalledProcessError, FileNotFoundError) as error:
            self.remove()
            said = getattr(error, "stderr", b"") or b""
            raise unittest.SkipTest(f"no network and time namespaces here: {said.decode().strip() or error}") from error

    def make(self, name):
        self.ip("netns", "add", f"{self.prefix}-{name}")
        self.made.append(name)

    @staticmethod
    def ip(*arguments):
        subprocess.run(["ip", *arguments], check=True, capture_output=True)

    def remove(self):
        for name in self.made:
            subprocess.run(["ip", "netns", "delete", f"{self.prefix}-{name}"], check=False, capture_output=True)


class Merge(E2E):
    namespaces = None

    @classmethod
    def setUpClass(cls):
        cls.namespaces = Namespaces(HOSTS)
        cls.addClassCleanup(cls.namespaces.remove)

    def record(self, implementation):
        """One recording a host: node1.attune, ..."""
        program = os.path.join(BUILD, "tests", "e2e", "mpi_mix_" + implementation)
        if shutil.which("mpirun." + implementation) is None or not os.path.exists(program):
            self.skipTest(f"not installed: mpirun.{implementation} and its compiler")
        values = {"folder": self.folder, "prefix": self.namespaces.prefix, "step": CLOCK_STEP_S, "attune": ATTUNE, "program": program, "rounds": ROUNDS}
        for name, text in (("enter", ENTER), ("agent", AGENT), ("rank", RANK)):
            self.write(name, text.format(**values), mode=0o755)
        self.env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        hosts = ",".join(f"10.77.0.{host}:{RANKS // HOSTS}" for host in range(1, HOSTS + 1))
        if implementation == "openmpi":
            mpirun = ["--oversubscribe", "--host", hosts, "--mca", "plm_rsh_agent", self.path("agent"), "--mca", "plm_rsh_no_tree_spawn", "1", "--mca", "btl",
                      "tcp,self", "--mca", "btl_tcp_if_include", "eth0", "--mca", "oob_tcp_if_include", "eth0"]
        else:
            mpirun = ["-launcher", "ssh", "-launcher-exec", self.path("agent"), "-iface", "eth0", "-hosts", hosts]
        result = self.run_program(self.path("enter"), "1", "mpirun." + implementation, *mpirun, "-n", str(RANKS), self.path("rank"))
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        self.sent, self.parts = (int(word) for word in result.stdout.split())
        self.recordings = [f"node{host}.attune" for host in range(1, HOSTS + 1)]
        for recording in self.recordings:
            self.assertTrue(os.path.exists(self.path(recording)), result.stderr.decode())

    def merge(self, *arguments):
        result = self.attune("merge", *self.recordings, "-o", "job.attune", "--json", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        return json.loads(result.stdout)

    def check_clocks(self, merged):
        """What is estimated contains what is known, at the begin and at the end."""
        self.assertEqual([host["host"] for host in merged["hosts"]], [f"node{host}" for host in range(1, HOSTS + 1)])
        self.assertEqual([host["ranks"] for host in merged["hosts"]], [RANKS // HOSTS] * HOSTS)
        self.assertEqual((merged["backward"], merged["contradiction_ns"]), (0, 0))
        for number, host in enumerate(merged["hosts"]):
            true_ns = -number * CLOCK_STEP_S * 10**9
            extent = self.query(self.recordings[number], "select min(post_ns) as first, max(t_ns) as last from messages")[0]
            drifted_ns = host["drift_ppb"] * (extent["last"] - extent["first"]) / 1e9
            print(f"{host['host']}: off by {host['offset_ns'] - true_ns} ns, bound {host['bound_ns']} ns, {host['messages']} messages")
            self.assertLessEqual(abs(host["offset_ns"] - true_ns), host["bound_ns"] + 10, host)
            self.assertLessEqual(abs(host["offset_ns"] + drifted_ns - true_ns), host["bound_ns"] + 10, host)
            if number > 0:
                self.assertEqual(host["evidence"], "messages in both directions")
                self.assertLess(host["bound_ns"], 10**9, "what the wall clocks alone would say")

    def check_rows(self):
        for table in TABLES:
            count = f"select count(*) as n from {table}"
            rows = sum(self.query(recording, count)[0]["n"] for recording in self.recordings)
            self.assertEqual(self.query("job.attune", count)[0]["n"], rows, table)
        self.assertGreater(self.query("job.attune", "select count(*) as n from samples")[0]["n"], 0)
        pairs = self.query("job.attune", PAIRS)[0]
        self.assertEqual((pairs["n"], pairs["backward"]), (self.sent, 0))
        self.assertGreater(pairs["between_hosts"], 0)
        early = self.query("job.attune", EARLY)[0]
        self.assertEqual((early["n"], early["early"]), (ROUNDS + 2 * ROUNDS, 0))
        ranks = self.query("job.attune", "select r.os_id as rank, r.host as host, p.host as process_host from elements r join elements p on p.parent = r.id "
                                         "where r.kind = 'rank' and p.kind = 'process' and p.name like '%mpi_mix%' group by r.id order by 1")
        self.assertEqual([row["rank"] for row in ranks], list(range(RANKS)))
        self.assertEqual([row["host"] for row in ranks], [f"node{1 + rank * HOSTS // RANKS}" for rank in range(RANKS)])
        self.assertTrue(all(row["host"] == row["process_host"] for row in ranks))
        self.assertEqual(len(self.query("job.attune", "select * from elements where kind = 'rank'")), RANKS)
        self.assertEqual(self.query("job.attune", "select count(*) as n from elements where name = 'MPI_COMM_WORLD'")[0]["n"], 1)
        # Every process lives while its messages are sent.
        lives = self.query("job.attune", "select count(*) as n from messages m join elements t on t.id = m.thread join processes p on p.id = t.parent "
                                         "where m.post_ns < p.start_ns or m.t_ns > p.end_ns")
        self.assertEqual(lives[0]["n"], 0)

    def check_report(self):
        result = self.attune("report", "job.attune", "--json")
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        report = json.loads(result.stdout)
        graph = report["messages"]
        self.assertEqual((graph["unmatched_sent"], graph["unmatched_received"], graph["elsewhere"], graph["incomplete_collectives"]), (0, 0, 0, 0))
        self.assertEqual(len(graph["ranks"]), RANKS)
        self.assertTrue(all(rank["life_ns"] > 0 and rank["pid"] for rank in graph["ranks"]))
        hosts = {rank["id"]: rank["host"] for rank in graph["ranks"]}
        for pair in graph["pairs"]:
            self.assertEqual(pair["apart"] == "other host", hosts[pair["source"]] != hosts[pair["destination"]], pair)
        self.assertEqual(sum(pair["count"] for pair in graph["pairs"]), self.sent)
        text = self.attune("report", "job.attune", "--full").stdout.decode()
        self.assertIn("node1, node2, node3, node4", text)
        self.assertRegex(text, r"node2 +-(100000\.0|99999\.9)\d+ s .*messages in both directions")

    def check_exports(self):
        exported = self.attune("export", "job.attune", "--to", "otf2", "-o", "job.otf2", "--force")
        self.assertIn(f"{2 * self.sent} messages sent or received, {self.parts} parts", exported.stderr.decode())
        if shutil.which("otf2-print"):
            printed = self.run_program("otf2-print", "-G", "job.otf2/traces.otf2")
            self.assertEqual((printed.returncode, printed.stderr), (0, b""))
            self.assertEqual(len(re.findall(r'^SYSTEM_TREE_NODE.*"node\d"', printed.stdout.decode(), re.M)), HOSTS)
        for kind in ("perfetto", "json", "task-graph-xml", "csv"):
            exported = self.attune("export", "job.attune", "--to", kind, "-o", self.path("job." + kind), "--force")
            self.assertEqual(exported.returncode, 0, exported.stderr.decode())

    def check_refusals(self):
        shutil.copy(self.path("node2.attune"), self.path("copy.attune"))
        self.attune("run", "-q", "-f", "-o", "none.attune", "--", "true")
        for recordings, message in [
                (["node1.attune"], "one recording is nothing to merge"),
                (["node2.attune", "copy.attune"], "node2.attune and copy.attune are both of the host node2"),
                (["node1.attune", "none.attune"], "none.attune has no rank of an MPI job"),
                (["node1.attune", "job.attune"], "job.attune is merged already"),
                (["node1.attune", "absent.attune"], "absent.attune")]:
            result = self.attune("merge", *recordings, "-o", "refused.attune")
            self.assertNotEqual(result.returncode, 0, recordings)
            self.assertIn(message, result.stderr.decode())
            self.assertFalse(os.path.exists(self.path("refused.attune")))
        again = self.attune("merge", *self.recordings, "-o", "job.attune")
        self.assertIn("--force", again.stderr.decode())
        onto = self.attune("merge", *self.recordings, "-o", "node3.attune", "--force")
        self.assertIn("-o node3.attune is one of the recordings", onto.stderr.decode())

    def check_other_job(self, implementation):
        """The same hosts, another run."""
        kept = self.path("first.attune")
        os.rename(self.path("node1.attune"), kept)
        self.record(implementation)
        result = self.attune("merge", kept, "node2.attune", "-o", "refused.attune")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("node2.attune is not of the same MPI job as", result.stderr.decode())

    @needs("ip", "unshare", "mpirun.openmpi")
    def test_open_mpi(self):
        self.record("openmpi")
        self.check_clocks(self.merge())
        self.check_rows()
        self.check_report()
        self.check_exports()
        self.check_refusals()
        self.check_other_job("openmpi")

    @needs("ip", "unshare", "mpirun.mpich")
    def test_mpich(self):
        self.record("mpich")
        self.check_clocks(self.merge())
        self.check_rows()
        self.check_report()


if __name__ == "__main__":
    main()
