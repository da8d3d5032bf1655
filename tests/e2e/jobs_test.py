"""MPI jobs: one session and one recording a host, ranks told apart."""

import glob
import os
import re
import shutil
import subprocess

from attune_e2e import ATTUNE, E2E, main, needs

MPI_PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, sum;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks, sum %d\n", size, sum);
  MPI_Finalize();
  return 0;
}
"""

RANKS = "select r.os_id as rank, count(*) as n from elements p join elements r on p.parent = r.id where r.kind = 'rank' and p.kind = 'process' and p.name like '%mpi_program%' group by 1 order by 1"


class Jobs(E2E):
    def build(self, kind):
        self.write("mpi_program.c", MPI_PROGRAM)
        build = self.run_program(f"mpicc.{kind}", "-o", "mpi_program", "mpi_program.c")
        self.assertEqual(build.returncode, 0, build.stderr.decode())
        # More ranks than CPUs, and as root: both need to be asked for with Open MPI.
        options = ["--oversubscribe", "--allow-run-as-root"] if kind == "openmpi" else []
        return [f"mpirun.{kind}", *options, "-n", "8"]

    def check(self, kind, inside):
        mpirun = self.build(kind)
        if inside:
            command = [*mpirun, ATTUNE, "run", "-o", self.path("job.attune"), "--", "./mpi_program"]
        else:
            command = [ATTUNE, "run", "-o", self.path("job.attune"), "--", *mpirun, "./mpi_program"]
        result = self.run_program(*command)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        self.assertEqual(result.stdout.decode(), "8 ranks, sum 28\n")
        self.assertEqual(len(glob.glob(self.path("*.attune"))), 1, "more than one recording")
        ranks = self.query(self.path("job.attune"), RANKS)
        self.assertEqual([r["rank"] for r in ranks], list(range(8)))
        codes = self.query(self.path("job.attune"), "select distinct exit_code from processes where command like '%mpi_program%' and exit_code is not null")
        self.assertEqual([c["exit_code"] for c in codes], [0])
        self.assert_nothing_left()

    @needs("mpirun.openmpi", "mpicc.openmpi")
    def test_open_mpi_launches_attune(self):
        self.check("openmpi", inside=True)

    @needs("mpirun.openmpi", "mpicc.openmpi")
    def test_attune_launches_open_mpi(self):
        self.check("openmpi", inside=False)

    @needs("mpirun.mpich", "mpicc.mpich")
    def test_mpich_launches_attune(self):
        self.check("mpich", inside=True)

    @needs("mpirun.mpich", "mpicc.mpich")
    def test_attune_launches_mpich(self):
        self.check("mpich", inside=False)

    def test_attune_under_attune_joins(self):
        # Long enough that polling sees its command too, where nothing better is permitted.
        result = self.attune("run", "-o", "outer.attune", "--", ATTUNE, "run", "-o", "inner.attune", "--", "sh", "-c", "sleep 0.3; exit 4")
        self.assertEqual(result.returncode, 4, result.stderr.decode())
        self.assertFalse(os.path.exists(self.path("inner.attune")))
        self.assertIn("inner.attune is not written: this is observed already, and goes into " + self.path("outer.attune"),
                      result.stderr.decode())
        rows = self.query(self.path("outer.attune"), "select command, exit_code from processes where command like 'sh -c%'")
        self.assertEqual([r["exit_code"] for r in rows], [4])
        self.assert_nothing_left()


if __name__ == "__main__":
    main()
