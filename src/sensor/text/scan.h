#pragma once
/// Numbers and lines in text that is there already. Nothing allocates.

#include <cstdint>
#include <string_view>

namespace attune::sensor {

/// The number at `at`, which is moved past it; kAbsent where there is none. Wraps as the kernel's own counters do:
/// 18446744073709551615 is -1.
int64_t ScanNumber(const char*& at, const char* end);

/// "12.07" as 1207 with two digits, "12.1" as 1210, "12" as 1200; more digits than asked for are cut off. Moves `at`
/// past the whole number. kAbsent where there is none, or where it does not fit.
int64_t ScanDecimal(const char*& at, const char* end, int digits);

/// The number at the front of `text`, behind blanks; kAbsent where there is none ("Unavailable", "<unknown>").
int64_t NumberOf(std::string_view text);

/// The same, and `text` goes on behind the number.
int64_t NextNumber(std::string_view& text);

/// The text's first line without its newline; `text` goes on behind it.
std::string_view NextLine(std::string_view& text);

}  // namespace attune::sensor
