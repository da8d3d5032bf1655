"""Builds the planted programs with the compilers of the system, each once for as long as neither it nor its command changes."""

import concurrent.futures
import dataclasses
import functools
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile

from expectation import HERE, Expectation

MPI = {
    "openmpi": ("mpicc.openmpi", ("mpirun.openmpi", "--oversubscribe")),
    "mpich": ("mpicc.mpich", ("mpirun.mpich",)),
}
CLANGS = ("clang", "clang-19", "clang-14")
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable


@dataclasses.dataclass(frozen=True)
class Program:
    """One program of a source: there is one for each compiler that its head names."""
    name: str
    expectation: Expectation
    compiler: str  # gcc, clang, openmpi, mpich, python


@dataclasses.dataclass
class Built:
    program: Program
    command: list  # how it is started; []: it is not there
    missing: str = ""  # what this machine lacks for it
    error: str = ""  # of the compiler


def programs_of(expectation):
    if expectation.language == "Python":
        return [Program(expectation.name, expectation, "python")]
    compilers = expectation.compilers or (tuple(MPI) if expectation.ranks else ("gcc",))
    if len(compilers) == 1:
        return [Program(expectation.name, expectation, compilers[0])]
    return [Program(f"{expectation.name}.{compiler}", expectation, compiler) for compiler in compilers]


@functools.cache
def clang_of_openmp():
    """A clang that compiles and links OpenMP programs; None: there is none."""
    with tempfile.TemporaryDirectory() as folder:
        for clang in CLANGS:
            if shutil.which(clang) and subprocess.run(
                    [clang, "-fopenmp=libomp", "-x", "c", "-", "-o", os.path.join(folder, "a")], check=False, capture_output=True,
                    input=b"#include <omp.h>\nint main(void) { return omp_get_max_threads() == 0; }\n").returncode == 0:
                return clang
    return None


@functools.cache
def has_header(name):
    return subprocess.run(["g++", "-std=c++20", "-E", "-x", "c++", "-"], check=False, capture_output=True,
                          input=f"#include <{name}>\n".encode()).returncode == 0


def compiler_of(program):
    """The compiler's command, or what is missing."""
    if program.compiler in MPI:
        name, launcher = MPI[program.compiler]
        missing = [each for each in (name, launcher[0]) if shutil.which(each) is None]
        if missing:
            return None, "not installed: " + ", ".join(missing)
        return (name if program.expectation.language == "C" else name.replace("mpicc", "mpicxx")), ""
    if program.compiler == "clang":
        clang = clang_of_openmp()
        if clang is None:
            return None, "not installed: clang with OpenMP (libomp-dev)"
        return (clang if program.expectation.language == "C" else clang.replace("clang", "clang++")), ""
    name = "gcc" if program.expectation.language == "C" else "g++"
    return (name, "") if shutil.which(name) else (None, "not installed: " + name)


def command_of(program, compiler, output):
    """Debug information, and optimised unless the head says otherwise."""
    standard = ["-std=gnu11", "-D_GNU_SOURCE"] if program.expectation.language == "C" else ["-std=c++20"]
    options = ["-fopenmp=libomp" if option == "-fopenmp" and program.compiler == "clang" else option for option in program.expectation.options]
    libraries = ["-l" + library for library in program.expectation.libraries]
    return [compiler, *standard, "-O2", "-g", "-pthread", "-Wall", "-I", HERE, *options, program.expectation.source, "-o", output,
            "-Wl,--build-id", *libraries]


def key_of(program, command):
    """Changes with whatever the program is made from."""
    digest = hashlib.sha256(repr(command).encode())
    for source in (program.expectation.source, os.path.join(HERE, "planted.h")):
        with open(source, "rb") as f:
            digest.update(f.read())
    return digest.hexdigest()


def start_of(program, output):
    """The command that starts it."""
    expectation = program.expectation
    if program.compiler in MPI:
        return [*MPI[program.compiler][1], "-n", str(expectation.ranks), output, *expectation.arguments]
    return [output, *expectation.arguments]


def build(program, folder):
    """@return Built, from the folder where nothing has changed"""
    expectation = program.expectation
    if program.compiler == "python":
        return Built(program, [PYTHON, expectation.source, *expectation.arguments])
    if expectation.needs and not has_header(expectation.needs):
        return Built(program, [], missing=f"not installed: the header {expectation.needs}")
    compiler, missing = compiler_of(program)
    if missing:
        return Built(program, [], missing=missing)
    output = os.path.join(folder, program.name)
    command = command_of(program, compiler, output)
    key_file, key = output + ".key", key_of(program, command)
    if os.path.exists(output) and os.path.exists(key_file):
        with open(key_file, encoding="ascii") as f:
            if f.read() == key:
                return Built(program, start_of(program, output))
    result = subprocess.run(command, check=False, capture_output=True, text=True)
    if result.returncode != 0:
        return Built(program, [], error=result.stderr.strip())
    with open(key_file, "w", encoding="ascii") as f:
        f.write(key)
    return Built(program, start_of(program, output))


def build_all(programs, folder, jobs=2):
    os.makedirs(folder, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(lambda program: build(program, folder), programs))
