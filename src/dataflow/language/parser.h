#pragma once
/// From the text of a P2G program to its syntax tree, by recursive descent.

#include <string_view>

#include "dataflow/language/syntax.h"

namespace attune::flow::language {

/// Reads as much as can be read: behind an error it goes on at the next statement.
ProgramText Parse(std::string_view text, Diagnostics& diagnostics);

}  // namespace attune::flow::language
