#include "symbols/variable.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

namespace attune::symbols {
namespace {

using Kind = Variable::Kind;

uint64_t Unsigned(std::span<const std::byte> bytes) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
  return value;
}

int64_t Signed(std::span<const std::byte> bytes) {
  const auto unused = static_cast<unsigned>(8 * (sizeof(int64_t) - std::min(bytes.size(), sizeof(int64_t))));
  return static_cast<int64_t>(Unsigned(bytes) << unused) >> unused;
}

std::vector<std::byte> BytesOf(const void* value, size_t bytes) {
  const auto* begin = static_cast<const std::byte*>(value);
  return {begin, begin + bytes};
}

template <class Number>
std::optional<Number> Parse(std::string_view text, int base = 10) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<uint64_t> ParseUnsigned(std::string_view text) {
  return text.starts_with("0x") ? Parse<uint64_t>(text.substr(2), 16) : Parse<uint64_t>(text);
}

std::string Takes(const Variable& variable) {
  const size_t bits = 8 * variable.bytes;
  if (!variable.words.empty()) {
    std::string words;
    for (const auto& [name, value] : variable.words) words += (words.empty() ? "" : ", ") + name;
    return words;
  }
  switch (variable.kind) {
    case Kind::kBool: return "true or false";
    case Kind::kFloat: return "a number";
    case Kind::kPointer: return "an address, as 0x7f00";
    case Kind::kText: return fmt::format("a text of at most {} bytes", variable.bytes - 1);
    case Kind::kSigned: return fmt::format("a whole number of {} bits", bits);
    case Kind::kUnsigned: return fmt::format("a whole number of {} bits, from 0", bits);
  }
  return {};
}

/// The bytes of a value that fits; nullopt: it does not.
std::optional<std::vector<std::byte>> Encode(const Variable& variable, std::string_view text) {
  for (const auto& [name, value] : variable.words) {
    if (name == text) return BytesOf(&value, variable.bytes);
  }
  const auto unused = static_cast<unsigned>(64 - 8 * std::min<size_t>(variable.bytes, 8));
  switch (variable.kind) {
    case Kind::kBool: {
      const uint64_t value = text == "true" || text == "1" ? 1 : 0;
      if (value == 0 && text != "false" && text != "0") return std::nullopt;
      return BytesOf(&value, variable.bytes);
    }
    case Kind::kSigned: {
      const auto value = Parse<int64_t>(text);
      const int64_t most = std::numeric_limits<int64_t>::max() >> unused;
      if (!value || *value > most || *value < -most - 1) return std::nullopt;
      return BytesOf(&*value, variable.bytes);
    }
    case Kind::kPointer:
    case Kind::kUnsigned: {
      const auto value = ParseUnsigned(text);
      if (!value || *value > std::numeric_limits<uint64_t>::max() >> unused) return std::nullopt;
      return BytesOf(&*value, variable.bytes);
    }
    case Kind::kFloat: {
      double value = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
      const auto narrow = static_cast<float>(value);
      return variable.bytes == sizeof narrow ? BytesOf(&narrow, sizeof narrow) : BytesOf(&value, sizeof value);
    }
    case Kind::kText: {
      if (text.size() >= variable.bytes || text.find('\0') != std::string_view::npos) return std::nullopt;
      std::vector<std::byte> bytes = BytesOf(text.data(), text.size());
      bytes.push_back(std::byte{0});
      return bytes;
    }
  }
  return std::nullopt;
}

}  // namespace

std::string ToText(const Variable& variable, std::span<const std::byte> bytes) {
  for (const auto& [name, value] : variable.words) {
    if (value == Signed(bytes)) return name;
  }
  switch (variable.kind) {
    case Kind::kBool: return Unsigned(bytes) != 0 ? "true" : "false";
    case Kind::kSigned: return std::to_string(Signed(bytes));
    case Kind::kUnsigned: return std::to_string(Unsigned(bytes));
    case Kind::kPointer: return fmt::format("{:#x}", Unsigned(bytes));
    case Kind::kFloat: {
      float narrow = 0;
      double value = 0;
      if (bytes.size() == sizeof narrow) {
        std::memcpy(&narrow, bytes.data(), sizeof narrow);
        return fmt::format("{}", narrow);
      }
      std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
      return fmt::format("{}", value);
    }
    case Kind::kText: {
      const auto end = std::ranges::find(bytes, std::byte{0});
      return {reinterpret_cast<const char*>(bytes.data()), static_cast<size_t>(end - bytes.begin())};
    }
  }
  return {};
}

Result<std::vector<std::byte>> FromText(const Variable& variable, std::string_view text) {
  if (auto bytes = Encode(variable, text)) return *std::move(bytes);
  return Error{Errc::kInvalidArgument,
               fmt::format("'{}' is no value of type {}", text, variable.type.empty() ? "integer" : variable.type),
               "it takes " + Takes(variable)};
}

}  // namespace attune::symbols
