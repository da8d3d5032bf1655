#pragma once
/// Keys with numbers that a module can be given: by configure(), and by its argument as "KEY=VALUE,KEY=VALUE".

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text.h"

namespace attune::shipped {

class Configuration {
 public:
  struct Key {
    std::string_view name;
    double* value;
    double least;
    double most;
  };
  explicit Configuration(std::vector<Key> keys) : keys_(std::move(keys)) {}

  /// Error: kInvalidArgument; the value stays as it was.
  Status Set(std::string_view name, std::string_view text) {
    const Key* key = Find(name);
    if (key == nullptr) return Error{Errc::kInvalidArgument, fmt::format("'{}' is no key", name), "keys: " + Names()};
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !(value >= key->least && value <= key->most))
      return Error{Errc::kInvalidArgument,
                   fmt::format("{}: '{}' is no number from {} to {}", name, text, key->least, key->most), ""};
    *key->value = value;
    return {};
  }

  Status SetAll(std::string_view argument) {
    if (argument.empty()) return {};
    for (const std::string_view part : Split(argument, ",")) {
      const size_t equals = std::min(part.find('='), part.size());
      ATTUNE_CHECK_OK(Set(part.substr(0, equals), part.substr(std::min(equals + 1, part.size()))));
    }
    return {};
  }

  /// The value of a key; of "" all as lines KEY=VALUE.
  std::optional<std::string> Text(std::string_view name) const {
    if (const Key* key = Find(name)) return fmt::format("{}", *key->value);
    if (!name.empty()) return std::nullopt;
    std::string text;
    for (const Key& key : keys_) text += fmt::format("{}={}\n", key.name, *key.value);
    return text;
  }

 private:
  const Key* Find(std::string_view name) const {
    const auto found = std::ranges::find(keys_, name, &Key::name);
    return found == keys_.end() ? nullptr : &*found;
  }
  std::string Names() const {
    std::string names;
    for (const Key& key : keys_) names += (names.empty() ? "" : ", ") + std::string(key.name);
    return names;
  }

  std::vector<Key> keys_;
};

}  // namespace attune::shipped
