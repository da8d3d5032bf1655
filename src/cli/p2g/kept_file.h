#pragma once
/// Subcommands of `attune p2g` for files of kept fields (run --keep).

#include <string>
#include <vector>

#include "base/result.h"

namespace attune::cli {

/// Prints the fields of a file; of one field its ages; of one age its elements.
/// @param which nothing, FIELD, or FIELD and AGE
Result<int> DumpKept(const std::string& path, const std::vector<std::string>& which, bool json);

/// Prints the first element, by age, field and index, that two files do not have the same.
/// @return exit code: 0 there is none, 1 there is one
Result<int> DiffKept(const std::string& path, const std::string& other_path, bool json);

/// The program that has written the file: absolute path.
Result<std::string> ProgramOfKept(const std::string& path);

}  // namespace attune::cli
