"""On a machine with two NUMA nodes, which is emulated: memory that lies on the other one, and who put it there; knobs that this machine may
lack; workers of dataflow graphs."""

import json
import os
import subprocess
import unittest

from attune_e2e import main

SOURCE = os.environ["ATTUNE_SOURCE"]
BUILD = os.environ["ATTUNE_BUILD"]
UNAVAILABLE = 3  # exit code of tools/machine.sh
PROGRAM = os.path.join("build", os.path.basename(BUILD), "tests", "truth", "first_touch")


# A process with 20 MB of its own, on one node and in a control group of version 2; a knob that is set, seen by the kernel, and restored.
HOLDER = """mkdir -p /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup; echo +cpu +memory > /sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/shop; taskset 1 sh -c 'x=$(yes | head -c 20000000); sleep 1000' & echo $! > /tmp/pid; echo $! > /sys/fs/cgroup/shop/cgroup.procs; sleep 8"""


def turned(knob, value, seen, *options):
    """@param seen shows what the kernel has"""
    return (f"P=$(cat /tmp/pid); attune set {knob}={value} -p $P {' '.join(options)}; echo \"== $({seen})\"; attune get {knob} -p $P; "
            f"attune restore; echo \"== $({seen})\"")


MACHINE = ("--allow", "machine")
TURNED = {
    "cgroup.cpu-weight": ("300", "cat /sys/fs/cgroup/shop/cpu.weight", *MACHINE),
    "cgroup.cpu-max": ("'50000 100000'", "cat /sys/fs/cgroup/shop/cpu.max", *MACHINE),
    "cgroup.memory-high": ("67108864", "cat /sys/fs/cgroup/shop/memory.high", *MACHINE),
    "machine.numa-balancing": ("1", "cat /proc/sys/kernel/numa_balancing", *MACHINE),
    "machine.swappiness": ("10", "cat /proc/sys/vm/swappiness", *MACHINE),
    "machine.dirty-ratio": ("30", "cat /proc/sys/vm/dirty_ratio", *MACHINE),
    "machine.huge-pages": ("never", "sed 's/.*\\[//; s/\\].*//' /sys/kernel/mm/transparent_hugepage/enabled", *MACHINE),
    "machine.huge-pages-defrag": ("never", "sed 's/.*\\[//; s/\\].*//' /sys/kernel/mm/transparent_hugepage/defrag", *MACHINE),
    "memory.nodes": ("1", "attune get memory.nodes -p $P | tail -n 1 | sed 's/.* //'"),
}
KNOBS = [HOLDER, *(turned(knob, *how) for knob, how in TURNED.items())]
# The threads of a dataflow graph, and the CPUs that each may use.
GRAPH = """sleep 4 | steered_graph 2 > /dev/null & sleep 2
for t in /proc/$(pidof steered_graph)/task/*; do echo $(cat $t/comm; sed -n 's/^Cpus_allowed_list://p' $t/status); done; wait"""


def planted_line():
    with open(os.path.join(SOURCE, "tests", "truth", "first_touch.c"), encoding="utf-8") as f:
        return next(number for number, text in enumerate(f, 1) if text.rstrip().endswith("// the planted line"))


class Numa(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        def observed(name, *cpus):
            return [f"attune run -q -o {name}.attune -- {PROGRAM} {' '.join(cpus)}", f"attune report {name}.attune --json"]
        result = subprocess.run([os.path.join(SOURCE, "tools", "machine.sh"), "--build", BUILD,
                                 "--add", os.path.join(BUILD, "bin", "steered_graph"), "amd64",
                                 *observed("remote", "0", "1"), *observed("local", "1", "1"), *KNOBS, GRAPH],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if result.returncode == UNAVAILABLE:
            raise unittest.SkipTest(result.stderr.decode().strip())
        assert result.returncode == 0, result.stderr.decode()
        parts = [part.rsplit("\n>>>> ", 1)[0] for part in result.stdout.decode().split("\n>>>> ")]
        cls.parts = [part.split("\n", 1)[-1] if part[:1].isdigit() else part for part in parts]

    def read(self, number):
        """What a program printed of itself, and what was found."""
        truth = int(self.parts[number].split("lost_ns ")[1].split()[0]) * 1e-9
        text = self.parts[number + 1]
        return truth, json.loads(text[text.index("{"):])

    def test_the_cause_is_who_touched_it_first(self):
        truth, report = self.read(0)
        self.assertTrue(report["findings"], report)
        finding = report["findings"][0]
        self.assertEqual(finding["class"], "remote-memory", report["findings"])
        self.assertEqual((os.path.basename(finding["site"]["file"]), finding["site"]["line"]),
                         ("first_touch.c", planted_line()), finding)
        self.assertEqual([place["site"]["function"] for place in finding["places"]], ["use"])
        self.assertNotEqual(finding["caused_by"][0]["tid"], finding["threads"][0]["tid"])
        print(f"remote-memory: found {finding['seconds']:.4f} s, true {truth:.4f} s, "
              f"{100 * (finding['seconds'] / truth - 1):+.2f} %")
        self.assertAlmostEqual(finding["seconds"], truth, delta=0.05 * truth)

    def test_memory_of_the_own_node_is_no_finding(self):
        _, report = self.read(2)
        self.assertEqual(report["findings"], [])

    def test_knobs_are_set_seen_by_the_kernel_and_restored(self):
        for text, (knob, (value, *_)) in zip(self.parts[5:], TURNED.items()):
            with self.subTest(knob):
                during, after = [line[3:] for line in text.split("\n") if line.startswith("== ")]
                self.assertEqual(during, value.strip("'"), text)
                if knob != "memory.nodes":  # where each page was before is not known
                    self.assertNotEqual(after, during, text)
                self.assertIn("attune restore", text)

    def test_workers_of_a_graph_are_bound_to_nodes(self):
        text = self.parts[5 + len(TURNED)]
        threads = [line.split() for line in text.split("\n") if line.startswith("flow-")]
        self.assertEqual(threads, [["flow-0", "0"], ["flow-1", "1"]], text)


if __name__ == "__main__":
    main()
