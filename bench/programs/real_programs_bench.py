#!/usr/bin/python3
"""What `attune run` with its defaults costs real programs: the time that a program or a number of requests to a server
takes under attune, divided by the time alone. Also the start and the end of attune themselves, and round trips through
two pipes, which switch threads more often than anything else.

    real_programs_bench ATTUNE [--rounds N] [--only NAME,...] [--table]

Each round runs a program alone, under attune, and alone again, in an order that changes; ratios are paired. The figure
is the median of the rounds, with the 95 % interval of that median and the same against the same. The program's own time
is measured, from its start to its end; attune's start and end are figures of their own. Prints the lines that
`./dev bench` makes a table of, or with --table a table. Programs that are not installed are reported as unavailable.
"""

import argparse
import json
import math
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import textwrap
import time

ROUNDS = 11
WORST = 1.03  # limit for each program
MEDIAN = 1.01  # limit for the median of all programs
START_END_MS = 30
PIPES = 1.03
MEGABYTE = 1 << 20


class Unavailable(Exception):
    pass


def program(name):
    path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin")
    if path is None:
        raise Unavailable(f"{name} is not installed")
    return path


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def await_port(port, server):
    end = time.monotonic() + 60
    while time.monotonic() < end and server.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise Unavailable(f"{' '.join(server.args)} does not answer")


class Program:
    """A command whose time counts."""

    def __init__(self, prepare):
        self.prepare = prepare

    def setup(self, folder):
        self.folder = folder
        self.command = self.prepare(folder)

    def measure(self, prefix):
        """Seconds from the command's start to its end, as the process that starts it sees them, and its CPU time."""
        result = os.path.join(self.folder, "time")
        subprocess.run([*prefix, sys.executable, __file__, "--measure", result, *self.command], cwd=self.folder,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        with open(result) as file:
            return tuple(float(word) for word in file.read().split())


class Server:
    """A server that runs under attune; a client, which does not, has its requests answered."""

    def __init__(self, prepare):
        self.prepare = prepare

    def setup(self, folder):
        self.folder = folder
        self.port = free_port()
        self.command, self.client = self.prepare(folder, self.port)

    def measure(self, prefix):
        with subprocess.Popen([*prefix, *self.command], cwd=self.folder, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as server:
            try:
                await_port(self.port, server)
                begin = time.monotonic()
                subprocess.run(self.client, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
                return time.monotonic() - begin, None
            finally:
                server.terminate()


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write(textwrap.dedent(text))
    return path


def input_of(folder, megabytes):
    """Text that can be compressed about as well as prose: words of a fixed sequence."""
    path = os.path.join(folder, "input")
    state = 1
    words = []
    for _ in range(20000):
        state = state * 1103515245 % (1 << 31) + 12345
        words.append(f"{state % 5003:x}")
    text = " ".join(words).encode()
    with open(path, "wb") as file:
        while file.tell() < megabytes * MEGABYTE:
            file.write(text)
            state = state * 1103515245 % (1 << 31) + 12345
            file.write(b"%x\n" % state)
    return path


def compressor(name, options, megabytes):
    return Program(lambda folder: [program(name), *options, "-c", input_of(folder, megabytes)])


def video(folder, name):
    frames = os.path.join(folder, "frames.y4m")
    with open(frames, "wb") as file:
        file.write(b"YUV4MPEG2 W352 H288 F25:1 Ip A1:1 C420jpeg\n")
        for number in range(60):
            row = bytes((x * 3 + number * 5) % 256 for x in range(352))
            luma = b"".join(row[y % 61:] + row[:y % 61] for y in range(288))
            file.write(b"FRAME\n" + luma + bytes([128]) * (352 * 288 // 2))
    if name == "x264":
        return [program(name), "--preset", "medium", "-o", os.path.join(folder, "out.264"), frames]
    return [program(name), "-y", "-loglevel", "error", "-stream_loop", "4", "-i", frames, "-c:v", "mpeg4",
            os.path.join(folder, "out.mp4")]


def gcc(folder):
    source = write(folder, "unit.cpp", """\
        #include <algorithm>
        #include <map>
        #include <regex>
        #include <string>
        #include <vector>
        int main(int argc, char** argv) {
          std::map<std::string, std::vector<int>> seen;
          for (int i = 0; i < argc; ++i) seen[argv[i]].push_back(i);
          return std::regex_match(argv[0], std::regex("a+b")) ? static_cast<int>(seen.size()) : 0;
        }
        """)
    return [program("g++"), "-O1", "-c", source, "-o", os.path.join(folder, "unit.o")]


def sqlite(folder):
    script = write(folder, "work.sql", """\
        create table t(a integer primary key, b integer, c text);
        with recursive n(i) as (select 1 union all select i + 1 from n where i < 300000)
          insert into t select i, i * 7919 % 100003, 'text ' || i from n;
        create index by_b on t(b);
        select sum(x.a), count(*) from t x join t y on x.b = y.b where y.a % 3 = 0;
        """)
    return [program("sqlite3"), ":memory:", f".read {script}"]


def node(folder):
    script = write(folder, "work.js", """\
        const zlib = require('zlib');
        const words = new Map();
        for (let i = 0; i < 3e6; ++i) words.set('w' + i % 5003, (words.get('w' + i % 5003) || 0) + i);
        for (let i = 0; i < 8; ++i)
          zlib.deflate(Buffer.alloc(1 << 21, JSON.stringify([...words])), () => {});
        """)
    return [program("node"), script]


def java(folder):
    program("javac")
    write(folder, "Work.java", """\
        import java.util.*;
        public class Work {
          public static void main(String[] arguments) {
            Map<Integer, List<Integer>> lists = new HashMap<>();
            for (int i = 0; i < 6_000_000; ++i)
              lists.computeIfAbsent(i * 7919 % 10007, key -> new ArrayList<>()).add(i);
            System.out.println(lists.values().parallelStream().mapToLong(
                list -> list.stream().mapToLong(i -> i % 17).sum()).sum());
          }
        }
        """)
    subprocess.run(["javac", "Work.java"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return [program("java"), "-Xmx1g", "-cp", folder, "Work"]


def numpy(folder):
    if subprocess.run(["/usr/bin/python3", "-c", "import numpy"], stderr=subprocess.DEVNULL).returncode != 0:
        raise Unavailable("python3-numpy is not installed")
    return ["/usr/bin/python3", write(folder, "work.py", """\
        import numpy
        a = numpy.random.default_rng(1).random((900, 900))
        for _ in range(6):
            a = a @ a
            a /= a.max()
        numpy.linalg.svd(a[:400, :400])
        """)]


def python(folder):
    return ["/usr/bin/python3", write(folder, "pure.py", """\
        words = {}
        for i in range(1500000):
            words[i % 5003] = words.get(i % 5003, 0) + i
        print(sum(words.values()))
        """)]


def magick(folder):
    return [program("gm"), "convert", "-size", "1400x1000", "plasma:blue-red", "-blur", "0x3", "-rotate", "7",
            os.path.join(folder, "out.png")]


def lammps(folder):
    script = shutil.copy(os.path.join(os.path.dirname(os.path.abspath(__file__)), "in.melt"), folder)
    lmp = program("lmp")
    return [program("mpirun"), "--allow-run-as-root", "--oversubscribe", "-n", "2", lmp, "-in", script]


def sysbench(folder):
    return [program("sysbench"), "threads", "--threads=4", "--events=6000", "--time=0", "run"]


def redis(folder, port):
    # Debian's redis-tools has the server under another name.
    name = shutil.which("redis-server") or program("redis-check-rdb")
    server = os.path.join(folder, "redis-server")
    if not os.path.exists(server):
        os.symlink(name, server)
    return ([server, "--port", str(port), "--save", "", "--appendonly", "no"],
            [program("redis-benchmark"), "-p", str(port), "-t", "set,get", "-n", "60000", "-c", "20", "-q"])


def nginx(folder, port):
    write(folder, "index.html", "<p>Hello.</p>\n" * 20)
    settings = write(folder, "nginx.conf", f"""\
        daemon off;
        master_process on;
        worker_processes 2;
        pid {folder}/nginx.pid;
        error_log /dev/null;
        events {{ worker_connections 256; }}
        http {{ access_log off; server {{ listen 127.0.0.1:{port}; root {folder}; }} }}
        """)
    os.chmod(folder, 0o755)
    return ([program("nginx"), "-c", settings, "-p", folder],
            [program("ab"), "-q", "-k", "-n", "60000", "-c", "16", f"http://127.0.0.1:{port}/index.html"])


PROGRAMS = {
    "xz": compressor("xz", ["-3", "-T2"], 24),
    "pigz": compressor("pigz", ["-p2"], 48),
    "pbzip2": compressor("pbzip2", ["-p2"], 12),
    "zstd": compressor("zstd", ["-9", "-T2"], 48),
    "ffmpeg": Program(lambda folder: video(folder, "ffmpeg")),
    "x264": Program(lambda folder: video(folder, "x264")),
    "gm": Program(magick),
    "g++": Program(gcc),
    "sqlite3": Program(sqlite),
    "node": Program(node),
    "java": Program(java),
    "numpy": Program(numpy),
    "python3": Program(python),
    "sysbench threads": Program(sysbench),
    "mpirun lmp": Program(lammps),
    "redis": Server(redis),
    "nginx": Server(nginx),
}


def pipes(cpus):
    def prepare(folder):
        source = write(folder, "pipes.c", """\
            #define _GNU_SOURCE
            #include <sched.h>
            #include <stdlib.h>
            #include <sys/wait.h>
            #include <unistd.h>
            static void pin(int cpu) {
              cpu_set_t set;
              CPU_ZERO(&set);
              CPU_SET(cpu, &set);
              sched_setaffinity(0, sizeof set, &set);
            }
            int main(int argc, char** argv) {
              int there[2], back[2], trips = atoi(argv[1]);
              char byte = 1;
              if (argc != 4 || pipe(there) != 0 || pipe(back) != 0) return 1;
              const int is_child = fork() == 0;
              pin(atoi(argv[is_child ? 3 : 2]));
              for (int i = 0; i < trips; ++i) {
                if (!is_child && write(there[1], &byte, 1) != 1) return 1;
                if (read((is_child ? there : back)[0], &byte, 1) != 1) return 1;
                if (is_child && write(back[1], &byte, 1) != 1) return 1;
              }
              if (!is_child) wait(NULL);
              return 0;
            }
            """)
        allowed = sorted(os.sched_getaffinity(0))
        if len(allowed) < cpus:
            raise Unavailable(f"this machine has fewer than {cpus} CPUs")
        target = os.path.join(folder, "pipes")
        subprocess.run([program("gcc"), "-O2", "-o", target, source], check=True)
        return [target, "200000", str(allowed[0]), str(allowed[cpus - 1])]

    return Program(prepare)


def spread_of(values):
    """Median and its 95 % interval by order statistics, as bench/harness/figure.cpp."""
    values = sorted(values)
    count = len(values)
    reach = 0.98 * math.sqrt(count)
    low = max(1, math.floor(count / 2 - reach))
    high = min(count, math.ceil(count / 2 + reach))
    middle = values[count // 2] if count % 2 == 1 else (values[count // 2 - 1] + values[count // 2]) / 2
    return middle, values[low - 1], values[high - 1]


def compare(case, prefix, rounds):
    """@return spreads of under attune / alone and of alone / alone, the median seconds alone, and the spread of CPU time
    under attune / alone; None: it is not known"""
    ratios, same, alone, cpu = [], [], [], []
    case.measure([])  # files and caches
    for number in range(rounds):
        order = [("a", []), ("b", prefix), ("c", [])]
        order = order[number % 3:] + order[:number % 3]
        times = {key: case.measure(how) for key, how in order}
        ratios.append(times["b"][0] / times["a"][0])
        same.append(times["c"][0] / times["a"][0])
        alone.append(times["a"][0])
        if times["a"][1]:
            cpu.append(times["b"][1] / times["a"][1])
    return spread_of(ratios), spread_of(same), spread_of(alone)[0], spread_of(cpu) if cpu else None


def start_and_end(attune, rounds, folder):
    """Milliseconds that a program which does nothing takes longer."""
    added = []
    for _ in range(rounds):
        times = []
        for prefix in ([], prefix_of(attune, folder)):
            begin = time.monotonic()
            subprocess.run([*prefix, program("true")], check=True)
            times.append((time.monotonic() - begin) * 1e3)
        added.append(times[1] - times[0])
    return spread_of(added)


def prefix_of(attune, folder):
    return [attune, "run", "-q", "-f", "-o", os.path.join(folder, "recording.attune"), "--"]


def figure(name, value, unit, limit, note, spread):
    return {"figure": name, "value": value, "unit": unit, "limit": limit, "better": "lower", "note": note,
            "spread": spread}


def measured(name, case, attune, rounds, limit):
    with tempfile.TemporaryDirectory(prefix="attune-bench-") as folder:
        try:
            case.setup(folder)
            ratio, same, alone, cpu = compare(case, prefix_of(attune, folder), rounds)
        except Unavailable as error:
            return {"figure": name, "unavailable": str(error)}
        except (subprocess.CalledProcessError, OSError) as error:
            return {"figure": name, "failed": True, "note": str(error)}
    note = (f"{rounds} rounds of {alone:.2f} s, 95 % bounds {ratio[1]:.3f} to {ratio[2]:.3f}, same against same "
            f"{same[0]:.3f} ({same[1]:.3f} to {same[2]:.3f})")
    if cpu is not None:
        note += f", CPU time {cpu[0]:.3f} ({cpu[1]:.3f} to {cpu[2]:.3f})"
    return figure(name, ratio[0], "ratio", limit, note, ratio[1:])


def show(line, as_table):
    if not as_table:
        print(json.dumps(line), flush=True)
    elif "value" in line:
        print(f"{line['figure']:32} {line['value']:8.3f} {line['unit']:6} {line['note']}", flush=True)
    else:
        print(f"{line['figure']:32} {line.get('unavailable', 'failed')}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("attune")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", default="")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    wanted = set(filter(None, options.only.split(",")))
    attune = os.path.abspath(options.attune)
    values = []
    for name, case in PROGRAMS.items():
        if wanted and name not in wanted:
            continue
        line = measured(f"real program, {name}", case, attune, options.rounds, WORST)
        show(line, options.table)
        if "value" in line:
            values.append(line["value"])
    if len(values) > 1:
        median = spread_of(values)
        show(figure("real programs, median", median[0], "ratio", MEDIAN, f"{len(values)} programs", median[1:]),
             options.table)
    for cpus in (1, 2):
        if not wanted or "pipes" in wanted:
            name = f"round trips through pipes, {cpus} CPU{'s' if cpus > 1 else ''}"
            show(measured(name, pipes(cpus), attune, options.rounds, PIPES), options.table)
    if not wanted or "start" in wanted:
        with tempfile.TemporaryDirectory(prefix="attune-bench-") as folder:
            added = start_and_end(attune, max(21, options.rounds), folder)
        note = f"attune run -- true, 95 % bounds {added[1]:.1f} to {added[2]:.1f}"
        show(figure("start and end together", added[0], "ms", START_END_MS, note, added[1:]), options.table)


def measure(result, command):
    begin = time.monotonic()
    status = subprocess.run(command).returncode
    seconds = time.monotonic() - begin
    with open(result, "w") as file:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        file.write(f"{seconds!r} {used.ru_utime + used.ru_stime!r}")
    return status


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        sys.exit(measure(sys.argv[2], sys.argv[3:]))
    main()
