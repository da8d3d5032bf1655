#pragma once
/// Text that came from a program, a file or a peer.

#include <string>
#include <string_view>

namespace attune {

/// The text as valid UTF-8 on one line: each byte of what is not UTF-8, and each control character, becomes '?'.
std::string CleanText(std::string_view text);

/// A field of CSV, in quotes where it needs them (RFC 4180).
std::string CsvField(std::string_view text);

}  // namespace attune
