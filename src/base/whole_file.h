#pragma once
/// Small files that are written at once.

#include <string>
#include <string_view>

#include "base/result.h"

namespace attune {

/// Writes a file, in place of what it had. No link is followed.
Status WriteFile(const std::string& path, std::string_view text);

/// The same by way of another name in the same folder: whoever reads finds the old file or the new one, whole.
Status ReplaceFile(const std::string& path, std::string_view text);

}  // namespace attune
