"""MPI programs of Debian end as without attune, and what the report says of them is so.

What is not installed is left out, by name: tools/packages.txt has all of it.
"""

import json
import os
import random
import re
import shutil

from attune_e2e import ATTUNE, E2E, main, needs, where_cpus_are_free

HERE = os.path.dirname(os.path.abspath(__file__))
HPCC_INPUT = "/usr/share/doc/hpcc/examples/_hpccinf.txt"

# A liquid droplet at one end of its box: of two halves of the box one is nearly empty.
DROPLET = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 40 0 12 0 12
create_box 1 box
region drop block 0 14 0 12 0 12
create_atoms 1 region drop
mass 1 1.0
velocity all create 0.7 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify every 20 delay 0 check no
{balance}fix 1 all nve
thermo 50
run {steps}
"""
# What the report advises: give the late rank less to do. The cut between the two moves to the middle of the droplet.
BALANCE = "balance 1.05 shift x 20 1.02\n"


def sequences():
    """Eight genes of one ancestor, by name; the same each time."""
    chance = random.Random(3)

    def changed(bases, part):
        return [chance.choice("ACGT") if chance.random() < part else base for base in bases]

    ancestor = [chance.choice("ACGT") for _ in range(300)]
    branches = [changed(ancestor, 0.1), changed(ancestor, 0.1)]
    return {f"t{n}": "".join(changed(branches[n // 4], 0.05 + 0.02 * n)) for n in range(8)}


class RealMpiProgram(E2E):
    def setUp(self):
        super().setUp()
        self.env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_NUM_THREADS="1")

    def ranks(self, *program, level=None, recording="r.attune"):
        """Two ranks of it; @param level under attune  @return what it printed"""
        attune = () if level is None else (ATTUNE, "run", "-q", "-f", "--level", level, "-o", recording, "--")
        result = self.run_program(*attune, "mpirun", "-n", "2", "--oversubscribe", *program)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.decode() if isinstance(result.stdout, bytes) else result.stdout

    def report(self, recording="r.attune"):
        result = self.attune("report", recording, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def same(self, seen, *program):
        """Bare, and under attune at each level. @param seen of what it printed what must not differ"""
        bare = seen(self.ranks(*program))
        self.assertTrue(bare)
        for level in ("off", "profile", "trace"):
            self.assertEqual(seen(self.ranks(*program, level=level)), bare, level)
            if level != "off":
                self.check_messages()
        self.assert_nothing_left()

    def check_messages(self):
        report = self.report()
        self.assertEqual(report["damage"], [])
        messages = report["messages"]
        self.assertEqual([rank["rank"] for rank in messages["ranks"]], [0, 1])
        if not report["gaps"]:  # on a busy machine a ring may have been full, which is said
            self.assertEqual((messages["unmatched_sent"], messages["unmatched_received"]), (0, 0))
        self.assertGreater(sum(c["operations"] for c in messages["collectives"]) + sum(p["count"] for p in messages["pairs"]), 0)

    @needs("mpirun", "lmp")
    def test_lammps(self):
        self.write("droplet", DROPLET.format(balance="", steps=60))
        # Its tables of energies; the rest is times.
        self.same(lambda out: re.findall(r"^ +\d+(?: +-?[\d.]+){5}", out, re.M), "lmp", "-in", "droplet", "-log", "none")

    @needs("mpirun", "hpcc")
    def test_hpcc(self):
        with open(HPCC_INPUT, encoding="ascii") as f:
            self.write("hpccinf.txt", re.sub(r"^2( +Ps)", r"1\1", re.sub(r"^1000( +Ns)", r"500\1", f.read(), flags=re.M), flags=re.M))

        def residuals(_):
            with open(self.path("hpccoutf.txt"), encoding="ascii") as f:
                text = f.read()
            os.unlink(self.path("hpccoutf.txt"))
            # Not the residual's digits: HPL adds up in the order in which panels come.
            solved = re.findall(r"\|\|Ax-b\|\|_oo.* (PASSED|FAILED)", text)
            self.assertTrue(solved)
            self.assertNotIn("FAILED", solved)
            return solved + re.findall(r"Found (\d+) errors", text)

        self.same(residuals, "hpcc")

    @needs("mpirun", "phyml-mpi")
    def test_phyml(self):
        self.write("genes.phy", "8 300\n" + "".join(f"{name:10}{bases}\n" for name, bases in sequences().items()))

        def tree(_):
            with open(self.path("genes.phy_phyml_tree.txt"), encoding="ascii") as f:
                return f.read()

        self.same(tree, "phyml-mpi", "-i", "genes.phy", "-b", "4", "--r_seed", "1", "--no_memory_check")

    def test_many_ranks_are_one_recording(self):
        for implementation, options, steps in (("openmpi", ("--oversubscribe",), 100), ("mpich", (), 20)):
            with self.subTest(implementation):
                self.many_ranks(implementation, options, steps)

    def many_ranks(self, implementation, options, steps):
        """64 ranks on however many CPUs there are, at addresses of their own each, that all do the same."""
        compiler, launcher = "mpicc." + implementation, "mpirun." + implementation
        if shutil.which(compiler) is None:
            self.skipTest("not installed: " + compiler)
        built = self.run_program(compiler, "-O2", "-g", "-o", "jacobi", os.path.join(HERE, "jacobi.c"))
        self.assertEqual(built.returncode, 0, built.stderr)
        job = (launcher, "-n", "64", *options, "./jacobi", str(steps))
        bare = self.run_program(*job)
        seen = self.run_program(ATTUNE, "run", "-q", "-f", "-o", "many.attune", "--", *job)
        self.assertEqual((seen.returncode, seen.stdout), (bare.returncode, bare.stdout), seen.stderr)
        of_a_step = 2 * 63
        for kind in ("sent", "received"):
            rows = self.query("many.attune", "select count(*) as messages, count(distinct rank) as ranks, count(distinct s.module || s.address) "
                              f"as sites from messages m join sites s on s.id = m.site and s.frame = 0 where m.kind = '{kind}'")
            self.assertEqual((rows[0]["messages"], rows[0]["ranks"], rows[0]["sites"]), (of_a_step * steps, 64, 2))
        self.assertEqual(self.query("many.attune", "select count(*) as rows from collectives where communicator_size = 64")[0]["rows"],
                         64 * (steps // 10))
        lost = self.query("many.attune", "select sum(count) as events from gaps g join elements t on t.id = g.thread "
                          "join processes p on p.id = t.parent where g.reason = 'dropped' and p.command like './jacobi%'")
        self.assertEqual(lost[0]["events"], None, "no event of a rank is lost")
        report = self.report("many.attune")
        self.assertEqual((report["messages"]["unmatched_sent"], report["messages"]["unmatched_received"]), (0, 0))
        self.assert_nothing_left()

    @needs("mpirun", "lmp")
    @where_cpus_are_free
    def test_what_the_report_says_helps_lammps(self):
        self.write("droplet", DROPLET.format(balance="", steps=250))
        self.write("balanced", DROPLET.format(balance=BALANCE, steps=250))
        self.ranks("lmp", "-in", "droplet", "-log", "none", level="profile", recording="before.attune")
        self.ranks("lmp", "-in", "balanced", "-log", "none", level="profile", recording="after.attune")
        findings = self.report("before.attune")["findings"]
        self.assertTrue(findings, "nothing was found")
        first = findings[0]
        self.assertEqual(first["class"], "late-sender")
        self.assertIn("CommBrick", first["site"]["function"])
        self.assertIn("give that rank less to do", first["advice"])
        # What the late rank does meanwhile: it computes forces.
        self.assertIn("PairLJCut::compute", first["places"][0]["site"]["function"])
        comparison = json.loads(self.attune("compare", "--json", "before.attune", "after.attune").stdout)
        run = {figure["name"]: figure for figure in comparison["run"]}
        self.assertLess(run["wall_time"]["after"], 0.85 * run["wall_time"]["before"])
        self.assertLess(run["waited_in_MPI"]["after"], 0.5 * run["waited_in_MPI"]["before"])
        self.assertGreater(run["parallel_efficiency"]["after"], run["parallel_efficiency"]["before"])


if __name__ == "__main__":
    main()
