#!/usr/bin/env python3
"""Checks that programs which the types can tell to be wrong do not compile, and that the error says why.

    compile_errors.py COMPILER ROOT
"""

import os
import subprocess
import sys
import tempfile

HEADERS = """
#include <attune/flow.h>
#include <string>
"""
PROLOGUE = """
using namespace attune::flow;
using namespace attune::flow::vars;
int main() {
  Graph graph;
  auto m = graph.AddField<int>("m");
  auto p = graph.AddField<int>("p");
  auto grid = graph.AddField<float, 2>("grid");
  auto fixed = graph.AddConstant<int>("fixed");
  (void)m, (void)p, (void)grid, (void)fixed;
"""
BUILDS = 'graph.AddKernel("k", Fetch(m(a)[x]), Store(p(a)[x]), [](int v) { return v; });'
# (what is wrong, words of the compiler's error)
CASES = [
    ('graph.AddField<std::string>("s");', "elements of a field must be trivially copyable"),
    ('graph.AddField<int, 5>("s");', "a field has 1 to 4 dimensions"),
    ('graph.AddKernel("k", Fetch(m(a)[x][y]), [](int) {});', "more indexes than the field has dimensions"),
    ('graph.AddKernel("k", Fetch(m[x]), [](int) {});', "this field has ages"),
    ('graph.AddKernel("k", Fetch(fixed(a)[x]), [](int) {});', "this field has no ages"),
    ('graph.AddKernel("k", Fetch(m(a)[x]), Store(p(a)[y]), [](int v) { return v; });', "an index variable is stored by that no fetch and no Range() binds"),
    ('graph.AddKernel("k", Fetch(m(a)[y]), [](int) {});', "index variables are taken in order"),
    ('graph.AddKernel("k", Fetch(grid(a)[x][y]), Store(p(a)[x]), [](float v) { return int(v); });', "a stored element must name every index variable"),
    ('graph.AddKernel("k", Fetch(m(a)[x]), Store(p(0)[x]), [](int v) { return v; });', "a kernel with an age variable stores into ages of it"),
    ('graph.AddKernel("k", Fetch(m(a)[x]), Store(p(a)[x]), [](int v, int w) { return v + w; });', "the body cannot be called"),
    ('graph.AddKernel("k", Fetch(m(a)[x]), Store(p(a)[x]), [](int) { return "text"; });', "not of the type of the field"),
    ('graph.AddKernel("k", Fetch(m(a)), Store(p(a)), [](View<int, 1>) { return 1; });', "a body can return only one store of a single element"),
    ('int n = 0; graph.AddKernel("k", Fetch(m(a)[x]), [n](int) mutable { ++n; });', "without kOrdered it must not be mutable"),
    ('graph.AddKernel("k", Fetch(m(a)[x]), [](auto& instance, int) { instance.Stop(); });', "constraints not satisfied|no matching function"),
    ('graph.AddKernel("k", Fetch(m(a)[x]), [](auto& instance, int) { instance.Finish(); });', "constraints not satisfied|no matching function"),
    ('graph.AddKernel("k", Fetch(m(a)), Store(p(a)), Deadline(std::chrono::seconds(1), [](View<int, 1>, Out<int, 1>&) {}), [](View<int, 1>, Out<int, 1>&) {});',
     "a kernel with a deadline stores single elements"),
    ('graph.AddKernel("k", Fetch(m(a)[x]), 42, [](int) {});', "a kernel is made of Fetch, Store, Range"),
    ('graph.AddKernel("k", Fetch(m(a)[x]), For<Capability::kCpu>([](int) {}), [](int) {});', "the body for every machine stands last"),
    ('graph.AddKernel("k", Fetch(m(a)[x]), For<Capability::kAvx2>([](int) {}), For<Capability::kAvx2>([](int) {}), [](int) {});',
     "a kernel has one body for each capability"),
    ('graph.AddKernel("k", Fetch(m(a)[x]), For<Capability::kAvx2>([](int, int) {}), [](int) {});', "the body cannot be called"),
    ('graph.AddKernel("k", Fetch(grid(a)), [](View<float, 2> v) { return void(v(1)); });', "a view takes one index for each of its dimensions"),
]


class Compiler:
    """Reads the headers once: g++ and clang++ find what was precompiled beside a file that is included first."""

    def __init__(self, program, root, folder):
        self.headers = os.path.join(folder, "headers.h")
        with open(self.headers, "w", encoding="utf-8") as file:
            file.write(HEADERS)
        self.command = [program, "-std=c++20", f"-I{root}/include"]
        subprocess.run([*self.command, "-x", "c++-header", self.headers, "-o", self.headers + ".gch"], check=True)

    def compile(self, text):
        return subprocess.run([*self.command, "-fsyntax-only", "-include", self.headers, "-x", "c++", "-"],
                              input=PROLOGUE + text + "\n}\n", capture_output=True, text=True, check=False)


def failures_of(compiler):
    failures = 0
    result = compiler.compile(BUILDS)
    if result.returncode != 0:
        print(f"what is right does not compile:\n{result.stderr}")
        failures += 1
    for text, words in CASES:
        result = compiler.compile(text)
        if result.returncode == 0:
            print(f"compiles, but must not: {text}")
            failures += 1
        elif not any(each in result.stderr for each in words.split("|")):
            print(f"{text}\n  '{words}' is not in:\n{result.stderr[:1500]}")
            failures += 1
    return failures


def main():
    program, root = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="attune-flow-") as folder:
        failures = failures_of(Compiler(program, root, folder))
    print(f"{len(CASES)} programs, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
