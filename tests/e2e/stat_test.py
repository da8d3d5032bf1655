"""The rows of `attune stat`: what becomes of several elements, how many digits a number has, and what is an error."""

import csv
import io
import json
import os

from attune_e2e import E2E, main

DESCRIPTION = """[sensor]
name = "boards"
description = "two boards"
[files]
folder = "{folder}/board[0-9]"
[elements]
name = "board{{match}}"
[[signal]]
name = "temperature"
file = "temperature"
unit = "C"
scale = -2
kind = "gauge"
sum = "max"
description = "temperature"
[[signal]]
name = "voltage"
file = "voltage"
unit = "V"
scale = -3
kind = "gauge"
sum = "none"
description = "voltage"
[[signal]]
name = "clock"
file = "clock"
unit = "GHz"
scale = -3
kind = "gauge"
sum = "mean"
description = "clock"
[[signal]]
name = "power"
file = "power"
unit = "W"
kind = "gauge"
sum = "sum"
description = "power"
"""
BOARDS = [{"temperature": "60.25", "voltage": "1.125", "clock": "2.5", "power": "70"}, {"temperature": "51.5", "voltage": "0.875", "clock": "3.125", "power": "42"}]


class Stat(E2E):
    def setUp(self):
        super().setUp()
        for i, board in enumerate(BOARDS):
            os.mkdir(self.path(f"board{i}"))
            for name, value in board.items():
                self.write(f"board{i}/{name}", value + "\n")
        self.write("boards.toml", DESCRIPTION.format(folder=self.folder))

    def rows(self, *options):
        """The last row, by heading."""
        result = self.attune("stat", "-s", "./boards.toml", "-i", "50ms", "--for", "1s", "-e", "boards.temperature,boards.voltage,boards.clock,boards.power", *options)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        return result.stdout.decode()

    def test_elements_become_one_value_as_the_signal_says(self):
        lines = self.rows().splitlines()
        self.assertEqual(lines[0].split(), ["time", "temperature", "board0:voltage", "board1:voltage", "clock", "power"])
        self.assertEqual(lines[-1].split()[1:], ["60.25", "1.125", "0.875", "2.812", "112"])

    def test_each_element_by_itself(self):
        lines = self.rows("-d").splitlines()
        self.assertEqual(lines[0].split()[1:3], ["board0:temperature", "board1:temperature"])
        self.assertEqual(lines[-1].split()[1:], ["60.25", "51.50", "1.125", "0.875", "2.500", "3.125", "70", "42"])

    def test_csv_and_json_have_all_digits(self):
        last = list(csv.DictReader(io.StringIO(self.rows("--csv"))))[-1]
        del last["time"]
        self.assertEqual(last, {"boards.temperature": "60.25", "board0:boards.voltage": "1.125", "board1:boards.voltage": "0.875", "boards.clock": "2.8125", "boards.power": "112"})
        last = json.loads(self.rows("--json").splitlines()[-1])
        del last["t_real_ns"]
        self.assertEqual(last, {"boards.temperature": 60.25, "board0:boards.voltage": 1.125, "board1:boards.voltage": 0.875, "boards.clock": 2.8125, "boards.power": 112})

    def refused(self, code, said, *arguments):
        result = self.attune("stat", *arguments)
        self.assertEqual((result.returncode, result.stdout), (code, b""), result.stderr.decode())
        self.assertIn(said, result.stderr.decode())

    def test_sensors_without_a_default_column_are_an_error_before_anything_runs(self):
        for program in ([], ["--", "echo", "ran"]):
            self.refused(2, "name columns, as in -e boards.temperature", "-s", "./boards.toml", *program)
            os.rename(self.path("board0"), self.path("away0"))
            os.rename(self.path("board1"), self.path("away1"))
            self.refused(3, "sensor boards is not available: boards: nothing fits", "-s", "./boards.toml", *program)
            self.refused(3, "nothing fits", "-s", "./boards.toml", "-e", "boards.power", *program)
            os.rename(self.path("away0"), self.path("board0"))
            os.rename(self.path("away1"), self.path("board1"))

    def test_interval_and_count_in_the_way_of_other_tools_are_refused_with_what_to_type(self):
        self.refused(2, "attune stat -i 1s --for 5s", "1", "5")


if __name__ == "__main__":
    main()
