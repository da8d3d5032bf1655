"""Programs of many kinds run under attune with the same output and the same exit code as without it."""

import hashlib
import json
import os
import re
import signal
import subprocess
import sys

from attune_e2e import ATTUNE, E2E, PATIENCE_S, main, needs

PYTHON_THREADS = """
import threading, sys
totals = [0] * 4
def work(i):
    for n in range(200000):
        totals[i] += n * i
threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
for t in threads: t.start()
for t in threads: t.join()
print(totals, file=sys.stdout)
print('to stderr', file=sys.stderr)
sys.exit(7)
"""

GO_PROGRAM = """
package main
import ("fmt"; "os"; "sync")
func main() {
    var group sync.WaitGroup
    sums := make([]int, 8)
    for i := range sums {
        group.Add(1)
        go func(i int) { defer group.Done(); for n := 0; n < 1000000; n++ { sums[i] += n % (i + 1) } }(i)
    }
    group.Wait()
    fmt.Println(sums)
    os.Exit(9)
}
"""

JAVA_PROGRAM = """
public class Threads {
    public static void main(String[] arguments) throws Exception {
        long[] sums = new long[4];
        Thread[] threads = new Thread[4];
        for (int i = 0; i < 4; ++i) {
            final int me = i;
            threads[i] = new Thread(() -> { for (int n = 0; n < 1000000; ++n) sums[me] += n % (me + 1); });
            threads[i].start();
        }
        for (Thread thread : threads) thread.join();
        System.out.println(java.util.Arrays.toString(sums));
        System.exit(11);
    }
}
"""

DROP_CREDENTIALS = """
import os, sys
if os.getuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
print(os.getuid(), os.geteuid(), os.getgroups() if os.getuid() else 'root')
pid = os.fork()
if pid == 0:
    os._exit(4)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
sys.exit(5)
"""


class Programs(E2E):
    def same_as_without(self, *command, stdin=None):
        """Runs the command bare and observed; asserts what must not differ; gives back the recording's path."""
        bare = self.run_program(*command, input=stdin)
        observed = self.attune("run", "-q", "-f", "-o", "r.attune", "--", *command, input=stdin)
        self.assertEqual(observed.returncode, bare.returncode)
        self.assertEqual(observed.stdout, bare.stdout)
        self.assertEqual(observed.stderr, bare.stderr)
        self.assert_nothing_left()
        return self.path("r.attune")

    @needs("xz")
    def test_xz(self):
        data = os.urandom(1 << 20) * 4
        with open(self.path("data"), "wb") as f:
            f.write(data)
        recording = self.same_as_without("xz", "-T2", "-0", "-k", "-c", "data")
        rows = self.query(recording, "select exit_code, exit_signal, user_ns, command from processes")
        self.assertEqual([(r["exit_code"], r["exit_signal"]) for r in rows], [(0, 0)])
        self.assertIn("xz -T2", rows[0]["command"])
        self.assertGreater(rows[0]["user_ns"], 0)

    def test_python_with_threads(self):
        program = self.write("threads.py", PYTHON_THREADS)
        recording = self.same_as_without(sys.executable, program)
        self.assertEqual(self.query(recording, "select exit_code from processes")[0]["exit_code"], 7)

    @needs("go")
    def test_static_go(self):
        self.write("main.go", GO_PROGRAM)
        build = self.run_program("go", "build", "-o", "program", "main.go",
                                 env=dict(self.env, CGO_ENABLED="0", GO111MODULE="off", HOME=self.folder, GOFLAGS=""))
        self.assertEqual(build.returncode, 0, build.stderr.decode())
        recording = self.same_as_without("./program")
        self.assertEqual(self.query(recording, "select exit_code from processes")[0]["exit_code"], 9)

    @needs("java", "javac")
    def test_java(self):
        self.write("Threads.java", JAVA_PROGRAM)
        build = self.run_program("javac", "Threads.java")
        self.assertEqual(build.returncode, 0, build.stderr.decode())
        recording = self.same_as_without("java", "-cp", ".", "Threads")
        self.assertEqual(self.query(recording, "select exit_code from processes where parent is null or parent = 0")[0]["exit_code"], 11)

    def test_program_that_changes_its_credentials(self):
        os.chmod(self.folder, 0o755)
        program = self.write("drop.py", DROP_CREDENTIALS)
        self.same_as_without("/usr/bin/python3", program)

    def test_input_descriptors_and_environment_are_the_programs(self):
        self.same_as_without("sh", "-c", "cat; ls /proc/self/fd | wc -l; ulimit -a; umask; cat /proc/self/status | grep -E 'Sig(Blk|Ign|Cgt)|NoNewPrivs|Seccomp'",
                             stdin=b"some\0input\n")

    def test_death_by_a_signal_is_handed_on(self):
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGABRT, signal.SIGINT):
            result = self.attune("run", "-q", "-f", "-o", "r.attune", "--", "sh", "-c", f"kill -{int(number)} $$")
            self.assertEqual(result.returncode, -int(number))
            row = self.query(self.path("r.attune"), "select exit_code, exit_signal from processes")[0]
            self.assertEqual(row["exit_signal"], int(number))

    def test_a_signal_to_attune_reaches_the_program(self):
        program = self.write("trap.sh", "trap 'echo caught; exit 42' USR1\necho ready\nwhile :; do sleep 0.05; done\n")
        running = subprocess.Popen([ATTUNE, "run", "-q", "-o", "r.attune", "--", "sh", program], cwd=self.folder, env=self.env, stdout=subprocess.PIPE)
        self.assertEqual(running.stdout.readline(), b"ready\n")
        running.send_signal(signal.SIGUSR1)
        self.assertEqual(running.stdout.read(), b"caught\n")
        self.assertEqual(running.wait(PATIENCE_S), 42)

    def launched_as_a_job(self, *command):
        """In a process group of its own, as a shell starts a job: in an orphaned one SIGTSTP stops nothing."""
        running = subprocess.Popen([ATTUNE, *command], cwd=self.folder, env=self.env, preexec_fn=os.setpgrp)
        self.addCleanup(running.kill)
        return running

    def test_a_stopped_program_stops_attune_and_both_go_on(self):
        by_itself, tidied = "kill -TSTP $$; exit 6", "trap 'kill -STOP $$; exit 6' TSTP; kill -TSTP 0; while :; do sleep 0.01; done"
        for command, program in ((("run", "-q", "-o", "r.attune"), by_itself), (("counters", "-o", "counts.txt"), by_itself),
                                 (("counters", "-o", "counts.txt"), tidied)):
            running = self.launched_as_a_job(*command, "--", "sh", "-c", program)
            _, status = os.waitpid(running.pid, os.WUNTRACED)
            self.assertTrue(os.WIFSTOPPED(status))
            os.kill(running.pid, signal.SIGCONT)
            _, status = os.waitpid(running.pid, 0)
            running.returncode = 0
            self.assertEqual(os.waitstatus_to_exitcode(status), 6)

    def test_a_program_that_is_stopped_alone_goes_on_alone(self):
        program = 'while :; do case $(cat /proc/$0/stat) in *") T "*) break;; esac; done; kill -CONT $0'
        for command in (("run", "-q", "-o", "r.attune"), ("counters", "-o", "counts.txt")):
            running = self.launched_as_a_job(*command, "--", "sh", "-c", f"sh -c '{program}' $$ & kill -STOP $$; exit 3")
            _, status = os.waitpid(running.pid, os.WUNTRACED)
            running.returncode = 0
            self.assertFalse(os.WIFSTOPPED(status))
            self.assertEqual(os.waitstatus_to_exitcode(status), 3)

    def test_500_short_processes_are_all_seen_with_their_exit_codes(self):
        program = self.write("many.sh", "i=0\nwhile [ $i -lt 500 ]; do /bin/sh -c \"exit $((i % 100))\"; i=$((i+1)); done\nexit 3\n")
        recording = self.same_as_without("sh", program)
        tracking = self.query(recording, "select value from info where key = 'tracking'")[0]["value"]
        if tracking.startswith("polling"):
            self.skipTest("only polling is permitted here, which misses short processes: " + tracking)
        rows = self.query(recording, "select exit_code, count(*) as n from processes where command like '/bin/sh -c exit%' group by 1 order by 1")
        self.assertEqual([(r["exit_code"], r["n"]) for r in rows], [(i, 5) for i in range(100)])

    def test_a_program_that_cannot_run_is_an_error_and_leaves_nothing(self):
        result = self.attune("run", "-o", "r.attune", "--", "no-such-program")
        self.assertEqual(result.returncode, 5)
        self.assertRegex(result.stderr.decode(), r"cannot run 'no-such-program': No such file")
        self.assertFalse(os.path.exists(self.path("r.attune")))
        self.assert_nothing_left()

    def test_a_program_that_dies_at_once_is_recorded(self):
        recording = self.same_as_without("false")
        self.assertEqual(self.query(recording, "select exit_code from processes")[0]["exit_code"], 1)

    def test_observing_a_running_process_does_not_touch_it(self):
        target = subprocess.Popen(["sh", "-c", "read line; exit 8"], stdin=subprocess.PIPE, cwd=self.folder)
        watcher = subprocess.Popen([ATTUNE, "run", "-q", "-o", "r.attune", "-p", str(target.pid)], cwd=self.folder, env=self.env)
        def is_watched():
            status = self.attune("ctl", "status")
            return status.returncode == 0 and json.loads(status.stdout)["running"] > 0
        while not is_watched():
            self.assertIsNone(watcher.poll())
        target.communicate(b"go\n")
        self.assertEqual(target.wait(PATIENCE_S), 8)
        self.assertEqual(watcher.wait(PATIENCE_S), 0)
        rows = self.query(self.path("r.attune"), f"select pid from processes where pid = {target.pid}")
        self.assertEqual(len(rows), 1)
        self.assert_nothing_left()


if __name__ == "__main__":
    main()
