"""tools/machine.sh: what an emulated machine of arm64 runs and says, and that its hardware counters are exact. What attune can do there."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from attune_e2e import main, needs

BUILDS = {"amd64": os.environ["ATTUNE_BUILD"], "arm64": os.path.join(os.environ["ATTUNE_SOURCE"], "build", "arm64")}
SOURCE = os.environ["ATTUNE_SOURCE"]
MACHINE = os.path.join(SOURCE, "tools", "machine.sh")
COMPILER = "aarch64-linux-gnu-gcc"
UNAVAILABLE = 3


def run(*arguments):
    return subprocess.run([MACHINE, *arguments], capture_output=True, text=True, check=False)


class Usage(unittest.TestCase):
    def test_mistakes(self):
        for arguments in ((), ("arm64",), ("riscv64", "true"), ("--speed", "9", "arm64", "true"), ("--cpus", "two", "arm64", "true"),
                          ("--nodes", "2", "arm64", "true"), ("--add", "/none", "arm64", "true"), ("arm64", "--cpus", "2", "true")):
            with self.subTest(arguments):
                result = run(*arguments)
                self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
                self.assertTrue(result.stderr.startswith("machine: "), result.stderr)

    def test_without_an_emulator(self):
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(shutil.which("dirname"), os.path.join(folder, "dirname"))
            result = subprocess.run(["/bin/bash", MACHINE, "arm64", "true"], env={"PATH": folder}, capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, UNAVAILABLE, result.stderr)
        self.assertIn("qemu-system-aarch64 is not there", result.stderr)


class Packages(unittest.TestCase):
    def unpack(self, *arguments):
        result = subprocess.run([os.path.join(SOURCE, "tools", "debian_root.sh"), *arguments], capture_output=True, text=True, check=False)
        if result.returncode == UNAVAILABLE:
            self.skipTest(result.stderr.strip())
        return result

    def test_with_what_they_depend_on_and_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            libraries = os.path.join(folder, "root", "usr", "lib", "aarch64-linux-gnu")
            for packages, has_libc in ((("zlib1g",), True), (("zlib1g", "libzstd1"), True), (("--alone", "zlib1g"), False)):
                options = [each for each in packages if each.startswith("-")]
                result = self.unpack(*options, "arm64", os.path.join(folder, "root"), *packages[len(options):])
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertTrue(os.path.exists(os.path.join(libraries, "libz.so.1")), packages)
                self.assertEqual(os.path.exists(os.path.join(libraries, "libc.so.6")), has_libc, packages)
                self.assertEqual(os.path.exists(os.path.join(libraries, "libzstd.so.1")), "libzstd1" in packages)

    def test_a_wrong_name(self):
        with tempfile.TemporaryDirectory() as folder:
            result = self.unpack("arm64", os.path.join(folder, "root"), "no-such-package")
            self.assertEqual((result.returncode, result.stdout), (1, ""), result.stderr)
            self.assertIn("no-such-package", result.stderr)


@needs(COMPILER)
class Arm64(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "counted_loop")
            subprocess.run([COMPILER, "-static", "-O1", "-o", program, os.path.join(SOURCE, "tests", "e2e", "counted_loop.c")], check=True)
            result = run("--add", program, "--cpus", "2", "--nodes", "2", "arm64", "uname -m; exit 7", "taskset 1 counted_loop",
                         "ls -d /sys/devices/system/node/node*/cpu[0-9]", "ls /sys/kernel/btf/vmlinux /sys/kernel/tracing/events/sched")
        if result.returncode == UNAVAILABLE:
            raise unittest.SkipTest(result.stderr.strip())
        assert result.returncode == 0, result.stdout + result.stderr
        cls.parts = re.findall(r"(.*?)\n>>>> (\d+)\n", result.stdout, re.DOTALL)

    def test_output_and_exit_code(self):
        self.assertEqual(self.parts[0], ("aarch64\n", "7"))

    def test_counters_are_exact(self):
        output, code = self.parts[1]
        self.assertEqual(code, "0", output)
        rounds = [tuple(map(int, line.split())) for line in output.splitlines()]
        self.assertEqual(len(rounds), 5, output)
        print(f"cycles and instructions of 2 000 000: {rounds}")
        for _, instructions in rounds:
            self.assertEqual(instructions, rounds[0][1])
            self.assertTrue(2_000_000 <= instructions < 2_000_100, instructions)

    def test_nodes(self):
        self.assertEqual([os.path.relpath(path, "/sys/devices/system/node") for path in self.parts[2][0].split()], ["node0/cpu0", "node1/cpu1"])

    def test_the_kernel_has_types_and_tracepoints(self):
        self.assertEqual(self.parts[3][1], "0", self.parts[3])


class Attune(unittest.TestCase):
    """On the kernel that Debian 12 has."""

    def checks(self, arch):
        """{id: check} of attune doctor"""
        if not os.path.exists(os.path.join(BUILDS[arch], "bin", "attune")):
            self.skipTest(f"attune was not built for {arch}")
        result = run("--build", BUILDS[arch], arch, "attune doctor --json 2> /dev/null")
        if result.returncode == UNAVAILABLE:
            self.skipTest(result.stderr.strip())
        self.assertEqual(result.returncode, 0, result.stderr)
        return {check["id"]: check for check in json.loads(result.stdout.rpartition("\n>>>> ")[0])["checks"]}

    def test_counters_on_arm64(self):
        program = os.path.join(BUILDS["arm64"], "bin", "counter_test")
        if not os.path.exists(program):
            self.skipTest("counter_test was not built for arm64")
        result = run("--add", program, "arm64", "counter_test")
        if result.returncode == UNAVAILABLE:
            self.skipTest(result.stderr.strip())
        self.assertTrue(result.stdout.endswith("\n>>>> 0\n"), result.stdout + result.stderr)

    def test_processes_are_followed_by_ebpf(self):
        for arch in BUILDS:
            with self.subTest(arch):
                tracking = self.checks(arch)["tracking"]
                self.assertEqual((tracking["status"], tracking["detail"]), ("ok", "by ebpf"), tracking)


if __name__ == "__main__":
    main()
