"""attune in the emulated machine of arm64, on counters of the processor: exact counts, two kinds of cores, samples, reads without the kernel, more
events than counters, recordings of the other architecture."""

import csv
import io
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from attune_e2e import ATTUNE, main, needs

SOURCE = os.environ["ATTUNE_SOURCE"]
BUILD = os.path.join(SOURCE, "build", "arm64")
MACHINE = os.path.join(SOURCE, "tools", "machine.sh")
COMPILER = "aarch64-linux-gnu-gcc"
UNAVAILABLE = 3
INSTRUCTIONS = 2_000_000_000  # of fixed_loop
# Twelve for the six counters that count anything: the two that QEMU counts, by different names and numbers.
MANY = {f"{name}:u": of for of, names in (("instructions", ("instructions", "r08", "r008", "r0008", "r00008", "r000008")),
                                          ("cycles", ("cycles", "r11", "r011", "r0011", "r00011", "r000011"))) for name in names}


def build_programs(folder):
    def build(name, *arguments):
        program = os.path.join(folder, name)
        subprocess.run([COMPILER, "-O1", "-o", program, os.path.join(SOURCE, "tests", "e2e", name + ".c"), *arguments], check=True)
        return program

    library = os.path.join(BUILD, "lib")
    kinds_work = build("kinds_work")
    return [build("fixed_loop", "-static", "-nostdlib", f"-DROUNDS={INSTRUCTIONS // 2}ul"), kinds_work,
            *[build(name, "-I", os.path.join(SOURCE, "include"), "-L", library, "-lattune_counters", f"-Wl,-rpath,{library}",
                    "-Wl,--unresolved-symbols=ignore-in-shared-libs") for name in ("counter_reads", "counter_kinds", "counter_regions")]]


@needs(COMPILER)
@unittest.skipUnless(os.path.exists(os.path.join(BUILD, "bin", "attune")), "attune was not built for arm64 (./dev build --preset arm64)")
class Arm64(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="attune-arm64-")
        self.addCleanup(shutil.rmtree, self.folder)

    def run_there(self, *commands, options=()):
        """[(output, exit code)] of each command."""
        programs = [argument for program in build_programs(self.folder) for argument in ("--add", program)]
        result = subprocess.run([MACHINE, "--seconds", "1800", *options, *programs, "arm64", *commands], capture_output=True, text=True, check=False)
        if result.returncode == UNAVAILABLE:
            self.skipTest(result.stderr.strip())
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        parts = re.findall(r"(.*?)\n>>>> (\d+)\n", result.stdout, re.DOTALL)
        self.assertEqual(len(parts), len(commands), result.stdout)
        return parts

    def counts_in(self, output):
        document = json.loads(output[output.index("{"):output.rindex("}") + 1])
        return {event["event"]: event for event in document["events"]}

    def test_a_loop_is_counted_and_sampled_exactly(self):
        period = 1_000_000
        count, samples = self.run_there("attune counters --json -e instructions:u,cycles:u -- fixed_loop",
                                        f"attune counters -t --csv -e cycles:u --period cycles:u={period} -- fixed_loop")
        counts = self.counts_in(count[0])
        print("of", INSTRUCTIONS, {name: event["count"] for name, event in counts.items()})
        self.assertAlmostEqual(counts["instructions:u"]["count"], INSTRUCTIONS, delta=1e-4 * INSTRUCTIONS)
        rows = list(csv.DictReader(io.StringIO(samples[0][samples[0].index("seconds,kind"):])))
        cycles = sum(float(row["cycles:u"]) for row in rows)
        ebs = [row for row in rows if row["kind"] == "ebs"]
        print(len(ebs), "samples of", cycles, "cycles")
        self.assertEqual(len(ebs), int(cycles // period))

    def test_two_kinds_of_cores_are_summed(self):
        # One after the other: QEMU's counts are exact on one busy CPU only.
        loops = "taskset 1 fixed_loop; taskset 2 fixed_loop"
        count, small = self.run_there(f"attune counters --json -e instructions:u -- sh -c '{loops}'",
                                      "attune counters --json -e armv8_cortex_a53/inst_retired/u -- taskset 1 fixed_loop",
                                      options=("--cpus", "2", "--small", "1"))
        both = self.counts_in(count[0])["instructions:u"]
        print("of", 2 * INSTRUCTIONS, both)
        self.assertAlmostEqual(both["count"], 2 * INSTRUCTIONS, delta=0.006 * 2 * INSTRUCTIONS)
        for part in both["parts"].values():
            self.assertAlmostEqual(part, INSTRUCTIONS, delta=0.006 * INSTRUCTIONS)
        one, = self.counts_in(small[0]).values()
        self.assertAlmostEqual(one["count"], INSTRUCTIONS, delta=0.006 * INSTRUCTIONS)

    def test_a_region_on_two_kinds_of_cores_is_counted_once(self):
        (output, code), = self.run_there("counter_kinds", options=("--cpus", "2", "--small", "1"))
        counted, loops = int(re.search(r"counted=(\d+)", output)[1]), 20 * 20_000_000
        print(counted, "of", loops)
        self.assertEqual(code, "0")
        self.assertAlmostEqual(counted, loops, delta=0.006 * loops)

    def test_the_speedup_factor_is_that_of_work_per_second(self):
        ran, told = self.run_there("attune run -q -s none --cpu-samples off --count cycles,instructions --module speedup -o /tmp/k.attune -- kinds_work 40",
                                   "attune query /tmp/k.attune \"select v.value, s.scale from series s join samples v on v.series = s.id where s.signal = 'speedup' "
                                   "order by v.t_ns\" --csv", options=("--cpus", "2", "--small", "1"))
        small, large = (float(rate) for rate in re.search(r"loops a ms: ([\d.]+) ([\d.]+)", ran[0]).groups())
        factors = [float(value) * 10 ** int(scale) for value, scale in re.findall(r"(?m)^([\d.]+),(-?\d+)$", told[0])]
        print(f"work per second on the two kinds: {small:.3f} and {large:.3f}; {len(factors)} factors, the last {factors[-1:]}")
        self.assertGreater(len(factors), 10)
        self.assertAlmostEqual(factors[-1], large / small, delta=0.05 * large / small)

    def test_counters_are_read_without_the_kernel(self):
        line = r"user=(\d) library=([\d.]+) region=([\d.]+) read=([\d.]+) grown=(\d+)"
        commands = [f"echo {access} > /proc/sys/kernel/perf_user_access; counter_reads {counters}" for access in (0, 1) for counters in (1, 2)]
        found = [re.search(line, output) for output, _ in self.run_there(*commands)]
        self.assertEqual([match[1] for match in found], ["0", "0", "1", "1"])
        for counters, match in zip((1, 2), found[2:]):
            library, region, read = (float(match[i]) for i in (2, 3, 4))
            print(f"{counters} counters: read() {read:.0f} instructions, {read / library:.1f} times as many as a read of the library; "
                  f"a pair of them {2 * read / region:.1f} times as many as a region")
        # read() takes hardly more instructions for several counters; the library takes some 20 for each.
        self.assertLessEqual(float(found[2][2]) * 50, float(found[2][4]))
        self.assertLessEqual(float(found[2][3]) * 50, 2 * float(found[2][4]))

    def test_regions_count_their_instructions_whatever_is_between(self):
        work = 20_000  # of an inner region
        ways = ("", "sleep", "yield", "read")
        for access in (0, 1):
            for way, (output, code) in zip(ways, self.run_there(*[f"echo {access} > /proc/sys/kernel/perf_user_access; counter_regions {way}" for way in ways])):
                self.assertEqual(code, "0", output)
                inner, outer = re.search(r"inner=900,([\d.]+) outer=300,([\d.]+)", output).groups()
                print(f"access {access}, {way or 'nothing'}: {inner} instructions of an inner region, {outer} of an outer one")
                # The library's own instructions are in it: some dozen, or some hundred round a read by a call.
                self.assertGreaterEqual(float(inner), work)
                self.assertLess(float(inner), (1.01 if access and way in ("", "read") else 1.05) * work)
                self.assertGreaterEqual(float(outer), 3 * float(inner))
                self.assertLess(float(outer), 3 * 1.15 * work)

    def test_the_truth_is_within_the_bounds_of_many_events(self):
        rounds = 10
        parts = self.run_there("attune counters --json -e instructions:u,cycles:u -- fixed_loop",
                               *[f"attune counters --json -e {','.join(MANY)} -- fixed_loop" for _ in range(rounds)])
        truth = {name.removesuffix(":u"): event["count"] for name, event in self.counts_in(parts[0][0]).items()}
        inside, values = 0, []
        for output, _ in parts[1:]:
            for name, event in self.counts_in(output).items():
                self.assertGreaterEqual(event["count"], 0)
                self.assertLess(event["counted"], 1, "it shares a counter")
                values.append((name, event["count"], event["bound"]))
                inside += abs(event["count"] - truth[MANY[name]]) <= event["bound"]
        print(inside, "of", len(values), "values have the truth within their bound")
        self.assertGreaterEqual(inside, 0.95 * len(values), values)

    def test_events_are_listed_and_recordings_are_read_on_both(self):
        here = os.path.join(self.folder, "here.attune")
        subprocess.run([ATTUNE, "run", "-q", "-o", here, "--", "true"], check=True)
        os.chmod(here, 0o755)  # --add takes programs
        listed, ran, report, foreign = self.run_there("attune list events --json", "attune run -q --count cycles,instructions -o /tmp/r.attune -- fixed_loop",
                                                      "attune report --json /tmp/r.attune; base64 /tmp/r.attune", "attune report --json /bin/here.attune",
                                                      options=("--add", here))
        names = {event["name"] for event in json.loads(listed[0])}
        self.assertLessEqual({"cycles", "instructions"}, names)
        self.assertEqual(ran[1], "0", ran[0])
        document, encoded = report[0].rsplit("}\n", 1)
        told = json.loads(document + "}")["thread_counts"]
        counted = {event["event"]: event["count"] for event in told["events"]}
        self.assertGreater(counted["instructions"], INSTRUCTIONS)
        self.assertEqual(foreign[1], "0", foreign[0])
        there = os.path.join(self.folder, "there.attune")
        with open(there, "wb") as file:
            file.write(subprocess.run(["base64", "-d"], input=encoded.encode(), check=True, capture_output=True).stdout)
        again = json.loads(subprocess.run([ATTUNE, "report", "--json", there], check=True, capture_output=True).stdout)
        self.assertEqual(again["thread_counts"], told)
        self.assertEqual(again["damage"], [])


if __name__ == "__main__":
    main()
