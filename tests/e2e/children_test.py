"""Programs that cannot live with a preloaded library, started by one that is observed: they start and end as without attune."""

import json
import os
import shutil
import subprocess
import unittest

from attune_e2e import ATTUNE, BUILD, E2E, needs

STARTER = os.path.join(BUILD, "tests/e2e/starter")
WAYS = ("execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "fexecve", "execveat", "posix_spawn", "posix_spawnp", "system", "popen",
        "vfork")
PROGRAM = """#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int main(void) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  const char* preload = getenv("LD_PRELOAD");
  printf("hello %s\\n", preload == NULL ? "" : "preloaded");
  return 3;
}
"""
# No C library's headers or start files for these are needed.
PROGRAM_32 = """int puts(const char*);
void exit(int);
void _start(void) { puts("hello "); exit(3); }
"""
SANITIZER = "built with a sanitizer, which must be the first library"
OTHER_LIBRARY = "of another C library than glibc"
OTHER_PROCESSOR = "for another kind of processor"
NO_PROBE = "where the probe library cannot be read (another root folder, or another user)"


# Two threads of a child in a PID namespace of its own, where it has the number 1, contend until both have waited; then its own child does, by fork alone.
IN_NAMESPACE = """#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static void* work(void* unused) {
  const double end = now() + 0.3;
  while (now() < end) {
    pthread_mutex_lock(&mutex);
    const double held = now() + 0.002;
    while (now() < held) {
    }
    pthread_mutex_unlock(&mutex);
    sched_yield();
  }
  return unused;
}
static void contend(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
}
int main(int argc, char** argv) {
  (void)argv;
  if (argc > 1) {
    contend();
    if (fork() == 0) {
      contend();
      _exit(0);
    }
    wait(NULL);
    return getpid();
  }
  if (unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) return 77;
  if (fork() == 0) {
    execl("/proc/self/exe", "inner", "child", (char*)0);
    _exit(78);
  }
  int status = 0;
  wait(&status);
  return WEXITSTATUS(status);
}
"""

# Waits for a child that sleeps, by functions that wait by system calls of their own.
WAITS = """#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void with_waitpid(void) {
  const pid_t child = fork();
  if (child == 0) {
    usleep(50000);
    _exit(0);
  }
  waitpid(child, NULL, 0);
}
static void with_system(void) {
  if (system("sleep 0.05") != 0) exit(1);
}
static void with_pclose(void) {
  if (pclose(popen("sleep 0.05", "r")) != 0) exit(1);
}
int main(void) {
  with_waitpid();
  with_system();
  with_pclose();
  return system(NULL) == 0 || system("exit 3") >> 8 != 3;
}
"""


class Children(E2E):
    def setUp(self):
        super().setUp()
        self.env["PATH"] = self.folder + ":" + self.env["PATH"]

    def build(self, *command, source=PROGRAM):
        self.write("program.c", source)
        built = self.run_program(*command, "-o", "program")
        if built.returncode != 0:
            self.skipTest(built.stderr.decode().splitlines()[-1])
        return self.path("program")

    def observed(self, *command):
        """What the command prints and how it ends, which is as without attune."""
        alone = self.run_program(*command)
        result = self.attune("run", "-q", "-s", "none", "-f", "-o", "r.attune", "--", *command)
        self.assertEqual((result.stdout, result.stderr, result.returncode), (alone.stdout, alone.stderr, alone.returncode), command)
        return result

    def unseen(self):
        report = self.attune("report", "r.attune", "--json")
        self.assertEqual(report.returncode, 0, report.stderr)
        return json.loads(report.stdout)["unseen"]

    def starts_in_each_way(self, path, why, ways=WAYS):
        for way in ways:
            with self.subTest(way=way):
                result = self.observed(STARTER, way, path)
                self.assertEqual((result.stdout, result.returncode), (b"hello \n", 3))
                self.assertIn(f"locks and waits of 1 program that others started: {why}", self.unseen())

    def starts_by_other_programs(self, path):
        self.write("Makefile", f"all:\n\t@{path}\n")
        self.write("script", f"#!{path}\n", 0o755)
        self.observed("sh", "-c", path)
        self.observed("sh", "-c", f"{path}; echo $?")
        self.observed("sh", "-c", self.path("script"))
        self.observed("make", "-s")
        self.observed("env", "A=b", path)
        for options in ("", ", close_fds=False", ", preexec_fn=lambda: None"):
            self.observed("python3", "-c", f"import subprocess, sys; sys.exit(subprocess.run(['{path}']{options}).returncode)")

    @needs("gcc")
    def test_other_pid_namespaces(self):
        path = self.build("gcc", "-O1", "-g", "-pthread", "program.c", source=IN_NAMESPACE)
        if subprocess.run([path], check=False).returncode == 77:
            self.skipTest("user namespaces are not permitted")
        result = self.attune("run", "-q", "-s", "none", "-f", "-o", "r.attune", "--", path)
        self.assertEqual(result.returncode, 1, "the child sees itself as process 1")
        processes = {row["pid"]: row["id"] for row in self.query("r.attune", "select id, pid from processes")}
        self.assertEqual(len(processes), 3, processes)
        waits = self.query("r.attune", "select process.os_id as pid, thread.os_id as tid, count(*) as n from events join elements thread on thread.id = thread"
                                       " join elements process on process.id = thread.parent where events.kind = 'wait' group by pid, tid")
        # The program itself only waits for its child.
        self.assertEqual(sorted({row["pid"] for row in waits}), sorted(processes), waits)
        for row in waits:
            self.assertGreater(row["tid"], 100, waits)
        self.assertEqual([what for what in self.unseen() if "PID namespace" in what], [])

    @needs("gcc")
    def test_each_wait_for_a_child_has_its_place(self):
        path = self.build("gcc", "-O0", "-g", "program.c", source=WAITS)
        self.observed(path)
        rows = self.query("r.attune", "select sum(wait_ns) as ns, site from sync join elements thread on thread.id = thread where sync.kind = 'child' and thread.parent ="
                                      " (select min(id) from processes) group by site")
        self.assertEqual(len([row for row in rows if row["ns"] >= 50e6]), 3, rows)

    @needs("gcc")
    def test_sanitizers_of_gcc(self):
        for sanitizer in ("address", "thread"):
            path = self.build("gcc", f"-fsanitize={sanitizer}", "program.c")
            self.starts_in_each_way(path, SANITIZER)
            self.starts_by_other_programs(path)
        for sanitizer in ("undefined", "leak"):
            path = self.build("gcc", f"-fsanitize={sanitizer}", "program.c", source=PROGRAM.replace("\"preloaded\"", "\"\""))
            for way in WAYS:
                self.observed(STARTER, way, path)

    @needs("clang-19")
    def test_sanitizers_of_clang(self):
        """They are linked statically, and do not mind."""
        for sanitizer in ("address", "thread", "memory", "undefined", "leak"):
            path = self.build("clang-19", f"-fsanitize={sanitizer}", "program.c", source=PROGRAM.replace("\"preloaded\"", "\"\""))
            self.starts_by_other_programs(path)
            self.observed(path)

    @needs("musl-gcc")
    def test_another_c_library(self):
        path = self.build("musl-gcc", "program.c")
        self.starts_in_each_way(path, OTHER_LIBRARY)
        self.starts_by_other_programs(path)
        self.observed(path)
        self.observed("sh", "-c", f"/lib/ld-musl-$(uname -m).so.1 {path}")
        path = self.build("musl-gcc", "-static", "program.c", source=PROGRAM.replace("\"preloaded\"", "\"\""))
        self.observed("sh", "-c", path)

    @unittest.skipUnless(os.path.exists("/lib32/libc.so.6") and os.path.exists("/lib/ld-linux.so.2"), "no 32-bit C library")
    def test_another_word_size(self):
        path = self.build("gcc", "-m32", "-fno-pie", "-no-pie", "-nostdlib", "-fno-builtin", "program.c", "/lib32/libc.so.6", "-Wl,-dynamic-linker,/lib/ld-linux.so.2",
                          source=PROGRAM_32)
        self.starts_in_each_way(path, OTHER_PROCESSOR)
        self.starts_by_other_programs(path)

    @unittest.skipUnless(os.geteuid() == 0, "chroot needs root")
    def test_another_root_folder(self):
        root = self.path("root")
        libraries = subprocess.run(["ldd", "/bin/sh", shutil.which("cat")], capture_output=True, text=True, check=True).stdout
        for path in {word for word in libraries.split() if word.startswith("/") and not word.endswith(":")} | {"/bin/sh", shutil.which("cat")}:
            os.makedirs(os.path.dirname(root + path), exist_ok=True)
            shutil.copy(path, root + path)
        self.write("root/file", "text\n")
        self.observed("chroot", root, "/bin/sh", "-c", "cat /file; exit 3")
        self.assertIn(f"locks and waits of 1 program that others started: {NO_PROBE}", self.unseen())
        inside = f"import os; os.chroot('{root}'); print(os.system('cat /file'), flush=True); print(os.popen('cat /file').read())"
        self.observed("python3", "-c", inside)

    def test_all_others_keep_it(self):
        """What the user has in LD_PRELOAD stays there, in its order, and comes to those that are left alone too."""
        path = self.build("gcc", "-O1", "program.c")
        for way in WAYS:
            result = self.attune("run", "-q", "-s", "none", "-f", "-o", "r.attune", "--", STARTER, way, path, env=dict(self.env, EXPECT_PRELOAD="1"))
            self.assertEqual((result.stdout, result.returncode), (b"hello preloaded\n", 3), (way, result.stderr))
        preload = os.path.join(BUILD, "tests/e2e/own_preload.so")
        asan = self.build("gcc", "-fsanitize=address", "program.c", source=PROGRAM.replace("\"preloaded\"", "preload"))
        for way in WAYS:
            env = dict(self.env, LD_PRELOAD=preload, ASAN_OPTIONS="verify_asan_link_order=0", EXPECT_PRELOAD="1")
            result = self.attune("run", "-q", "-s", "none", "-f", "-o", "r.attune", "--", STARTER, way, asan, env=env)
            self.assertEqual((result.stdout, result.returncode), (f"hello {preload}\n".encode(), 3), (way, result.stderr))


if __name__ == "__main__":
    unittest.main(verbosity=2)
