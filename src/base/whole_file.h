#pragma once
/// Small files that are written at once.

#include <string>
#include <string_view>

#include "base/result.h"

namespace attune {

/// Makes the file, or writes it anew. What of it lies there after an error is not told.
Status WriteFile(const std::string& path, std::string_view text);

/// Puts the text into the place of what the file had. Under another name first (PATH.new): who reads the file finds the
/// old text or the new one, and after an error (a full disk) it has the old one.
Status ReplaceFile(const std::string& path, std::string_view text);

}  // namespace attune
