#pragma once
/// What subcommands print to standard output as their result.

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/result.h"

namespace attune::cli {

/// Flushes standard output. A full disk behind it is an error; a reader that closed the pipe is not (`| head`).
/// @return exit code 0
inline Result<int> FinishOutput() {
  if ((std::fflush(stdout) != 0 || std::ferror(stdout) != 0) && errno != EPIPE) return ErrnoError("standard output");
  return 0;
}

/// Prints one document. Names that are not UTF-8 have U+FFFD in the place of what is not.
inline Result<int> PrintJson(const nlohmann::ordered_json& document) {
  const std::string text = document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fputc('\n', stdout);
  return FinishOutput();
}

}  // namespace attune::cli
