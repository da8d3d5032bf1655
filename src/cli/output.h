#pragma once
/// What subcommands print as their result.

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/result.h"
#include "model/source.h"

namespace attune::cli {

/// Flushes. A full disk behind the stream is an error. (A reader that closed the pipe ends us by SIGPIPE, as it
/// should.)
Status FinishStream(FILE* stream);

/// The same for standard output, as the end of a subcommand. @return exit code 0
Result<int> FinishOutput();

/// Prints one document. Names that are not UTF-8 have U+FFFD in the place of what is not.
Result<int> PrintJson(const nlohmann::ordered_json& document);

/// Says on standard error what could not be read of a recording.
void PrintDamage(model::Source& source);

}  // namespace attune::cli
