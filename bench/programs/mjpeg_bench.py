#!/usr/bin/python3
"""Motion JPEG as a dataflow graph beside libjpeg-turbo in a plain parallel loop, and ffmpeg, in the same interleaved rounds.

    mjpeg_bench BUILD [--video FILE] [--frames N] [--threads N] [--rounds N] [--table]

BUILD has examples/p2g_mjpeg and bench/dataflow/mjpeg_loop. Any video that ffmpeg reads is scaled to CIF; without one it is that of Debian's
package forensics-samples-files, repeated up to N frames (1 000). Wall time of whole programs, reading and writing included. The quality
of each is measured against the uncompressed video (PSNR, by ffmpeg), its frames are counted by ffprobe.
"""

import argparse
import glob
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import real_programs_bench as real

SAMPLE = "/usr/share/forensics-samples/original-files/movie1/*.mp4"


def sample():
    """A real video, where Debian's package is installed."""
    return next(iter(sorted(glob.glob(SAMPLE))), None)


def run(*command, threads=None):
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads)) if threads else None
    return subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout


def write_original(video, frames, path):
    """The uncompressed video that is coded: CIF, repeated up to so many frames."""
    run("ffmpeg", "-hide_banner", "-nostdin", "-stream_loop", "-1", "-i", video, "-frames:v", str(frames), "-vf", "scale=352:288",
        "-pix_fmt", "yuv420p", "-an", path)


def psnr(video, original):
    """Decibels of all planes together."""
    text = run("ffmpeg", "-hide_banner", "-nostdin", "-i", video, "-i", original, "-lavfi", "psnr", "-f", "null", "-")
    return float(re.search(r"PSNR .*average:([0-9.]+)", text)[1])


def frames_of(video):
    return int(run("ffprobe", "-v", "error", "-count_frames", "-show_entries", "stream=nb_read_frames", "-of", "csv=p=0", video).strip(",\n"))


def ways(build, folder, original, threads):
    """(name, command) of each encoder, the peer first."""
    def out(name):
        return os.path.join(folder, name.replace(" ", "-") + ".avi")
    flow = os.path.join(build, "examples", "p2g_mjpeg")
    rows = [("parallel loop", [os.path.join(build, "bench", "dataflow", "mjpeg_loop"), original, out("parallel loop")])]
    for way in ("turbo", "fast", "naive"):
        rows.append(("flow " + way, [flow, original, out("flow " + way), way, str(threads)]))
    rows.append(("ffmpeg", ["ffmpeg", "-hide_banner", "-nostdin", "-y", "-i", original, "-threads", str(threads), "-c:v", "mjpeg",
                            "-q:v", "4", "-pix_fmt", "yuvj420p", out("ffmpeg")]))
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--video")
    parser.add_argument("--frames", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    video = options.video or sample()
    if not shutil.which("ffmpeg") or video is None:
        print("mjpeg_bench: skipped: it needs ffmpeg, and a video (--video, or Debian's forensics-samples-files)", file=sys.stderr)
        return 0
    with tempfile.TemporaryDirectory(prefix="attune-bench-") as folder:
        original = os.path.join(folder, "in.y4m")
        write_original(video, options.frames, original)
        rows = ways(options.build, folder, original, options.threads)
        seconds = {name: [] for name, _ in rows}
        for _ in range(options.rounds):
            for name, command in rows:
                begin = time.perf_counter()
                run(*command, threads=options.threads)
                seconds[name].append(time.perf_counter() - begin)
        peer = rows[0][0]
        for name, command in rows:
            middle, low, high = real.spread_of([a / b for a, b in zip(seconds[name], seconds[peer])])
            out = next(argument for argument in command if argument.endswith(".avi"))
            note = (f"{options.rounds} rounds, {options.threads} threads, {1000 * statistics.median(seconds[name]):.0f} ms, "
                    f"{frames_of(out)} frames, {psnr(out, original):.2f} dB, {os.path.getsize(out)} bytes")
            limit = 1.15 if name == "flow turbo" else None
            real.show(real.figure(f"Motion JPEG, {name}, beside a parallel loop", middle, "ratio", limit, note, [low, high]), options.table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
