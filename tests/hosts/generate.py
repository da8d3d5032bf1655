#!/usr/bin/env python3
"""Makes the /proc and /sys of machines that nobody had at hand: generate.py HOST FOLDER (or --list).

The trees are generated, not captured: layout and spelling are those of Linux 6.1 to 6.18, the numbers are made up. Each tree says so in
its file GENERATED. Values follow simple rules (a CPU's user time is 1000 + its number), so that tests know what to expect.
"""
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

KIB_PER_NODE = 32 << 20
PROGRAM = 4242  # a process with two threads, to be observed
VMSTAT_KEYS = ["nr_free_pages", "nr_zone_inactive_anon", "nr_zone_active_anon", "nr_mlock", "nr_dirty", "nr_writeback", "nr_dirtied", "nr_written",
               "workingset_refault_anon", "workingset_refault_file", "pgpromote_success", "pgdemote_kswapd", "nr_slab_reclaimable",
               "numa_hit", "numa_miss", "numa_foreign", "numa_interleave", "numa_local", "numa_other"]
MEMINFO_KEYS = ["MemTotal", "MemFree", "MemUsed", "SwapCached", "Active", "Inactive", "Active(anon)", "Inactive(anon)", "Dirty", "Writeback", "FilePages",
                "Mapped", "AnonPages", "Shmem", "KernelStack", "PageTables", "Slab", "AnonHugePages"]
IRQS = ["24", "25", "26"]
ARCH_IRQS = {"NMI": "Non-maskable interrupts", "LOC": "Local timer interrupts", "RES": "Rescheduling interrupts", "CAL": "Function call interrupts",
             "TLB": "TLB shootdowns"}
SOFTIRQS = ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"]


@dataclass
class Machine:
    what: str
    nodes: dict  # node number: (package, CPU numbers)
    offline: tuple = ()
    threads_per_core: int = 1  # the second thread of a core is numbered behind the first ones of its node
    nodes_per_board: int = 0  # 0: one board
    frequency: bool = True
    rapl: tuple = ()  # zones of each package besides itself; () with rapl_there False
    rapl_there: bool = False
    psys: bool = False
    cgroup: str = "/"
    resctrl_groups: tuple = None
    closed: tuple = field(default_factory=tuple)  # files that only root may read

    def present(self):
        return sorted(cpu for _, cpus in self.nodes.values() for cpu in cpus)

    def online(self):
        return [cpu for cpu in self.present() if cpu not in self.offline]

    def core_of(self, cpu):
        """The CPUs of one core that are online."""
        _, cpus = next(entry for entry in self.nodes.values() if cpu in entry[1])
        cores = len(cpus) // self.threads_per_core
        return [c for i, c in enumerate(cpus) if i % cores == cpus.index(cpu) % cores and c not in self.offline]

    def packages(self):
        return sorted({package for package, _ in self.nodes.values()})


def even(nodes, cpus_per_node, nodes_per_package=1):
    """Nodes with CPU numbers in a row."""
    return {n: (n // nodes_per_package, list(range(n * cpus_per_node, (n + 1) * cpus_per_node))) for n in range(nodes)}


HOSTS = {
    "two-nodes": Machine("two NUMA nodes of 8 CPUs", even(2, 8)),
    "six-boards": Machine("36 NUMA nodes on 6 boards, 4 CPUs a node", even(36, 4), nodes_per_board=6),
    "512-cpus": Machine("512 CPUs in 8 nodes, two a core", even(8, 64), threads_per_core=2),
    "sparse-cpus": Machine("CPUs 0 1 4 5 and 12 13 96, nodes 0 and 3", {0: (0, [0, 1, 4, 5]), 3: (1, [12, 13, 96])}),
    "cpu0-offline": Machine("8 CPUs of which 0 and 5 are offline", even(1, 8), offline=(0, 5)),
    "no-rapl": Machine("a virtual machine: 2 CPUs, no RAPL, no cpufreq", even(1, 2), frequency=False),
    "rapl": Machine("two packages whose energy is counted: package, core, dram; and psys", even(2, 4), rapl=("core", "dram"), rapl_there=True, psys=True),
    "cgroup-v2": Machine("attune runs in a cgroup (v2) of its own", even(1, 4), cgroup="/user.slice/user-1000.slice/session-3.scope"),
    "resctrl": Machine("L3 monitoring of two caches, with a control and a monitoring group", even(2, 4), resctrl_groups=("batch", "mon_groups/web")),
    "unprivileged": Machine("what matters is closed to all but root", even(1, 4), rapl_there=True, rapl=("core",), closed=("energy_uj",)),
}


def cpu_list(cpus):
    """The kernel's list format: 0-3,8."""
    parts, at = [], 0
    while at < len(cpus):
        last = at
        while last + 1 < len(cpus) and cpus[last + 1] == cpus[last] + 1:
            last += 1
        parts.append(str(cpus[at]) if last == at else f"{cpus[at]}-{cpus[last]}")
        at = last + 1
    return ",".join(parts)


def cpu_mask(cpus):
    """The kernel's mask format: words of 32 bits, the highest first."""
    words = [0] * (max(cpus, default=0) // 32 + 1)
    for cpu in cpus:
        words[cpu // 32] |= 1 << cpu % 32
    return ",".join(f"{word:08x}" for word in reversed(words))


class Tree:
    def __init__(self, root):
        self.root = Path(root)
        self.shared = {}  # text -> a file that holds it

    def write(self, path, text, mode=None):
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        if mode is not None:
            file.chmod(mode)

    def write_shared(self, path, text):
        """A file whose text many others have; they are one file with many names. Not to be written to afterwards."""
        if text not in self.shared:
            self.write(path, text)
            self.shared[text] = self.root / path.lstrip("/")
            return
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        os.link(self.shared[text], file)

    def link(self, path, target):
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.symlink_to(target)

    def folder(self, path):
        (self.root / path.lstrip("/")).mkdir(parents=True, exist_ok=True)


def proc_stat(machine):
    total = f"cpu  {' '.join(['5000'] * 10)}\n"
    cpus = "".join(f"cpu{cpu} {1000 + cpu} 2 3 40000 5 6 7 8 9 10\n" for cpu in machine.online())
    return total + cpus + "intr 500000 1 2 3\nctxt 600000\nbtime 1700000000\nprocesses 7000\nprocs_running 3\nprocs_blocked 1\nsoftirq 9 1\n"


def cpu_table(cpus, key_width, rows):
    """rows: (key, counts or one number, what). Columns of 11 characters, as in /proc/interrupts."""
    lines = [" " * (key_width + 2) + "".join(f"CPU{cpu:<8}" for cpu in cpus)]
    for key, counts, what in rows:
        lines.append(f"{key:>{key_width}}:" + "".join(f" {count:10}" for count in counts) + (f"  {what}" if what else ""))
    return "\n".join(lines) + "\n"


def interrupts(machine):
    cpus = machine.online()
    rows = [(irq, [int(irq) + cpu for cpu in cpus], f"PCI-MSIX-0000:00:02.0   {irq}-edge      nvme0q{irq}") for irq in IRQS]
    rows += [(irq, [1000 + cpu for cpu in cpus], " " + what) for irq, what in ARCH_IRQS.items()]
    rows += [("ERR", [0], ""), ("MIS", [0], "")]
    return cpu_table(cpus, 4, rows)


def meminfo(prefix, kib):
    lines = [f"{prefix}{key + ':':<16}{kib - 1000 * i:>8} kB" for i, key in enumerate(MEMINFO_KEYS)]
    return "\n".join(lines + [f"{prefix}HugePages_Total:     4", f"{prefix}HugePages_Free:      3"]) + "\n"


def pressure(some=True, full=True, base=100):
    line = "avg10=1.25 avg60=0.50 avg300=0.10 total="
    return (f"some {line}{base + 1}\n" if some else "") + (f"full {line}{base}\n" if full else "")


def write_proc(tree, machine):
    tree.write("/proc/stat", proc_stat(machine))
    tree.write("/proc/vmstat", "".join(f"{key} {i * 100}\n" for i, key in enumerate(VMSTAT_KEYS)))
    tree.write("/proc/meminfo", meminfo("", KIB_PER_NODE * len(machine.nodes)) + "SwapTotal: 8388604 kB\nSwapFree: 8388604 kB\n")
    tree.write("/proc/loadavg", "0.52 12.07 0.59 3/1890 424242\n")
    tree.write("/proc/interrupts", interrupts(machine))
    tree.write("/proc/softirqs", cpu_table(machine.present(), 12, [(name, [100 + cpu for cpu in machine.present()], "") for name in SOFTIRQS]))
    for resource in ("cpu", "memory", "io"):
        tree.write(f"/proc/pressure/{resource}", pressure())
    tree.write("/proc/pressure/irq", pressure(some=False))
    tree.write("/proc/sys/kernel/perf_event_paranoid", "4\n" if machine.closed else "2\n")
    header = "Inter-|   Receive                                                |  Transmit\n face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n"
    tree.write("/proc/net/dev", header + "    lo: 100 1 0 0 0 0 0 0 100 1 0 0 0 0 0 0\n  eth0: 123456789012 5 0 0 0 0 0 0 99 6 0 0 0 0 0 0\n")
    tree.write("/proc/diskstats", " 259       0 nvme0n1 10 1 80 5 20 2 160 6 0 7 11 1 0 8 1 3 2\n")
    tree.write("/proc/filesystems", "nodev\tsysfs\nnodev\tproc\n\text4\n")
    tree.write("/proc/self/mountinfo", "22 1 259:1 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p1 rw\n")
    tree.write("/proc/self/cgroup", f"0::{machine.cgroup}\n")


def write_program(tree, _):
    for thread in (PROGRAM, PROGRAM + 1):
        task = f"/proc/{PROGRAM}/task/{thread}"
        tree.write(f"{task}/schedstat", f"{thread * 1000} 500 7\n")
        tree.write(f"{task}/stat", f"{thread} (a ) b) R 1 {PROGRAM} {PROGRAM} 0 -1 4194304 11 0 2 0 3 4 0 0 20 0 2 0 {thread} 1000 10 0 0\n")
        tree.write(f"{task}/status", "Name:\ta ) b\nState:\tR (running)\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n")
    tree.write(f"/proc/{PROGRAM}/statm", "1000 250 100 10 0 200 0\n")


def write_caches(tree, machine, number, cpus):
    """Two caches of a core's own, one that its node shares. `cpus` are those of the node that are online."""
    core = machine.core_of(number)
    if number != core[0]:  # a folder less for each thread; what it holds is the same
        tree.link(f"/sys/devices/system/cpu/cpu{number}/cache", f"../cpu{core[0]}/cache")
        return
    for index, (level, kind, kib, shared) in enumerate([(1, "Data", 32, core), (2, "Unified", 512, core), (3, "Unified", 16384, cpus)]):
        folder = f"/sys/devices/system/cpu/cpu{number}/cache/index{index}"
        tree.write_shared(f"{folder}/level", f"{level}\n")
        tree.write_shared(f"{folder}/type", f"{kind}\n")
        tree.write_shared(f"{folder}/size", f"{kib}K\n")
        tree.write_shared(f"{folder}/coherency_line_size", "64\n")
        tree.write_shared(f"{folder}/shared_cpu_map", cpu_mask(shared) + "\n")


def write_cpus(tree, machine):
    cpu = "/sys/devices/system/cpu"
    tree.write(f"{cpu}/present", cpu_list(machine.present()) + "\n")
    tree.write(f"{cpu}/possible", cpu_list(machine.present()) + "\n")
    tree.write(f"{cpu}/online", cpu_list(machine.online()) + "\n")
    tree.write(f"{cpu}/offline", cpu_list(sorted(machine.offline)) + "\n")
    for package, cpus in machine.nodes.values():
        for i, number in enumerate(cpus):
            if number in machine.offline:
                continue
            topology = f"{cpu}/cpu{number}/topology"
            tree.write_shared(f"{topology}/physical_package_id", f"{package}\n")
            here = [c for c in cpus if c not in machine.offline]
            tree.write_shared(f"{topology}/core_id", f"{i % (len(cpus) // machine.threads_per_core)}\n")
            tree.write_shared(f"{topology}/core_cpus", cpu_mask(machine.core_of(number)) + "\n")
            tree.write_shared(f"{topology}/package_cpus", cpu_mask(here) + "\n")
            write_caches(tree, machine, number, here)
    if not machine.frequency:
        return
    for number in machine.present():
        policy = f"{cpu}/cpufreq/policy{number}"
        tree.write(f"{policy}/related_cpus", f"{number}\n")
        tree.write(f"{policy}/scaling_cur_freq", "<unknown>\n" if number in machine.offline else f"{2000000 + number}\n")


def distance(machine, a, b):
    if a == b:
        return 10
    return 16 if not machine.nodes_per_board or a // machine.nodes_per_board == b // machine.nodes_per_board else 22


def write_nodes(tree, machine):
    base = "/sys/devices/system/node"
    tree.write(f"{base}/online", cpu_list(sorted(machine.nodes)) + "\n")
    tree.write(f"{base}/possible", cpu_list(sorted(machine.nodes)) + "\n")
    for number, (_, cpus) in machine.nodes.items():
        node = f"{base}/node{number}"
        here = [cpu for cpu in cpus if cpu not in machine.offline]
        tree.write(f"{node}/cpulist", cpu_list(here) + "\n")
        tree.write(f"{node}/cpumap", cpu_mask(here) + "\n")
        tree.write(f"{node}/distance", " ".join(str(distance(machine, number, other)) for other in sorted(machine.nodes)) + "\n")
        tree.write(f"{node}/numastat", f"numa_hit {10000 + number}\nnuma_miss 1\nnuma_foreign 2\ninterleave_hit 3\nlocal_node 4\nother_node 5\n")
        tree.write(f"{node}/vmstat", "".join(f"{key} {i * 100 + number}\n" for i, key in enumerate(VMSTAT_KEYS)))
        tree.write(f"{node}/meminfo", meminfo(f"Node {number} ", KIB_PER_NODE))


def write_energy(tree, machine):
    if not machine.rapl_there:
        return
    mode = 0 if "energy_uj" in machine.closed else None

    def zone(name, called, uj):
        folder = f"/sys/class/powercap/{name}"
        tree.write(f"{folder}/name", called + "\n")
        tree.write(f"{folder}/max_energy_range_uj", "262143328850\n")
        tree.write(f"{folder}/energy_uj", f"{uj}\n", mode)
        tree.write(f"{folder}/constraint_0_max_power_uw", "205000000\n" if called.startswith("package") else "0\n")

    tree.folder("/sys/class/powercap/intel-rapl")
    for package in machine.packages():
        zone(f"intel-rapl:{package}", f"package-{package}", 1_000_000 + package)
        for i, part in enumerate(machine.rapl):
            zone(f"intel-rapl:{package}:{i}", part, 500_000 + i)
    if machine.psys:
        zone(f"intel-rapl:{len(machine.packages())}", "psys", 3_000_000)


def write_cgroup(tree, machine):
    if machine.cgroup == "/":
        return
    for resource in ("cpu", "memory", "io"):
        tree.write(f"/sys/fs/cgroup{machine.cgroup}/{resource}.pressure", pressure(base=10))
    tree.write(f"/sys/fs/cgroup{machine.cgroup}/irq.pressure", pressure(some=False, base=10))


def write_resctrl(tree, machine):
    if machine.resctrl_groups is None:
        return
    root = "/sys/fs/resctrl"
    tree.write(f"{root}/info/L3_MON/mon_features", "llc_occupancy\nmbm_total_bytes\nmbm_local_bytes\n")
    tree.write(f"{root}/schemata", "L3:0=fff;1=fff\n")
    for group in ("", *machine.resctrl_groups):
        for cache in machine.packages():
            folder = f"{root}/{group}/mon_data/mon_L3_{cache:02}".replace("//", "/")
            tree.write(f"{folder}/llc_occupancy", f"{65536 * (cache + 1)}\n")
            tree.write(f"{folder}/mbm_total_bytes", "123456789\n")
            tree.write(f"{folder}/mbm_local_bytes", "Unavailable\n")


def write_pci(tree, machine, address, code, vendor, device, below):
    """One PCI device of the last node, with what the kernel has `below` it: folder and files."""
    node = max(machine.nodes)
    folder = f"/sys/devices/pci{address[:7]}/{address}"
    cpus = [cpu for cpu in machine.nodes[node][1] if cpu not in machine.offline]
    for name, text in (("class", code), ("vendor", vendor), ("device", device), ("revision", "0x01"), ("subsystem_vendor", vendor),
                       ("subsystem_device", "0x0001"), ("numa_node", f"{node}"), ("local_cpus", cpu_mask(cpus)), ("local_cpulist", cpu_list(cpus))):
        tree.write(f"{folder}/{name}", text + "\n")
    tree.link(f"/sys/bus/pci/devices/{address}", f"../../../devices/pci{address[:7]}/{address}")
    for path, files in below.items():
        for name, text in files.items():
            tree.write(f"{folder}/{path}/{name}", text + "\n")
        kind, name = path.split("/")[-2:]
        links = (f"/sys/class/{kind}/{name}", f"/sys/{kind}/{name}" if kind == "block" else None)
        for link in filter(None, links):
            up = "../" * (link.count("/") - 2)
            tree.link(link, f"{up}devices/pci{address[:7]}/{address}/{path}")
        tree.link(f"{folder}/{path}/device", "../" * path.count("/") + "..")


def write_devices(tree, machine):
    write_pci(tree, machine, "0000:41:00.0", "0x020000", "0x8086", "0x1592", {"net/eth0": {"speed": "10000", "address": "02:00:00:00:00:01"}})
    write_pci(tree, machine, "0000:42:00.0", "0x010802", "0x144d", "0xa80a", {"block/nvme0n1": {"size": "1000215216"}})
    for package in machine.packages():
        chip = f"/sys/class/hwmon/hwmon{package}"
        tree.write(f"{chip}/name", "coretemp\n")
        tree.write(f"{chip}/temp1_input", f"{45000 + package}\n")
        tree.write(f"{chip}/temp1_label", f"Package id {package}\n")


def generate(name, folder):
    machine = HOSTS[name]
    tree = Tree(folder)
    tree.write("GENERATED", f"{name}: {machine.what}. Made by tests/hosts/generate.py; no machine looks exactly like this.\n")
    for write in (write_proc, write_program, write_cpus, write_nodes, write_energy, write_cgroup, write_resctrl, write_devices):
        write(tree, machine)


def main():
    if sys.argv[1:] == ["--list"]:
        for name, machine in HOSTS.items():
            print(f"{name}: {machine.what}")
    elif len(sys.argv) == 3 and sys.argv[1] in HOSTS:
        generate(sys.argv[1], sys.argv[2])
    else:
        sys.exit(f"usage: generate.py HOST FOLDER; HOST is one of {', '.join(HOSTS)}")


main()
