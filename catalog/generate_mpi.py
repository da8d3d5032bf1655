#!/usr/bin/env python3
"""Turns the description of MPI's functions (catalog/mpi.txt) into code.

    generate_mpi.py names OUT.cpp mpi.txt    their names by number (wire/mpi_functions.h)
    generate_mpi.py hooks OUT.inc mpi.txt    what the probe has in their place (src/probe/mpi/)
    generate_mpi.py stubs OUT.cpp mpi.txt    the symbols that programs call, C and Fortran

Every mistake in the description stops the build with the line that it is in.
"""
import re
import sys
from pathlib import Path

LINE = re.compile(r"(\d+) \[([a-z_ ]+)\] (MPI_\w+)\((.*)\)$")
HANDLES = {"MPI_Comm", "MPI_Datatype", "MPI_Request", "MPI_Message", "MPI_Op", "MPI_Group", "MPI_Info", "MPI_Win", "MPI_File", "MPI_Errhandler"}
PLAIN = {"void", "int", "char", "MPI_Aint", "MPI_Count", "MPI_Offset"}

# What a role's function is given, in this order; of names in parentheses the first that there is. Behind "/": what it
# may give to the real function in place of the program's.
ROLES = {
    "send": "count datatype dest tag comm",
    "recv": "comm / status",
    "isend": "count datatype dest tag comm request",
    "irecv": "source comm request",
    "send_init": "count datatype dest tag comm request",
    "recv_init": "source comm request",
    "start": "request",
    "startall": "count array_of_requests",
    "sendrecv": "sendcount sendtype dest sendtag comm / status",
    "sendrecv_replace": "count datatype dest sendtag comm / status",
    "cancel": "request",
    "request_free": "request",
    "mprobe": "comm message",
    "improbe": "comm flag message",
    "mrecv": "message / status",
    "imrecv": "message request",
    "wait": "request / status",
    "waitall": "count array_of_requests / array_of_statuses",
    "waitany": "count array_of_requests indx / status",
    "waitsome": "incount array_of_requests outcount array_of_indices / array_of_statuses",
    "test": "request flag / status",
    "testall": "count array_of_requests flag / array_of_statuses",
    "testany": "count array_of_requests indx flag / status",
    "testsome": "incount array_of_requests outcount array_of_indices / array_of_statuses",
    "make": "(comm|comm_old|local_comm|intercomm) (newcomm|newintercomm|newintracomm|comm_cart|comm_graph|comm_dist_graph)",
    "imake": "comm newcomm",
    "join": "(newcomm|intercomm|parent)",
    "unmake": "comm",
    "set_name": "comm comm_name",
    "init": "",
    "init_thread": "",
    "collective": "comm",
    "icollective": "comm request",
}
SHAPES = {"allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "alltoallw", "barrier", "bcast", "gather", "gatherv",
          "neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall", "neighbor_alltoallv", "neighbor_alltoallw", "reduce",
          "reduce_scatter", "reduce_scatter_block", "scan", "scatter", "scatterv"}
# Of a collective operation, what its amounts are computed from (struct Blocks).
BLOCKS = ["sendbuf", "sendcount", "sendcounts", "sendtype", "sendtypes", "recvbuf", "recvcount", "recvcounts", "recvtype", "recvtypes",
          "count", "datatype", "root"]


def fail(line, message):
    sys.exit(f"catalog/mpi.txt:{line}: {message}")


class Parameter:
    def __init__(self, line, text):
        match = re.fullmatch(r"((?:const )?\w+) ?(\**)(\w+)((?:\[\d*\])*)", text)
        if not match:
            fail(line, f"'{text}' is no parameter like 'const int counts[]'")
        base, stars, self.name, is_array = match.groups()
        const = base.startswith("const ")
        base = base.removeprefix("const ")
        self.is_known = True
        if base in HANDLES:
            base = "typename Abi::Handle"
        elif base == "MPI_Status":
            base = "typename Abi::Status"
        elif base in ("MPI_Aint", "MPI_Count", "MPI_Offset"):
            base = "int64_t"
        elif base not in PLAIN:
            self.is_known = False  # a function of the program's, which nobody here looks at
        self.type = ("const " if const else "") + base + "*" * (len(stars) + bool(is_array))


class Function:
    def __init__(self, line, number, role, name, parameters):
        self.line, self.number, self.name = line, int(number), name
        self.role, _, self.shape = role.partition(" ")
        texts = [] if parameters == "void" else [part.strip() for part in parameters.split(",")]
        self.parameters = [Parameter(line, text) for text in texts]
        self.names = [parameter.name for parameter in self.parameters]
        if self.role not in ROLES and self.role != "call":
            fail(line, f"the role '{self.role}' is none of call, {', '.join(sorted(ROLES))}")
        if ("collective" in self.role) != bool(self.shape) or (self.shape and self.shape not in SHAPES):
            fail(line, f"a collective operation, and nothing else, has one of the shapes {', '.join(sorted(SHAPES))}")

    def find(self, wanted):
        for name in wanted.strip("()").split("|"):
            if name in self.names:
                return name
        fail(self.line, f"a function of role '{self.role}' has a parameter {wanted}")


def read(path):
    functions = []
    for line, text in enumerate(Path(path).read_text().splitlines(), 1):
        if not text or text.startswith("#"):
            continue
        match = LINE.match(text)
        if not match:
            fail(line, "is not 'NUMBER [ROLE] MPI_Name(parameters)'")
        functions.append(Function(line, *match.groups()))
        if functions[-1].number != len(functions):
            fail(line, f"has the number {functions[-1].number}, not {len(functions)}: they are consecutive, and none is ever given again")
    if len({function.name for function in functions}) != len(functions):
        sys.exit("catalog/mpi.txt: two functions have the same name")
    return functions


def names(functions):
    yield '#include "wire/mpi_functions.h"\n'
    yield "namespace attune::wire {\nnamespace {\nconst char* const kNames[] = {\n    \"\","
    yield from (f'    "{function.name}",' for function in functions)
    yield "};\n}  // namespace"
    yield f"const char* MpiFunctionName(uint64_t number) {{ return number <= {len(functions)} ? kNames[number] : \"\"; }}"
    yield "}  // namespace attune::wire"


def hook(function):
    """The function in place of another one, which gives the role's what that needs."""
    given, _, replaced = ROLES[function.role].partition("/")
    replaced = replaced.strip()
    arguments = [function.find(wanted) for wanted in given.split()]
    for name in [*arguments, *([replaced] if replaced else [])]:
        if not function.parameters[function.names.index(name)].is_known:
            fail(function.line, f"the type of {name} is not known here")
    typed = ", ".join(f"{'void*' if not p.is_known else p.type} {p.name}" for p in function.parameters)
    types = ", ".join("void*" if not p.is_known else p.type for p in function.parameters)
    if function.shape:
        blocks = ", ".join(f".{name} = {name}" for name in BLOCKS if name in function.names)
        arguments.append(f"Blocks<Abi>{{.shape = Shape::{camel(function.shape)}{', ' if blocks else ''}{blocks}}}")
    instead = ""
    if replaced:
        instead = f"({function.parameters[function.names.index(replaced)].type} its_{replaced})"
        arguments.append(replaced)
    passed = ", ".join(f"its_{name}" if name == replaced else name for name in function.names)
    yield f"template <class Abi>\nint {function.name}({typed}) {{"
    yield f"  const auto real = [=]{instead} {{ return Real<int({types})>({function.number})({passed}); }};"
    yield f"  if (!Begins()) return real({replaced});"
    yield f"  return {camel(function.role)[1:]}<Abi>({', '.join([f'Call({function.number}, ATTUNE_SITE)', 'real', *arguments])});\n}}"


def camel(text):
    return "k" + "".join(part.capitalize() for part in text.split("_"))


def hooks(functions):
    # Words pass through as they came: what a call is only counted for is the same for every implementation.
    for function in functions:
        if function.role == "call":
            words = ", ".join(f"uint64_t a{i}" for i in range(len(function.names)))
            given = ", ".join(f"a{i}" for i in range(len(function.names)))
            types = ", ".join(["uint64_t"] * len(function.names))
            yield f"inline uint64_t {function.name}({words}) {{"
            yield f"  const auto real = [=] {{ return Real<uint64_t({types})>({function.number})({given}); }};"
            yield f"  return Begins() ? Plain(Call({function.number}, ATTUNE_SITE), real) : real();\n}}"
        else:
            yield from hook(function)
    yield "\n/// What is in a function's place.\ntemplate <class Abi>\nvoid* HookOf(uint16_t function) {\n  switch (function) {"
    for function in functions:
        template = "" if function.role == "call" else "<Abi>"
        yield f"    case {function.number}: return reinterpret_cast<void*>(&{function.name}{template});"
    yield "    default: return nullptr;\n  }\n}"


def symbols(functions):
    """(symbol, kind, its function); kind 0: MPI_, 1: PMPI_, then the Fortran bindings'."""
    for function in functions:
        lower = function.name.lower()
        yield function.name, 0, function
        yield "P" + function.name, 1, function
        yield lower + "_", 2, function
        yield lower + "_f08_", 3, function
        yield lower + "_f08ts_", 4, function


KINDS = 5


def stubs(functions):
    count = len(functions) + 1
    yield "// A symbol jumps to where its slot leads: at first to the resolver, which is told which one it is."
    yield f"#if defined(__x86_64__) || defined(__aarch64__)\n__asm__(R\"(\n  .pushsection .data.rel.attune_mpi_slots, \"aw\", %progbits\n  .balign 64"
    yield f"  .globl attune_mpi_slots\n  .hidden attune_mpi_slots\nattune_mpi_slots:\n  .rept {count * KINDS}\n  .quad attune_mpi_first\n  .endr"
    yield "  .popsection\n)\");\n#endif\n#if defined(__x86_64__)\n__asm__(R\"(\n  .pushsection .text\n"
    for symbol, kind, function in symbols(functions):
        slot = kind * count + function.number
        yield f"  ATTUNE_SYMBOL {symbol}"
        if kind >= 2:
            yield "  movq (%rsp), %r11\n  movq attune_mpi_fortran_site@gottpoff(%rip), %r10\n  movq %r11, %fs:(%r10)"
        yield f"  movl ${slot}, %r11d\n  jmpq *attune_mpi_slots+{slot * 8}(%rip)\n  ATTUNE_SYMBOL_END {symbol}"
    yield "  .popsection\n)\");\n#elif defined(__aarch64__)\n__asm__(R\"(\n  .pushsection .text\n"
    for symbol, kind, function in symbols(functions):
        slot = kind * count + function.number
        yield f"  ATTUNE_SYMBOL {symbol}"
        if kind >= 2:
            yield ("  adrp x16, :gottprel:attune_mpi_fortran_site\n  ldr x16, [x16, :gottprel_lo12:attune_mpi_fortran_site]\n"
                   "  mrs x17, tpidr_el0\n  str x30, [x17, x16]")
        yield (f"  adrp x16, attune_mpi_slots+{slot * 8}\n  ldr x16, [x16, :lo12:attune_mpi_slots+{slot * 8}]\n"
               f"  mov w17, #{slot}\n  br x16\n  ATTUNE_SYMBOL_END {symbol}")
    yield "  .popsection\n)\");\n#endif\n"
    yield "namespace attune::probe::mpi {\nextern const char* const kSymbols[];\nconst char* const kSymbols[] = {"
    for kind in range(KINDS):
        yield '    "",'
        yield from (f'    "{symbol}",' for symbol, of, _ in symbols(functions) if of == kind)
    yield "};\nextern const uint32_t kFunctions;"
    yield f"const uint32_t kFunctions = {len(functions)};\n}}  // namespace attune::probe::mpi"


def main():
    modes = {"names": names, "hooks": hooks, "stubs": stubs}
    if len(sys.argv) != 4 or sys.argv[1] not in modes:
        sys.exit(__doc__)
    text = "\n".join(modes[sys.argv[1]](read(sys.argv[3]))) + "\n"
    Path(sys.argv[2]).write_text("// Made by catalog/generate_mpi.py.\n" + text)


if __name__ == "__main__":
    main()
