#!/usr/bin/env python3
"""The examples of dataflow on video, in both languages: Motion JPEG decoded again, and corners that move as they were made to.

Usage: video_examples_test.py ATTUNE EXAMPLES SOURCE"""

import math
import os
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import unittest

from video import FRAMES, HEIGHT, WIDTH, luma, squares, write_video

ATTUNE, EXAMPLES, SOURCE = (os.path.abspath(path) for path in sys.argv[1:4])
def frames_of(path):
    """JPEGs by the index of an AVI file."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:4] == b"RIFF" and data[8:12] == b"AVI ", path
    assert struct.unpack("<I", data[4:8])[0] == len(data) - 8
    movi = data.index(b"movi")
    at = movi - 4 + struct.unpack("<I", data[movi - 4:movi])[0] + 4
    assert data[at:at + 4] == b"idx1"
    size = struct.unpack("<I", data[at + 4:at + 8])[0]
    frames = []
    for entry in range(at + 8, at + 8 + size, 16):
        name, _, offset, length = struct.unpack("<4sIII", data[entry:entry + 16])
        assert name == b"00dc" and data[movi + offset:movi + offset + 4] == b"00dc"
        frames.append(data[movi + offset + 8:movi + offset + 8 + length])
    assert struct.unpack("<I", data[48:52])[0] == len(frames)
    return frames


def decoded(jpeg, folder):
    path = os.path.join(folder, "one.jpg")
    with open(path, "wb") as file:
        file.write(jpeg)
    return subprocess.run(["gm", "convert", path, "gray:-"], check=True, stdout=subprocess.PIPE).stdout


def psnr(a, b):
    return 10 * math.log10(255 * 255 * len(a) / sum((x - y) ** 2 for x, y in zip(a, b)))


class Examples(unittest.TestCase):
    # Programs that are compiled once for all tests.
    cache = tempfile.TemporaryDirectory(prefix="attune-p2g-")

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="attune-mjpeg-")
        self.addCleanup(self.folder.cleanup)
        self.video = self.path("in.y4m")
        write_video(self.video)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def program(self, name, *options, **environment):
        return subprocess.run([ATTUNE, "p2g", "run", os.path.join(SOURCE, "examples", "p2g", name), *options], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True,
                              env=dict(os.environ, LDFLAGS="-ljpeg", XDG_CACHE_HOME=self.cache.name, **environment))


class Pyramid(Examples):
    def test_corners_move_as_they_were_made_to(self):
        write_video(self.video, luma=squares)
        outputs = set()
        for options in (["1"], ["2"], ["2", "off"]):
            done = subprocess.run([os.path.join(EXAMPLES, "p2g_pyramid"), self.video, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            outputs.add(done.stdout)
        for options in ([], ["--perturb", "7"]):
            done = self.program("pyramid.p2g", *options, PYRAMID_IN=self.video)
            self.assertEqual(done.returncode, 0, done.stdout)
            outputs.add(done.stdout)
        self.assertEqual(len(outputs), 1, "the same in both languages, on any number of threads, in any order")
        lines = outputs.pop().splitlines()
        self.assertEqual(len(lines), FRAMES)
        moved = []
        for line in lines[1:]:
            found, dx, dy = re.search(r"corners, (\d+) found again, moved by \((.*), (.*)\)", line).groups()
            self.assertGreater(int(found), 100, line)
            moved.append((float(dx), float(dy)))
        # Some are taken for another one, where a corner comes or goes.
        self.assertAlmostEqual(statistics.median(dx for dx, _ in moved), -2, delta=0.1)
        self.assertAlmostEqual(statistics.median(dy for _, dy in moved), 0, delta=0.1)


class MotionJpeg(Examples):
    def example(self, *arguments):
        return subprocess.run([os.path.join(EXAMPLES, "p2g_mjpeg"), *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def test_all_ways_have_the_quality_of_libjpeg(self):
        quality = {}
        for way in ("turbo", "fast", "naive"):
            for threads in ("1", "2"):
                out = self.path(way + threads + ".avi")
                done = self.example(self.video, out, way, threads)
                self.assertEqual(done.returncode, 0, done.stdout)
                frames = frames_of(out)
                self.assertEqual(len(frames), FRAMES)
            with open(self.path(way + "1.avi"), "rb") as one, open(self.path(way + "2.avi"), "rb") as two:
                self.assertEqual(one.read(), two.read(), "the same with any number of threads")
            for frame in (0, FRAMES - 1):
                pixels = decoded(frames[frame], self.folder.name)
                self.assertEqual(len(pixels), WIDTH * HEIGHT)
                quality[way, frame] = psnr(pixels, luma(frame))
        for (way, frame), decibels in quality.items():
            self.assertGreater(decibels, 32)
            self.assertAlmostEqual(decibels, quality["turbo", frame], delta=0.1, msg=way)

    def test_the_language_says_the_same_as_cpp(self):
        for name, way in (("mjpeg.p2g", "fast"), ("mjpeg_turbo.p2g", "turbo")):
            done = self.program(name, MJPEG_IN=self.video, MJPEG_OUT=self.path("language.avi"))
            self.assertEqual((done.returncode, done.stdout), (0, ""))
            self.assertEqual(self.example(self.video, self.path("cpp.avi"), way).returncode, 0)
            with open(self.path("language.avi"), "rb") as one, open(self.path("cpp.avi"), "rb") as two:
                self.assertEqual(one.read(), two.read())

    def test_files_that_cannot_be_coded_are_named(self):
        done = self.program("mjpeg_turbo.p2g", MJPEG_OUT=self.path("x.avi"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("kernel 'read', age 0: exception: MJPEG_IN is not set", done.stdout)
        done = self.example(self.path("missing.y4m"), self.path("x.avi"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("missing.y4m: No such file", done.stdout)
        other = self.path("other.y4m")
        write_video(other, header=b"YUV4MPEG2 W100 H70 F25:1 Ip C444\n")
        self.assertIn("is C444, not C420", self.example(other, self.path("x.avi")).stdout)
        with open(self.video, "rb") as whole, open(self.path("cut.y4m"), "wb") as cut:
            cut.write(whole.read()[:-1])
        done = self.example(self.path("cut.y4m"), self.path("cut.avi"))
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"age {FRAMES - 1}: exception: {self.path('cut.y4m')}: frame {FRAMES - 1} is cut off", done.stdout)
        self.assertLess(len(frames_of(self.path("cut.avi"))), FRAMES, "what was written before is whole")
        done = self.example(self.video, "/dev/full")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/dev/full: No space left on device", done.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
