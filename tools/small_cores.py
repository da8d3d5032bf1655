#!/usr/bin/env python3
"""Makes some cores of a machine small: its device tree source on standard input, that of a machine with two kinds of cores on standard output. Small cores have a PMU of their own and less than half of the others' capacity.

    small_cores.py COUNT < virt.dts > small.dts        for QEMU's machine `virt` with gic-version=3
"""

import re
import sys

SMALL, BIG = (0x9000, "a53", 446), (0x9001, "a72", 1024)  # phandle, kind, capacity
# The interrupts of PMUs, the same number on each core; the fourth cell says on which cores.
PMU_INTERRUPT = "0x01 0x07 0x04"


def without_node(text, name):
    """@param text nodes are indented by tabs"""
    return re.sub(rf"^(\t*){name}[^\n]* {{\n.*?^\1}};\n", "", text, flags=re.MULTILINE | re.DOTALL)


def with_fourth_cells(text):
    def widened(match):
        cells = match[1].split()
        return "interrupts = <" + " ".join(" ".join([*cells[i:i + 3], "0x00"]) for i in range(0, len(cells), 3)) + ">"

    text = re.sub(r"interrupts = <([^>]*)>", widened, text)
    return text.replace("#interrupt-cells = <0x03>", "#interrupt-cells = <0x04>")


def main():
    count, text = int(sys.argv[1]), sys.stdin.read()
    cores = [int(phandle, 16) for phandle in re.findall(r"\tcpu@\w+ {\n\s*phandle = <(0x\w+)>", text)]
    if not 0 < count < len(cores):
        sys.exit(f"small_cores: {count} of {len(cores)} cores: some must be small, and some not")
    text = with_fourth_cells(without_node(without_node(text, "pcie@"), "pmu"))
    members = {SMALL: cores[:count], BIG: cores[count:]}
    for (_, _, capacity), phandles in members.items():
        for phandle in phandles:
            text = re.sub(rf"(\tcpu@\w+ {{\n\s*phandle = <{phandle:#x}>;\n)", rf"\1\t\t\tcapacity-dmips-mhz = <{capacity}>;\n", text)
    partitions = "".join(f"\t\t\t{kind} {{ affinity = <{' '.join(map(hex, phandles))}>; phandle = <{number:#x}>; }};\n"
                         for (number, kind, _), phandles in members.items())
    text = re.sub(r"^(\t\tits@)", rf"\t\tppi-partitions {{\n{partitions}\t\t}};\n\1", text, flags=re.MULTILINE)
    pmus = "".join(f"\tpmu-{kind} {{ compatible = \"arm,cortex-{kind}-pmu\"; interrupts = <{PMU_INTERRUPT} {number:#x}>; }};\n"
                   for number, kind, _ in (SMALL, BIG))
    sys.stdout.write(re.sub(r"^(\tintc@)", rf"{pmus}\1", text, flags=re.MULTILINE))


if __name__ == "__main__":
    main()
