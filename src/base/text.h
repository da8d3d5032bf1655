#pragma once
/// Text that came from a program, a file or a peer, and what is made of it for others.

#include <string>
#include <string_view>

namespace attune {

/// The text as valid UTF-8 on one line: each byte of what is not UTF-8, and each control character, becomes '?'.
std::string CleanText(std::string_view text);

/// As a field of CSV (RFC 4180): in quotes where it must be.
std::string CsvField(std::string_view text);

}  // namespace attune
