#!/usr/bin/python3
"""Planted programs, one at least for each tunlet: what its model predicts, what the trial measures, and what a whole run gains.

    tunlets_bench ATTUNE [--only NAME;...] [--seconds S] [--rounds N] [--table]

Each program does the same work again and again, for S seconds, and prints how often. `attune tune --json` says of the kept
decision what the tunlet's model expected and what the trial measured, with its 95 % interval; the count of the whole run
is compared with that of a bare run. The figure is (1 + measured) / (1 + predicted): the model is right within 0.7 to 1.3.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import tempfile
import textwrap

import real_programs_bench as real

BUILT = "tests/e2e"
LOW, HIGH = 0.7, 1.3

# A request in two pieces: the second one waits for an acknowledgement that the other side delays.
SMALL_WRITES = """
import os, socket, sys, time
end, listener = time.monotonic() + float(sys.argv[1]), socket.create_server(("127.0.0.1", 0))
if os.fork() == 0:
    server, _ = listener.accept()
    while server.recv(208, socket.MSG_WAITALL):
        server.sendall(b"answer")
    os._exit(0)
client, count = socket.create_connection(listener.getsockname()), 0
while time.monotonic() < end:
    client.sendall(b"x" * 8)
    client.sendall(b"y" * 200)
    client.recv(6, socket.MSG_WAITALL)
    count += 1
client.close()
print(count)
"""
# Four threads that compute outside of the interpreter's lock, on one CPU.
HASHING = """
import hashlib, sys, threading, time
data, end, counts = bytes(1 << 20), time.monotonic() + float(sys.argv[1]), []
def work():
    count = 0
    while time.monotonic() < end:
        hashlib.sha256(data).digest()
        count += 1
    counts.append(count)
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(sum(counts))
"""
# Each read makes a buffer of a MiB, which is given back to the kernel: its pages are faulted in again.
PIECES = """
import os, sys, time
end, (reader, writer), count = time.monotonic() + float(sys.argv[1]), os.pipe(), 0
if os.fork() == 0:
    os.close(reader)
    data = bytes(1 << 20)
    try:
        while True: os.write(writer, data)
    except BrokenPipeError: os._exit(0)
os.close(writer)
while time.monotonic() < end:
    count += len(os.read(reader, 1 << 20))
print(count)
"""


def python(text):
    def command(folder, seconds):
        path = os.path.join(folder, "program.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(text))
        return ["/usr/bin/python3", path, str(seconds)]
    return command


def on_one_cpu(make):
    return lambda folder, seconds: ["taskset", "-c", "0", *make(folder, seconds)]


def built(name):
    return lambda folder, seconds: [os.path.join(BUILT, name), str(seconds)]


def ranks(folder, seconds):
    return [real.program("mpirun"), "--allow-run-as-root", "--host", "localhost:8", "-n", "8", os.path.join(BUILT, "mpi_rounds_openmpi"), str(seconds)]


# tunlet, knob, program; how the count is read from what the program prints
CASES = {
    "team: teams of 8": ("openmp.team", built("crowd"), r"(\d+) regions"),
    "loops: costly iterations": ("openmp.schedule", lambda folder, seconds: ["env", "OMP_SCHEDULE=static", *built("loops")(folder, seconds)], r"(\d+) rounds"),
    "mpi: 8 polling ranks": ("mpi.yield", ranks, r"(\d+) rounds"),
    "placement: threads on one CPU": ("cpu.affinity", on_one_cpu(python(HASHING)), r"(\d+)"),
    "channels: requests in two pieces": ("socket.no-delay", python(SMALL_WRITES), r"(\d+)"),
    "malloc: a buffer for each read": ("malloc.keep", python(PIECES), r"(\d+)"),
    "search: a knob of its own": ("queue.batch", built(os.path.join("..", "..", "bin", "own_knob")), r"(\d+) items"),
}


def count_of(done, pattern):
    found = re.search(pattern, (done.stdout + done.stderr).decode(errors="replace"))
    if found is None:
        raise ValueError(f"it printed {done.stdout[-200:]!r}")
    return int(found.group(1))


def tuned(attune, command, folder):
    recording = os.path.join(folder, "t.attune")
    done = subprocess.run([attune, "tune", "--json", "-q", "-f", "-o", recording, "--", *command], cwd=folder, capture_output=True, check=True)
    text = done.stderr.decode(errors="replace")
    return done, json.loads(text[text.rindex("\n{\n") if "\n{\n" in text else text.index("{\n"):])["decisions"]


def measured(attune, name, options):
    knob, make, pattern = CASES[name]
    rows, gains = [], []
    with tempfile.TemporaryDirectory(prefix="attune-bench-") as folder:
        try:
            command = make(folder, options.seconds)
            for _ in range(options.rounds):
                bare = subprocess.run(command, cwd=folder, capture_output=True, check=True)
                done, decisions = tuned(attune, command, folder)
                rows += [row for row in decisions if row["knob"] == knob and row["state"] == "kept"]
                gains.append(count_of(done, pattern) / max(1, count_of(bare, pattern)))
        except real.Unavailable as error:
            return {"figure": name, "unavailable": str(error)}
        except (subprocess.CalledProcessError, OSError, ValueError) as error:
            return {"figure": name, "failed": True, "note": f"{error} {(getattr(error, 'stderr', b'') or b'')[-300:]!r}"}
    if not rows:
        said = [f"{row['knob']}={row['after']} {row['state']} ({row['reason']})" for row in decisions]
        return {"figure": name, "failed": True, "note": f"{knob} was not kept: {said}"}
    row = rows[0]
    right = statistics.median((1 + each["gain"]) / (1 + each["expected_gain"]) for each in rows)
    note = (f"{row['before']} -> {row['after']} for {row['finding'].split('/')[0] or 'no finding'}: predicted {100 * row['expected_gain']:+.0f} %, measured "
            f"{100 * row['gain']:+.0f} % ({100 * row['low']:+.0f} to {100 * row['high']:+.0f}); whole run {statistics.median(gains):.2f} times the bare one; "
            f"{len(rows)} of {options.rounds} kept")
    line = real.figure(name, right, "ratio", HIGH, note, [right, right])
    return {**line, **({"failed": True} if not LOW <= right <= HIGH else {})}


def main():
    global BUILT
    parser = argparse.ArgumentParser()
    parser.add_argument("attune")
    parser.add_argument("--only", default="", help="names, with ; between them")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=25)
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    attune = os.path.abspath(options.attune)
    BUILT = os.path.join(os.path.dirname(attune), "..", "tests", "e2e")
    wanted = set(filter(None, options.only.split(";")))
    for name in CASES:
        if not wanted or name in wanted:
            real.show(measured(attune, name, options), options.table)


if __name__ == "__main__":
    main()
