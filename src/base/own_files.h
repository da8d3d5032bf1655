#pragma once
/// Files that are installed with attune.

#include <string>
#include <string_view>

namespace attune {

/// A library below the prefix that the running program is in, as it was built or installed. @return "": there is none
std::string FindOwnLibrary(std::string_view name);

}  // namespace attune
