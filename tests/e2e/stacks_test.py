#!/usr/bin/env python3
"""Call paths of CPU samples, of real programs without frame pointers and without symbols."""

import importlib.util
import os
import shutil

from attune_e2e import ATTUNE, E2E, PYTHON, main, needs, needs_python

SOURCE = os.environ.get("ATTUNE_SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))


COMPUTING = """import time


class Solver:
    def step(self):
        total = 0
        for i in range(20000):
            total += i % 7
        return total


def run():
    end = time.monotonic() + 1
    while time.monotonic() < end:
        Solver().step()


run()
"""


def tool():
    """tools/stack_coverage.py, which anyone can run on more programs."""
    spec = importlib.util.spec_from_file_location("stack_coverage", os.path.join(SOURCE, "tools", "stack_coverage.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Stacks(E2E):
    def setUp(self):
        super().setUp()
        self.coverage = tool()
        self.coverage.write_inputs(self.folder)

    def recorded(self, *command):
        result = self.run_program(ATTUNE, "run", "-q", "-f", "-o", self.path("r.attune"), "--", *command)
        self.assertEqual(result.returncode, 0, result.stderr)
        if not self.query(self.path("r.attune"), "select count(*) n from cpu_samples")[0]["n"]:
            self.skipTest("the kernel permits no samples")

    def folded(self):
        """The functions of each sample: one a period of 4 ms."""
        result = self.attune("export", self.path("r.attune"), "--to", "folded-cpu")
        self.assertEqual(result.returncode, 0, result.stderr)
        output = result.stdout if isinstance(result.stdout, str) else result.stdout.decode()
        lines = [line.rpartition(" ") for line in output.splitlines()]
        return [stack.split(";")[2:] for stack, _, us in lines for _ in range(max(1, round(int(us) / 4000)))]

    def assert_whole(self, command, least=0.95):
        self.recorded(*command)
        samples, whole, _ = self.coverage.Coverage(ATTUNE, self.folder).of_attune()
        self.assertGreater(samples, 20)
        self.assertGreaterEqual(whole, least, command[0])

    @needs("xz", "readelf")
    def test_a_stripped_program_begins_with_its_start_and_main(self):
        self.assert_whole(self.coverage.PROGRAMS["xz"])
        # The loader, and what is done at exit, are not below main.
        deep = [stack for stack in self.folded() if len(stack) > 5]
        self.assertGreater(sum(stack[0] == "_start" for stack in deep), 0.8 * len(deep), deep)
        self.assertGreater(sum("main" in stack[:4] for stack in deep), 0.8 * len(deep), deep)

    @needs("g++", "readelf")
    def test_processes_and_deep_stacks(self):
        self.assert_whole(self.coverage.PROGRAMS["g++"])

    @needs("lbzip2", "readelf")
    def test_threads_begin_in_the_c_library(self):
        self.assert_whole(self.coverage.PROGRAMS["lbzip2"])

    @needs("xz", "readelf")
    def test_a_program_that_is_deleted_while_it_runs(self):
        shutil.copy(shutil.which("xz"), self.path("gone"))
        self.recorded("sh", "-c", '(until [ "$(cat /proc/$$/comm)" = gone ]; do sleep 0.01; done; rm gone) & exec ./gone -T1 -2 -k -c text')
        stacks = [stack for stack in self.folded() if len(stack) > 3]
        self.assertGreater(len(stacks), 20)
        # A sample inside execve has the address of the program before and the stack of the one after.
        running = [stack for stack in stacks if not any("execve" in function for function in stack)]
        # Functions that the linker adds to each file have no rules (frame_dummy); cat is started over and over.
        cut = [stack for stack in running if stack[0] == "[cut]"]
        self.assertLessEqual(len(cut), 0.05 * len(running), cut)

    def test_functions_of_the_kernel(self):
        self.recorded("dd", "if=/dev/zero", "of=/dev/null", "bs=1M", "count=20000")
        inside = [stack[stack.index("[kernel]") + 1:] for stack in self.folded() if "[kernel]" in stack]
        if not inside or not any(inside):
            self.skipTest("the kernel lets nobody look into it")
        self.assertTrue(any("read" in function for stack in inside for function in stack), inside[:5])

    @needs("node")
    def test_code_that_was_made_at_run_time_has_names(self):
        self.recorded("node", "--perf-basic-prof", "--interpreted-frames-native-stack", "script.js")
        for process in self.query(self.path("r.attune"), "select pid from processes"):
            if os.path.exists(f"/tmp/perf-{process['pid']}.map"):
                os.unlink(f"/tmp/perf-{process['pid']}.map")
        self.assertTrue(any("fibonacci" in function for stack in self.folded() for function in stack))

    @needs_python()
    def test_functions_of_python(self):
        self.write("computing.py", COMPUTING)
        self.recorded(PYTHON, "computing.py")
        stacks = [[place.split(" ")[0] for place in stack] for stack in self.folded()]
        inside = [stack for stack in stacks if "Solver.step" in stack]
        self.assertGreater(len(inside), 0.5 * len(stacks), stacks[:5])
        whole = [stack for stack in inside if "run" in stack and stack.index("run") < stack.index("Solver.step")]
        self.assertGreater(len(whole), 0.8 * len(inside), inside[:5])


if __name__ == "__main__":
    main()
