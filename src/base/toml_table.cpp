#include "base/toml_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"

namespace attune {
namespace {

/// Rejects what the library takes badly: characters beyond ASCII, control characters (undefined behaviour in keys), and
/// tables whose name does not begin like one.
void CheckText(std::string_view text, TomlMistakes& mistakes) {
  toml::source_index number = 0;
  for (const std::string_view line : Split(text, "\n")) {
    ++number;
    const toml::source_region here{{number, 1}, {number, 1}, {}};
    const auto* other =
        std::ranges::find_if_not(line, [](char c) { return (c >= ' ' && c < 0x7f) || c == '\t' || c == '\r'; });
    if (other != line.end()) {
      const toml::source_position place{number, static_cast<toml::source_index>(other - line.begin() + 1)};
      mistakes.Add({place, place, {}}, "a character that is no ASCII text",
                   "units are written as in us, deg C, other texts in quotes as in \"caf\\u00e9\"");
    }
    const size_t bracket = line.find_first_not_of(" \t");
    if (bracket == std::string_view::npos || line[bracket] != '[') continue;
    const size_t name = line.find_first_not_of("[ \t", bracket);
    const auto first = name == std::string_view::npos ? '\0' : line[name];
    if (std::isalnum(static_cast<unsigned char>(first)) == 0 &&
        std::string_view("_-\"'").find(first) == std::string_view::npos)
      mistakes.Add(here, "a table has a name: letters, digits, _ and -", "TOML is described at https://toml.io");
  }
}

}  // namespace

Result<toml::table> ParseToml(std::string_view text, std::string_view file) {
  TomlMistakes mistakes{std::string(file), ""};
  CheckText(text, mistakes);
  if (mistakes.any()) return mistakes.first();
  try {
    return toml::table(toml::parse(text));
  } catch (const toml::parse_error& error) {
    mistakes.Add(error.source(), CleanText(error.description()), "TOML is described at https://toml.io");
  } catch (const std::invalid_argument& error) {
    mistakes.Add({{1, 1}, {1, 1}, {}}, error.what(), "TOML is described at https://toml.io");
  }
  return mistakes.first();
}

void TomlMistakes::Add(const toml::source_region& where, std::string message, std::string hint) {
  if (first_) return;
  first_ = Error{Errc::kInvalidArgument,
                 fmt::format("{}:{}:{}: {}", file_, std::max<uint32_t>(1, where.begin.line),
                             std::max<uint32_t>(1, where.begin.column), message),
                 std::move(hint)};
}

const toml::node* TomlTable::Find(std::string_view key) {
  asked_.emplace_back(key);
  const toml::node* node = table_.get(key);
  if (node == nullptr && fallback_ != nullptr) node = fallback_->get(key);
  return node;
}

bool TomlTable::Has(std::string_view key) { return Find(key) != nullptr; }

void TomlTable::Missing(std::string_view key) {
  mistakes_.Add(table_.source(), fmt::format("{} lacks '{}'", title_, key), mistakes_.manual() + " says what it is");
}

void TomlTable::Wrong(const toml::node& node, std::string_view key, const std::string& message) {
  mistakes_.Add(node.source(), fmt::format("{}: '{}' {}", title_, key, message));
}

std::string TomlTable::RequiredText(std::string_view key) {
  if (!Has(key)) Missing(key);
  return Text(key, "");
}

std::string TomlTable::Text(std::string_view key, std::string_view otherwise) {
  const toml::node* node = Find(key);
  if (node == nullptr) return std::string(otherwise);
  std::string text = node->value_exact<std::string>().value_or("");
  if (text.empty()) Wrong(*node, key, "is not a text");
  return text;
}

int64_t TomlTable::RequiredInteger(std::string_view key, int64_t low, int64_t high) {
  if (!Has(key)) Missing(key);
  return Integer(key, low, high, low);
}

int64_t TomlTable::Integer(std::string_view key, int64_t low, int64_t high, int64_t otherwise) {
  const toml::node* node = Find(key);
  if (node == nullptr) return otherwise;
  const std::optional<int64_t> value = node->value_exact<int64_t>();
  if (!value) {
    Wrong(*node, key, "is not a whole number");
    return otherwise;
  }
  if (*value < low || *value > high) {
    Wrong(*node, key, fmt::format("is {}; it must lie between {} and {}", *value, low, high));
    return otherwise;
  }
  return *value;
}

bool TomlTable::Flag(std::string_view key, bool otherwise) {
  const toml::node* node = Find(key);
  if (node == nullptr) return otherwise;
  const std::optional<bool> value = node->value_exact<bool>();
  if (!value) Wrong(*node, key, "is neither true nor false");
  return value.value_or(otherwise);
}

std::vector<std::string> TomlTable::Texts(std::string_view key) {
  const toml::node* node = Find(key);
  if (node == nullptr) return {};
  if (node->is_string()) return {Text(key, "")};
  std::vector<std::string> texts;
  const toml::array* array = node->as_array();
  if (array == nullptr) Wrong(*node, key, "is not a list of texts");
  for (size_t i = 0; array != nullptr && i < array->size(); ++i) {
    if (const auto text = (*array)[i].value_exact<std::string>())
      texts.push_back(*text);
    else
      Wrong((*array)[i], key, "has something that is not a text");
  }
  return texts;
}

const toml::table* TomlTable::Table(std::string_view key) {
  const toml::node* node = Find(key);
  if (node != nullptr && !node->is_table()) Wrong(*node, key, "is not a table");
  return node != nullptr ? node->as_table() : nullptr;
}

std::vector<const toml::table*> TomlTable::Tables(std::string_view key) {
  std::vector<const toml::table*> tables;
  const toml::node* node = Find(key);
  if (node == nullptr) return tables;
  const toml::array* array = node->as_array();
  if (array == nullptr || array->empty()) {
    Wrong(*node, key, "is not a list of tables");
    return tables;
  }
  for (const toml::node& entry : *array) {
    if (!entry.is_table()) {
      Wrong(entry, key, "is not a list of tables");
      return tables;
    }
    tables.push_back(entry.as_table());
  }
  return tables;
}

void TomlTable::Fail(std::string_view key, std::string_view message, std::string hint) {
  const toml::node* node = Find(key);
  mistakes_.Add(node != nullptr ? node->source() : table_.source(), fmt::format("{}: '{}' {}", title_, key, message),
                std::move(hint));
}

void TomlTable::Finish() {
  for (const auto& [key, node] : table_) {
    const std::string_view name = key.str();
    if (std::find(asked_.begin(), asked_.end(), name) != asked_.end()) continue;
    std::sort(asked_.begin(), asked_.end());
    asked_.erase(std::unique(asked_.begin(), asked_.end()), asked_.end());
    std::string hint = DidYouMean(name, asked_);
    if (hint.empty()) hint = fmt::format("it may have {}", fmt::join(asked_, ", "));
    mistakes_.Add(key.source(), fmt::format("{} has the unknown key '{}'", title_, name), std::move(hint));
    return;
  }
}

}  // namespace attune
