"""The interconnect of the NUMAscope paper, simulated: what attune records of its OpenMP-stack imbalance (Figures 6 and 7)."""

import contextlib
import json
import os
import subprocess

import numascope_page
from attune_e2e import BUILD, E2E, each_where_cpus_are_free, main

# 36 pages, one on each node: evenly over the boards, and written at once.
SMALL_ARRAY = "array_gib=0.00014"
DESCRIPTION = os.path.join(os.environ["ATTUNE_SOURCE"], "catalog", "declared", "numaconnect2.toml")

# Percent of the most that there can be, of every board: of the whole recording, and of the worst sample.
SHARES = """
with steps as (
  select series, t_ns, value, lag(value) over w as before, lag(t_ns) over w as since
  from samples where series in (select id from series where signal = '{signal}') window w as (partition by series order by t_ns))
select elements.name as board,
       100.0 * sum(value - before) / sum(t_ns - since) * 1e9 / max_per_second as percent,
       max(100.0 * (value - before) / (t_ns - since) * 1e9 / max_per_second) as worst,
       min(value - before) as smallest
from steps join series on series.id = steps.series join elements on elements.id = series.element
where before is not null group by elements.name order by elements.name
"""


# A card counts on while the machine stands still; its simulation does not.
@each_where_cpus_are_free
class Interconnect(E2E):
    def setUp(self):
        super().setUp()
        self.registers = f"/dev/shm/attune-test-interconnect-{os.getpid()}"

    @contextlib.contextmanager
    def simulated(self, scenario, *parameters):
        command = [os.path.join(BUILD, "bin", "numaconnect_sim"), scenario, DESCRIPTION, self.registers, SMALL_ARRAY, *parameters]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as simulator:
            try:
                self.assertIn("6 boards", simulator.stdout.readline())
                yield
            finally:
                simulator.terminate()

    def record(self, name, scenario, *parameters, sensor="numaconnect2", seconds=4):
        with self.simulated(scenario, *parameters):
            result = self.attune("record", "-f", "-s", f"{sensor}={self.registers}", "-i", "50ms", "--for", f"{seconds}s", "-o", name)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        return name

    def shares(self, recording, signal="siu_rmpe_request_wait_cycles"):
        rows = self.query(recording, SHARES.format(signal=signal))
        for row in rows:
            self.assertGreaterEqual(row["smallest"], 0, f"{row['board']}: a wrap must not be seen")
            self.assertLess(row["worst"], 300, f"{row['board']}: a wrap must not be a spike")
        return {row["board"]: row["percent"] for row in rows}

    def test_one_board_waits(self):
        recording = self.record("imbalance.attune", "parent")
        boards = self.shares(recording)
        self.assertEqual(len(boards), 6)
        self.assertAlmostEqual(boards["board2"], 97, delta=1)
        self.assertAlmostEqual(boards["board1"], 3, delta=0.5)
        self.assertAlmostEqual(sum(boards.values()), 100, delta=1.5)
        for board in ("board3", "board4", "board5", "board6"):
            self.assertLess(boards[board], 0.1)

    def test_the_board_follows_the_parent_and_an_alarm_names_it(self):
        boards = self.shares(self.record("other.attune", "parent", "parent_board=5"))
        self.assertEqual(max(boards, key=boards.get), "board5")
        self.assertGreater(boards["board5"], 90)
        alarms = self.query("other.attune", "select alarm, text from alarms where state = 'raised'")
        self.assertEqual({row["alarm"] for row in alarms}, {"interconnect.saturated"})
        self.assertIn("board5", alarms[0]["text"])

    def test_numascope_shows_the_same(self):
        recording = self.record("numascope.attune", "parent")
        text = self.attune("export", recording, "--to", "numascope", "--sensor", "numaconnect2").stdout
        boards, _ = numascope_page.shown(text, by_server=False)
        together, _ = numascope_page.shown(text)
        heading = "% siu_rmpe_request_wait_cycles"
        mean = {board: sum(value for _, value in boards[f"{heading}:{board}"]) / len(boards[f"{heading}:{board}"]) for board in range(1, 7)}
        self.assertAlmostEqual(mean[2], 97, delta=1.5)
        self.assertAlmostEqual(mean[1], 3, delta=0.8)
        self.assertAlmostEqual(sum(value for _, value in together[heading]) / len(together[heading]), 100, delta=2)

    def test_with_the_fix_nobody_waits(self):
        boards = self.shares(self.record("fixed.attune", "self"))
        self.assertAlmostEqual(sum(boards.values()), 2, delta=0.5)
        self.assertLess(max(boards.values()), 0.6)

    def test_compare_says_what_the_fix_changed(self):
        before, after = self.record("before.attune", "parent", seconds=2), self.record("after.attune", "self", seconds=2)
        result = self.attune("compare", before, after)
        self.assertIn("numaconnect2.siu_rmpe_request_wait_cycles", result.stdout.decode())
        document = json.loads(self.attune("compare", "--json", before, after).stdout)
        waits = next(row for row in document["signals"] if row["signal"] == "siu_rmpe_request_wait_cycles")
        self.assertTrue(waits["changed"])
        self.assertAlmostEqual(waits["before_percent"], 100, delta=1.5)
        self.assertAlmostEqual(waits["after_percent"], 2, delta=0.5)
        self.assertEqual(waits["most_percent"], 600)

    def test_summed_over_the_boards(self):
        recording = self.record("summed.attune", "parent", seconds=2)
        with self.simulated("parent"):
            result = self.attune("record", "-f", "-s", f"numaconnect2={self.registers}:sum", "-i", "50ms", "--for", "2s", "-o", "sum.attune")
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        self.assertEqual(len(self.query(recording, "select id from series")), 720)
        self.assertEqual(len(self.query("sum.attune", "select id from series where sensor = 'numaconnect2'")), 120)

    def test_rows_on_the_terminal(self):
        with self.simulated("parent"):
            result = self.attune("stat", "-s", f"numaconnect2={self.registers}", "-e", "numaconnect2.siu_rmpe_request_wait_cycles", "-i", "200ms", "--for", "1s", "--csv", "-q")
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        rates = [float(line.split(",")[-1]) for line in result.stdout.decode().splitlines()[1:] if not line.endswith((",", "-"))]
        self.assertTrue(rates, result.stdout.decode())
        for rate in rates[1:]:
            self.assertAlmostEqual(rate / 200e6, 1, delta=0.2)

    def test_a_copy_of_the_description_is_a_sensor_too(self):
        with open(DESCRIPTION, encoding="utf-8") as source:
            text = source.read().replace('name = "numaconnect2"', 'name = "fabric"')
        self.write("fabric.toml", text)
        boards = self.shares(self.record("fabric.attune", "parent", sensor="./fabric.toml", seconds=2))
        self.assertAlmostEqual(boards["board2"], 97, delta=1)

    def test_without_the_simulator_it_is_said(self):
        result = self.attune("record", "-f", "-s", f"numaconnect2={self.registers}", "--for", "100ms", "-o", "none.attune")
        self.assertIn(f"{self.registers}: No such file", result.stderr.decode())


if __name__ == "__main__":
    main()
