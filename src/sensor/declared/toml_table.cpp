#include "sensor/declared/toml_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

namespace attune::sensor {

void Mistakes::Add(const toml::source_region& where, std::string message, std::string hint) {
  if (first_) return;
  first_ = Error{Errc::kInvalidArgument, fmt::format("{}:{}: {}", file_, where.begin.line, message), std::move(hint)};
}

const toml::node* TomlTable::Find(std::string_view key) {
  asked_.emplace_back(key);
  const toml::node* node = table_.get(key);
  if (node == nullptr && fallback_ != nullptr) node = fallback_->get(key);
  return node;
}

bool TomlTable::Has(std::string_view key) { return Find(key) != nullptr; }

void TomlTable::Missing(std::string_view key) {
  mistakes_.Add(table_.source(), fmt::format("{} lacks '{}'", title_, key),
                "docs/declarative-sensors.md says what it is");
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

}  // namespace attune::sensor
