#pragma once
/// Output of subcommands' results.

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/result.h"
#include "model/source.h"

namespace attune::cli {

/// Keeps descriptors 0, 1 and 2 from being given to files that attune opens, where its caller has closed them: reading
/// and writing them fail, and programs that attune runs find them closed. To call before anything is opened.
void KeepStandardStreams();

/// Flushes. Errors: ReaderGone() where a pipe has no reader any more; what write() says, a full disk for one.
Status FinishStream(FILE* stream);

/// Nobody reads our output any more. It is not printed: main.cpp ends attune by SIGPIPE then, as other tools end, also
/// where that signal is blocked or ignored.
Error ReaderGone();
bool IsReaderGone(const Error& error);

/// The same for standard output, as the end of a subcommand. @return exit code 0
Result<int> FinishOutput();

/// Prints one document. Names that are not UTF-8 have U+FFFD in the place of what is not.
Result<int> PrintJson(const nlohmann::ordered_json& document);

/// Says on standard error what could not be read of a recording.
void PrintDamage(model::Source& source);

}  // namespace attune::cli
