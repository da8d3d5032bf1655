#!/usr/bin/env python3
"""Functions and variables of a running program that attune has not started: attune call, get and set of variables."""

import json
import os
import signal
import subprocess
import time
import unittest

from attune_e2e import ATTUNE, BUILD, E2E, PATIENCE_S, main

CALLED = os.path.join(BUILD, "tests", "e2e", "called")


class Call(E2E):
    def setUp(self):
        super().setUp()
        self.env["XDG_STATE_HOME"] = self.path("state")
        self.start()

    def start(self, *arguments):
        self.program = subprocess.Popen([CALLED, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.stop)
        self.assertEqual(self.program.stdout.readline(), b"ready\n")
        self.pid = str(self.program.pid)

    def stop(self):
        self.program.kill()
        self.program.communicate()

    def at_the_end(self):
        """The program ends as it would have without us."""
        output, errors = self.program.communicate(b"\n", timeout=PATIENCE_S)
        self.assertEqual((self.program.returncode, errors), (0, b""))
        return output.decode()

    def ok(self, *arguments):
        result = self.attune(*arguments, "-p", self.pid)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.decode().strip()

    def refused(self, code, says, *arguments):
        result = self.attune(*arguments, "-p", self.pid)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertIn(says, result.stderr.decode())

    def value(self, expression):
        return json.loads(self.ok("get", "--json", f"variable:{expression}"))[0]["value"]

    def test_functions_are_called_and_nobody_notices(self):
        for number in range(10):
            self.assertEqual(self.ok("call", "shop::Scale", str(number), "6"), str(6 * number + 7))
        self.assertEqual(self.ok("call", "half", "3.0", "4", "--returns", "double"), "5.5")
        self.assertEqual(self.ok("call", "is_large", "0x1000000000000", "--returns", "bool"), "true")
        self.assertEqual(self.ok("call", "greet", "you", "--returns", "text"), "hello you")
        self.assertEqual(self.ok("call", "malloc_trim", "0", "--returns", "nothing"), "")
        self.assertEqual(json.loads(self.ok("call", "slow", "20", "--json")), {"function": "slow", "result": 20})
        self.assertTrue(self.at_the_end().startswith("0 wrong, batch 7"))

    def test_a_sleep_outlives_a_function_that_sleeps(self):
        self.stop()
        self.start("awake")
        for _ in range(5):
            self.assertEqual(self.ok("call", "slow", "20"), "20")
        self.assertTrue(self.at_the_end().startswith("0 wrong"))

    def test_a_library_is_loaded(self):
        library = next(path for path in (f"/usr/lib/x86_64-linux-gnu/{name}" for name in ("libz.so.1", "libzstd.so.1")) if os.path.exists(path))
        self.assertNotEqual(self.ok("call", "dlopen", library, "2", "--returns", "long"), "0")
        with open(f"/proc/{self.pid}/maps", encoding="utf-8") as maps:
            self.assertIn(os.path.basename(os.path.realpath(library)), maps.read())
        self.assertTrue(self.at_the_end().startswith("0 wrong"))

    def test_what_crashes_or_does_not_return_is_taken_back(self):
        self.refused(5, "Segmentation fault", "call", "crash", "8")
        self.refused(1, "did not return", "call", "slow", "60000", "--limit", "2s")
        self.assertEqual(self.ok("call", "shop::Scale", "1", "1"), "8")
        self.assertTrue(self.at_the_end().startswith("0 wrong"))

    def test_the_program_goes_on_where_the_caller_is_killed(self):
        for _ in range(3):
            caller = subprocess.Popen([ATTUNE, "call", "slow", "500", "-p", self.pid], env=self.env, stdout=subprocess.DEVNULL)
            time.sleep(0.3)
            caller.send_signal(signal.SIGKILL)
            caller.wait()
        time.sleep(0.5)
        self.assertEqual(self.ok("call", "shop::Scale", "1", "1"), "8")
        self.program.communicate(b"\n", timeout=PATIENCE_S)
        # A system call may have ended with EINTR, as after a signal; it has not crashed.
        self.assertEqual(self.program.returncode, 0)

    def test_variables_are_read_and_set_by_name_member_and_index(self):
        for expression, value in (("shop::config.batch", "7"), ("shop::config.rate", "0.5"), ("shop::config.share", "0.25"),
                                  ("shop::config.name", "first"), ("shop::config.workers[2].is_on", "true"),
                                  ("shop::config.mode", "kSlow"), ("shop::head->next->workers[1].depth", "1")):
            self.assertEqual(self.value(expression), value)
        self.ok("set", "variable:shop::config.batch=64")
        self.ok("set", "variable:shop::head->rate=1e3")
        self.ok("set", "variable:shop::config.name=a longer name")
        self.ok("set", "variable:shop::config.mode=kFast")
        self.assertEqual(len(json.loads(self.attune("list", "changes", "--json").stdout)), 4)
        self.assertEqual(self.value("shop::config.name"), "a longer name")
        self.assertEqual(self.attune("restore", "-p", self.pid).returncode, 0)
        self.assertEqual(json.loads(self.attune("list", "changes", "--json").stdout), [])
        self.ok("set", "variable:shop::config.batch=65")
        self.assertEqual(self.at_the_end(), "0 wrong, batch 65, rate 0.5, name first, mode 0\n")

    def test_bad_input_is_named(self):
        self.refused(1, "has no function 'nothing'", "call", "nothing")
        self.refused(2, "--returns: 'word' is not understood", "call", "half", "--returns", "word")
        self.refused(1, "has no variable 'nothing'", "get", "variable:nothing")
        self.refused(2, "name a member: batch, rate", "get", "variable:shop::config")
        self.refused(2, "has no member 'bach'", "get", "variable:shop::config.bach")
        self.refused(2, "it has [0] to [2]", "get", "variable:shop::config.workers[3].depth")
        self.refused(2, "is a bit-field", "get", "variable:shop::config.flag")
        self.refused(3, "is thread-local", "get", "variable:shop::own")
        self.refused(2, "it takes kSlow, kFast", "set", "variable:shop::config.mode=kBest")
        self.refused(2, "at most 15 bytes", "set", "variable:shop::config.name=longer than its array")
        self.refused(2, "32 bits", "set", "variable:shop::config.batch=5000000000")
        self.refused(4, "cannot be written", "set", "variable:shop::kFixed=6")
        result = self.attune("call", "half", "-p", "2147483647")
        self.assertIn(b"there is no process", result.stderr)
        self.assertEqual(json.loads(self.attune("list", "changes", "--json").stdout), [])
        self.assertTrue(self.at_the_end().startswith("0 wrong"))


if __name__ == "__main__":
    main()
