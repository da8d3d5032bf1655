#pragma once
/// Text that came from a program, a file or a peer, and what is made of it for others.

#include <string>
#include <string_view>
#include <vector>

namespace attune {

/// The text as valid UTF-8 on one line: each byte of what is not UTF-8, and each control character, becomes '?'.
std::string CleanText(std::string_view text);

/// The parts between separators, empty ones too.
std::vector<std::string_view> Split(std::string_view text, std::string_view separators);

/// As a field of CSV (RFC 4180): in quotes where it must be.
std::string CsvField(std::string_view text);

/// With a mark at each thousand: "1,234,567".
std::string WithThousands(double value, int decimals);

}  // namespace attune
