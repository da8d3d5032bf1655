#pragma once
/// Files of events and groups of a user that could not be read: they are told, and the others count.

#include <vector>

#include "base/result.h"

namespace attune::counter {

/// @param why names the file, the line and what is wrong. @thread any
void AddBadFile(const Error& why);
/// Those that were added since the last call, each once. @thread any
std::vector<Error> TakeBadFiles();

}  // namespace attune::counter
