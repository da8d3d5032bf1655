"""Console files: `attune run --console-file` runs what the file says, as it says it."""

import json
import os
import shutil
import signal

from attune_e2e import E2E, main, needs


class ConsoleFile(E2E):
    def run_file(self, text, *arguments, name="run.toml", **kwargs):
        path = self.write(name, text)
        return self.attune("run", "-q", "--console-file", path, "-o", self.path("out.attune"), "-f", *arguments, **kwargs)

    def refused(self, text, *arguments):
        result = self.run_file(text, *arguments)
        self.assertIn(result.returncode, (1, 2), result.stderr.decode())
        self.assertFalse(os.path.exists(self.path("out.attune")), "nothing was begun")
        return result.stderr.decode()

    def test_program_folder_input_and_environment_are_the_files(self):
        work = self.path("work")
        os.mkdir(work)
        self.write("work/in.txt", "from the input\n")
        self.write("work/show.sh", '#!/bin/sh\npwd\ncat\necho "$1|$2|$GREETING|$OMP_NUM_THREADS"\nexit 7\n', 0o755)
        result = self.run_file("""
            program = "./show.sh"
            arguments = ["two words", ""]
            folder = "work"
            input = "in.txt"
            [environment]
            GREETING = "caf\\u00e9"
            [openmp]
            threads = 3
            [observe]
            level = "off"
            sensors = ["vmstat:sum"]
            interval = "10ms"
            """, "--pid-file", "program.pid")
        self.assertEqual(result.stdout.decode(), f"{os.path.realpath(work)}\nfrom the input\ntwo words||café|3\n")
        self.assertEqual(result.stderr.decode(), "")
        self.assertEqual(result.returncode, 7, "the program's own")
        sensors = {row["sensor"] for row in self.query(self.path("out.attune"), "select distinct sensor from series")}
        self.assertIn("vmstat", sensors)
        self.assertNotIn("cpu", sensors)
        with open(self.path("program.pid"), encoding="ascii") as f:
            pid = int(f.read().split()[0])
        self.assertEqual(self.query(self.path("out.attune"), f"select exit_code from processes where pid = {pid}"), [{"exit_code": 7}])

    def test_the_command_line_goes_first(self):
        result = self.run_file('program = "true"\n[observe]\nsensors = ["cpu:sum"]\n', "-s", "vmstat")
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        sensors = {row["sensor"] for row in self.query(self.path("out.attune"), "select distinct sensor from series")}
        self.assertTrue("vmstat" in sensors and "cpu" not in sensors, sensors)

    def test_mistakes_name_line_and_column_and_what_to_do(self):
        text = self.refused('program = "true"\n[observe]\nlevle = "off"\n')
        self.assertIn("run.toml:3:1: [observe] has the unknown key 'levle'", text)
        self.assertIn("did you mean level", text)
        text = self.refused('program = "true"\n[observe]\nsensors = ["no-such-sensor"]\n')
        self.assertIn("run.toml:3:11: [observe]: --sensors: there is no sensor", text)
        text = self.refused('program = "true"\n[observe]\nalarm = "no.such=3"\n')
        self.assertIn("run.toml:3:9: [observe]: ", text)
        text = self.refused('program = "true\n')
        self.assertIn("run.toml:1:", text)
        text = self.refused('program = "true"\n', "--", "false")
        self.assertIn("none can be given beside it", text)
        for arguments in (["run", "--console-file", self.path("nowhere.toml")], ["run", "--console-file", self.folder]):
            result = self.attune(*arguments)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn("--console-file", result.stderr.decode())
        result = self.run_file('program = "true"\nfolder = "nowhere"\n')
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("there is no folder", result.stderr.decode())
        result = self.attune("live", "--runs", "x", "--for", "1s")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--allow-run", result.stderr.decode())

    def mpi(self, implementation, launcher):
        if shutil.which(launcher) is None:
            self.skipTest("not installed: " + launcher)
        self.write("hosts.txt", "localhost slots=2\n" if implementation == "openmpi" else "localhost:2\n")
        # MPICH's launcher by itself dies of SIGPIPE, 12 of 150 times on a busy machine, where ranks end at once.
        self.write("rank.sh", "#!/bin/sh\necho rank ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} of $OMP_NUM_THREADS\nsleep 0.2\n", 0o755)
        result = self.run_file(f"""
            program = "./rank.sh"
            [mpi]
            ranks = 2
            implementation = "{implementation}"
            hosts = "hosts.txt"
            {'arguments = ["--oversubscribe"]' if implementation == "openmpi" else ""}
            [openmp]
            threads = 2
            [environment]
            OMPI_ALLOW_RUN_AS_ROOT = "1"
            OMPI_ALLOW_RUN_AS_ROOT_CONFIRM = "1"
            """)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        self.assertEqual(sorted(result.stdout.decode().splitlines()), ["rank 0 of 2", "rank 1 of 2"])
        commands = [row["command"] for row in self.query(self.path("out.attune"), "select command from processes")]
        self.assertTrue(any(launcher in command for command in commands), commands)

    def test_ranks_of_open_mpi(self):
        self.mpi("openmpi", "mpirun.openmpi")

    def test_ranks_of_mpich(self):
        self.mpi("mpich", "mpirun.mpich")

    @needs("mpirun")
    def test_a_launcher_that_is_not_there_is_said(self):
        result = self.run_file('program = "true"\n[mpi]\nranks = 2\nimplementation = "/opt/none/mpirun"\n')
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("run.toml:2:1: [mpi]: no launcher of MPI is here: /opt/none/mpirun", result.stderr.decode())


class Keeper(E2E):
    """`attune console-run` as the console starts it."""

    def start(self, script):
        """@return the run's folder, and what console-run said"""
        self.write("program.sh", "#!/bin/sh\n" + script, 0o755)
        folder = self.path("run")
        os.makedirs(folder, exist_ok=True)
        self.write("run/run.toml", f'program = "{self.path("program.sh")}"\n[observe]\nlevel = "off"\nsensors = ["cpu:sum"]\n')
        cpus = ",".join(str(cpu) for cpu in sorted(os.sched_getaffinity(0)))
        return folder, self.attune("console-run", folder, f"18 {cpus} 1024")

    @staticmethod
    def state(folder):
        with open(os.path.join(folder, "state.json"), encoding="ascii") as f:
            return json.load(f)

    def ended(self, folder):
        self.until(lambda: self.state(folder)["end_real_ns"] != 0, "the end of the run")
        return self.state(folder)

    def test_orphans_of_the_program_are_collected(self):
        folder, said = self.start("for i in 1 2 3; do (sleep 0.01 & echo $! >>orphans); done\ntouch begun\nwhile [ ! -e go ]; do sleep 0.01; done\nexit 5\n")
        self.assertEqual(said.returncode, 0, said.stderr.decode())
        self.until(lambda: os.path.exists(os.path.join(folder, "begun")), "the program")
        with open(os.path.join(folder, "orphans"), encoding="ascii") as f:
            orphans = f.read().split()
        self.assertEqual(len(orphans), 3)
        self.until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in orphans), "the end of the orphans")
        self.write("run/go", "")
        self.assertEqual(self.ended(folder)["exit_code"], 5)

    def test_how_it_ends_is_seen_without_attune_run(self):
        folder, said = self.start("(sleep 0.01 &)\ntouch begun\nwhile [ ! -e go ]; do sleep 0.01; done\nexit 6\n")
        self.assertEqual(said.returncode, 0, said.stderr.decode())
        for name in ("begun", "program.pid"):
            self.until(lambda name=name: os.path.exists(os.path.join(folder, name)), f"the program's {name}")
        os.kill(self.state(folder)["launcher"]["pid"], signal.SIGKILL)
        self.write("run/go", "")
        self.assertEqual(self.ended(folder)["exit_code"], 6)

    def test_why_it_cannot_be_started_is_said(self):
        os.makedirs(self.path("run/output.txt"))
        _, said = self.start("exit 0\n")
        self.assertNotEqual(said.returncode, 0)
        self.assertIn("run/output.txt: Is a directory", said.stderr.decode())


if __name__ == "__main__":
    main()
