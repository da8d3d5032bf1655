"""On a machine with two NUMA nodes, which is emulated: memory that lies on the other one, and who put it there."""

import json
import os
import shutil
import subprocess
import unittest

from attune_e2e import main

SOURCE = os.environ["ATTUNE_SOURCE"]
BUILD = os.environ["ATTUNE_BUILD"]
PROGRAM = os.path.join("build", os.path.basename(BUILD), "tests", "truth", "first_touch")


def planted_line():
    with open(os.path.join(SOURCE, "tests", "truth", "first_touch.c"), encoding="utf-8") as f:
        return next(number for number, text in enumerate(f, 1) if text.rstrip().endswith("// the planted line"))


@unittest.skipIf(any(shutil.which(tool) is None for tool in ("qemu-system-x86_64", "busybox", "cpio")),
                 "no qemu-system-x86_64, busybox, cpio")
class Numa(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        def observed(name, *cpus):
            return [f"attune run -q -o {name}.attune -- {PROGRAM} {' '.join(cpus)}", f"attune report {name}.attune --json"]
        result = subprocess.run([os.path.join(SOURCE, "tools", "numa_machine.sh"), BUILD,
                                 *observed("remote", "0", "1"), *observed("local", "1", "1")],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
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


if __name__ == "__main__":
    main()
