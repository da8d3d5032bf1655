#pragma once
/// From a checked P2G program to C++ that uses attune/flow/program.h.

#include <string>

#include "dataflow/language/syntax.h"

namespace attune::flow::language {

/// The whole program, with main(). #line leads errors of the C++ compiler, and debuggers, to the program's own text.
/// @param file the program's, as errors shall name it
/// @param cpp_file where the C++ will lie
/// @pre Check() has found no error
std::string EmitCpp(const ProgramText& program, const std::string& file, const std::string& cpp_file);

}  // namespace attune::flow::language
