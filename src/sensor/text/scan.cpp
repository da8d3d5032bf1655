#include "sensor/text/scan.h"

#include <algorithm>

#include "model/schema.h"

namespace attune::sensor {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

int64_t ScanNumber(const char*& at, const char* end) {
  const bool negative = at < end && *at == '-';
  if (negative) ++at;
  if (at == end || !IsDigit(*at)) return model::kAbsent;
  uint64_t value = 0;
  while (at < end && IsDigit(*at)) value = value * 10 + static_cast<uint64_t>(*at++ - '0');
  return static_cast<int64_t>(negative ? 0 - value : value);
}

int64_t ScanDecimal(const char*& at, const char* end, int digits) {
  const bool negative = at < end && *at == '-';
  if (negative) ++at;
  if (at == end || !IsDigit(*at)) return model::kAbsent;
  int64_t value = 0;
  bool fits = true;
  const auto append = [&](char digit) {
    fits = fits && !__builtin_mul_overflow(value, int64_t{10}, &value) &&
           !__builtin_add_overflow(value, int64_t{digit - '0'}, &value);
  };
  while (at < end && IsDigit(*at)) append(*at++);
  if (at < end && *at == '.') {
    ++at;
    for (; at < end && IsDigit(*at); ++at) {
      if (digits-- > 0) append(*at);
    }
  }
  for (; digits > 0; --digits) append('0');
  if (!fits) return model::kAbsent;
  return negative ? -value : value;
}

int64_t NumberOf(std::string_view text) { return NextNumber(text); }

int64_t NextNumber(std::string_view& text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end && (*at == ' ' || *at == '\t')) ++at;
  const int64_t value = ScanNumber(at, end);
  text.remove_prefix(static_cast<size_t>(at - text.data()));
  return value;
}

std::string_view NextLine(std::string_view& text) {
  const size_t newline = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, newline);
  text.remove_prefix(std::min(newline + 1, text.size()));
  return line;
}

}  // namespace attune::sensor
