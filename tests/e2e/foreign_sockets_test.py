#!/usr/bin/env python3
"""Sockets of others in place of a session's own, and source files of others in debug information, under a real sudo.

ATTUNE_FULL=1: 1 000 rounds of each race in place of 10. By hand: sudo tests/e2e/foreign_sockets_test.py
"""

import glob
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time

import attune_e2e
from attune_e2e import FULL, PATIENCE_S, needs
from page_client import Page
from under_sudo import SECRET, USER, Sudo

ROUNDS = 1000 if FULL else 10
# Threads that wait for one lock after another, each in a function that says to be of another file.
LINES = r"""#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void meet(void) { pthread_mutex_lock(&mutex); usleep(1000); pthread_mutex_unlock(&mutex); }
FUNCTIONS
static void* work(void* nothing) { while (access("end", F_OK) != 0) { CALLS meet(); } return nothing; }
int main(void) {
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  puts("done");
  return 0;
}
"""
FUNCTION = """#line 1 "{path}"
void place{i}(void) {{ pthread_mutex_lock(&mutex); usleep(1000); pthread_mutex_unlock(&mutex); }}
"""


class Listener:
    """A socket of somebody's that takes connections.
    @param answer what each gets, again and again if `endless`; None: silence"""

    def __init__(self, path, owner=USER, answer=None, endless=False):
        self.path, self.answer, self.endless, self.count = path, answer, endless, 0
        self.connections = []
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(path)
        os.chown(path, owner, owner)
        os.chmod(path, 0o600)
        self.socket.listen(100)
        self.stopped = False
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        while not self.stopped:
            try:
                connection, _ = self.socket.accept()
            except OSError:  # it is shut down
                return
            self.count += 1
            self.connections.append(connection)
            connection.settimeout(1)
            try:
                while self.answer is not None and not self.stopped:
                    connection.sendall(self.answer)
                    if not self.endless:
                        break
            except OSError:
                pass

    def stop(self):
        self.stopped = True
        self.socket.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        for each in (*self.connections, self.socket):
            each.close()


class Sockets(Sudo):
    def setUp(self):
        super().setUp()
        self.roots = self.path("roots")
        os.mkdir(self.roots, 0o700)
        self.listener = Listener(os.path.join(self.roots, "server"), owner=0)
        self.addCleanup(self.listener.stop)

    def start(self, *options):
        """A session under sudo whose program waits. @return the process, the folders of the session and of its rings"""
        ring_folders = set(glob.glob(f"/dev/shm/attune-{USER}-*"))
        process = subprocess.Popen(self.command("sudo", "-n", self.binary, "run", "-q", "-f", *options, "-o", "r.attune", "--", "sh", "-c",
                                                f"echo begun; read line; exec {self.locks} 3 20"),
                                   cwd=self.home, env={"PATH": os.environ["PATH"]}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.abandon, process)
        self.assertEqual(process.stdout.readline(), b"begun\n")
        listed = self.sudo("list", "sessions", "--json")
        session = json.loads(listed.stdout)[0]
        ring_folder = (set(glob.glob(f"/dev/shm/attune-{USER}-*")) - ring_folders).pop()
        return process, session["folder"], ring_folder

    @staticmethod
    def abandon(process):
        """Ends what a test that failed has left."""
        if process.poll() is None:
            process.stdin.close()
            process.wait(timeout=PATIENCE_S)
        for stream in (process.stdout, process.stderr):
            stream.close()

    def finish(self, process):
        out, said = process.communicate(b"\n", timeout=300)
        self.assertEqual((process.returncode, out), (0, b"3 rounds\n"), said.decode())

    def replace(self, path, target):
        os.symlink(target, path + ".planted")
        os.lchown(path + ".planted", USER, USER)
        os.rename(path + ".planted", path)

    def test_the_sessions_folders_are_closed_to_others(self):
        process, folder, ring_folder = self.start()
        for path in (folder, ring_folder):
            status = os.stat(path)
            self.assertEqual((status.st_uid, status.st_mode & 0o777), (USER, 0o700), path)
        self.finish(process)

    def test_a_socket_of_roots_is_not_spoken_to(self):
        process, folder, ring_folder = self.start()
        self.replace(os.path.join(folder, "ctl"), self.listener.path)
        self.replace(os.path.join(ring_folder, "socket"), self.listener.path)
        results = [self.sudo("ctl", *words) for words in (["label", "x"], ["status"], ["record", "other.attune"], ["stop"])]
        for result in results:
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(b"takes no commands", result.stderr)
        self.finish(process)
        self.assertEqual(self.listener.count, 0)
        self.assert_secret_is_kept(*results)

    def test_what_a_foreign_socket_answers_harms_nobody(self):
        for answer, endless in ((None, False), (b"\x1b]0;owned\x07{]\n", False), (b"[" * 100000 + b"\n", False),
                                (b"x" * 65536, True), (b'{"ok":true}\n', True), (b'{"ok":false,"code":99999999999999999999,"error":7}\n', False)):
            process, folder, ring_folder = self.start()
            foreign = Listener(os.path.join(self.home, "foreign"), answer=answer, endless=endless)
            for path in (os.path.join(folder, "ctl"), os.path.join(ring_folder, "socket")):
                self.replace(path, foreign.path)
            begin = time.monotonic()
            result = self.sudo("ctl", "status")
            self.assertLess(time.monotonic() - begin, 100, answer)
            self.assertNotIn(b"\x1b", result.stdout + result.stderr)
            self.assertNotIn(b"defect of attune", result.stderr)
            self.assertIn(result.returncode, range(7))
            self.finish(process)
            self.assertGreater(foreign.count, 0)
            foreign.stop()
            os.unlink(foreign.path)

    def test_races_of_links_with_the_sockets(self):
        """The user puts links to a file and to a socket of root's in place of the sockets that a session makes."""
        ended = threading.Event()

        def swap():
            while not ended.is_set():
                for target in (self.secret, self.listener.path):
                    for path in (*glob.glob(f"/dev/shm/attune-{USER}-*/"), *glob.glob(f"/tmp/attune-{USER}/*/")):
                        for name in ("ctl", "socket", "info.json"):
                            try:
                                self.replace(path + name, target)
                            except OSError:
                                pass

        thread = threading.Thread(target=swap)
        thread.start()
        try:
            script = f"for i in $(seq {ROUNDS}); do sudo -n {self.binary} run -q -f -s none --cpu-samples off -o race.attune -- true; done"
            result = subprocess.run(self.command("sh", "-c", script), cwd=self.home, env={"PATH": os.environ["PATH"]}, capture_output=True,
                                    stdin=subprocess.DEVNULL, timeout=PATIENCE_S)
        finally:
            ended.set()
            thread.join()
        self.assert_secret_is_kept(result)
        status = os.stat(self.listener.path)
        self.assertEqual((self.listener.count, status.st_uid, status.st_mode & 0o777), (0, 0, 0o600))


@needs("cc")
class SourceLines(Sudo):
    def test_lines_of_a_file_of_roots_are_not_shown(self):
        own = self.at_home("own.c")
        with open(own, "w", encoding="utf-8") as f:
            f.write("the user's own line\n")
        linked = self.link("linked.c")
        os.mkfifo(self.at_home("fifo.c"))
        paths = [own, self.secret, linked, self.at_home("fifo.c"), "/etc/shadow", "/proc/1/environ", "/dev/zero", f"{self.home}/../secret"]
        functions = "".join(FUNCTION.format(path=path, i=i) for i, path in enumerate(paths))
        program = self.path("lines")
        subprocess.run(["cc", "-g", "-O0", "-Wl,--build-id", "-x", "c", "-", "-o", program, "-lpthread"], check=True,
                       input=LINES.replace("FUNCTIONS", functions).replace("CALLS", "".join(f"place{i}(); " for i in range(len(paths)))).encode())
        process = subprocess.Popen(self.command("sudo", "-n", self.binary, "run", "--live", "-o", "r.attune", "--", program), cwd=self.home,
                                   env={"PATH": os.environ["PATH"]}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            url = next(found[1] for line in process.stderr if (found := re.search(r"page at (\S+)", line)))
            texts = self.sources(Page(url), {f"place{i}": path for i, path in enumerate(paths)})
        finally:
            with open(self.at_home("end"), "w", encoding="utf-8"):
                pass
            time.sleep(0.5)
            process.send_signal(signal.SIGTERM)
            out, said = process.communicate(timeout=300)
        self.assertIn("the user's own line", texts["place0"].get("text", ""), texts["place0"])
        for name, answer in texts.items():
            if name != "place0":
                self.assertNotIn("text", answer, name)
                self.assertTrue(answer["error"], name)
        shown = json.dumps(texts) + out + said
        self.assertNotIn(SECRET, shown)
        self.assertNotIn("root:", shown)

    def sources(self, page, wanted):
        """The answers for the first place in each function."""
        page.log_in()
        web_socket = page.web_socket()
        web_socket.until("hello")

        def places():
            web_socket.send({"document": {"name": "sites", "version": 0}})
            sites = json.loads(web_socket.until("document", name="sites").get("text", '{"sites": []}'))["sites"]
            found = {site["function"]: site["id"] for site in sites}
            return found if set(wanted) <= set(found) else None

        found = self.until(places, "the places", 0.2)
        answers = {}
        for name in wanted:
            web_socket.send({"source": {"site": found[name]}})
            answers[name] = web_socket.until("source", site=str(found[name]))
        web_socket.close()
        return answers


del Sudo  # its tests are those of the classes above

if __name__ == "__main__":
    attune_e2e.main()
