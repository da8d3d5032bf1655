/// Texts of P2G programs: parser, checks, and what is made of those that are right.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "dataflow/language/checks.h"
#include "dataflow/language/emitter.h"
#include "dataflow/language/graph_text.h"
#include "dataflow/language/parser.h"

using namespace attune::flow::language;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Diagnostics diagnostics;
  const ProgramText program = Parse(text, diagnostics);
  if (!diagnostics.has_errors()) Check(program, diagnostics);
  for (const Diagnostic& diagnostic : diagnostics.Sorted()) {
    if (diagnostic.at.line < 1 || diagnostic.at.column < 1) std::abort();
    if (!Format(diagnostic, "program.p2g", text).starts_with("program.p2g:")) std::abort();
  }
  if (diagnostics.has_errors()) return 0;
  static_cast<void>(EmitCpp(program, "program.p2g", "program.cpp"));
  for (const ProgramGraph& graph : {FieldsAndKernels(program), KernelsAlone(program), Unrolled(program, 3)}) {
    static_cast<void>(ToDot(graph, "program"));
    static_cast<void>(ToJson(graph).dump());
  }
  static_cast<void>(ToJson(program).dump());
  return 0;
}
