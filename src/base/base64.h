#pragma once
/// Base64 (RFC 4648): bytes in the letters of a text.

#include <string>
#include <string_view>

namespace attune {

/// With padding.
std::string Base64(std::string_view bytes);

}  // namespace attune
