#pragma once
/// Reading a table of a TOML file key by key: each mistake is named with file, line and column, the first one is
/// kept.

// All users of the library come through here.
#include <stdexcept>

namespace attune {
/// Replaces the library's assertions by exceptions.
[[noreturn]] inline void RefuseToml() { throw std::invalid_argument("this is no TOML"); }
}  // namespace attune

// The library asserts properties that foreign text may lack, and with NDEBUG assumes them. Both could end the process;
// an exception is handled like its other errors.
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(expr) (static_cast<bool>(expr) ? static_cast<void>(0) : ::attune::RefuseToml())
#define TOML_EXCEPTIONS 1
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"

namespace attune {

/// Collects mistakes and keeps the first one, since later ones often follow from it.
class TomlMistakes {
 public:
  /// @param file how messages call it  @param manual the page of the documentation that says what the file may hold
  explicit TomlMistakes(std::string file, std::string manual) : file_(std::move(file)), manual_(std::move(manual)) {}
  void Add(const toml::source_region& where, std::string message, std::string hint = "");
  bool any() const { return first_.has_value(); }
  const Error& first() const { return *first_; }
  const std::string& manual() const { return manual_; }

 private:
  const std::string file_;
  const std::string manual_;
  std::optional<Error> first_;
};

/// The file's root table; an Error names file, line and column. @param text foreign bytes  @param file how messages
/// call it
Result<toml::table> ParseToml(std::string_view text, std::string_view file);

/// One table. Read every key that it may have, then call Finish(): all other keys are mistakes.
class TomlTable {
 public:
  /// @param title how messages call it: "[registers]"
  TomlTable(const toml::table& table, std::string title, TomlMistakes& mistakes)
      : table_(table), title_(std::move(title)), mistakes_(mistakes) {}
  /// @param fallback where keys are looked up that the table itself lacks; may be nullptr
  void SetFallback(const toml::table* fallback) { fallback_ = fallback; }

  std::string RequiredText(std::string_view key);
  std::string Text(std::string_view key, std::string_view otherwise);
  /// A list of texts, which may be empty ones; a single text is a list of one. Empty where it is not there.
  std::vector<std::string> Texts(std::string_view key);
  int64_t RequiredInteger(std::string_view key, int64_t low, int64_t high);
  int64_t Integer(std::string_view key, int64_t low, int64_t high, int64_t otherwise);
  bool Flag(std::string_view key, bool otherwise);
  /// The value that belongs to the word under the key.
  template <class T>
  T Choice(std::string_view key, std::span<const std::pair<std::string_view, T>> words, T otherwise) {
    const toml::node* node = Find(key);
    if (node == nullptr) return otherwise;
    const std::string word = node->value_exact<std::string>().value_or("");
    std::string known;
    for (const auto& [name, value] : words) {
      if (name == word) return value;
      known += (known.empty() ? "" : ", ") + std::string(name);
    }
    Wrong(*node, key, "is none of " + known);
    return otherwise;
  }
  /// nullptr: not there, or no table (then a mistake was added).
  const toml::table* Table(std::string_view key);
  /// Every table of an array of tables; empty where it is not there.
  std::vector<const toml::table*> Tables(std::string_view key);

  bool Has(std::string_view key);
  /// A mistake at a key, or at the table where the key is not there.
  void Fail(std::string_view key, std::string_view message, std::string hint = "");
  void Finish();
  const std::string& title() const { return title_; }

 private:
  const toml::node* Find(std::string_view key);
  void Missing(std::string_view key);
  void Wrong(const toml::node& node, std::string_view key, const std::string& message);

  const toml::table& table_;
  const toml::table* fallback_ = nullptr;
  const std::string title_;
  TomlMistakes& mistakes_;
  std::vector<std::string> asked_;
};

/// Parses a file and calls `read` with its root table and a TomlMistakes. @return its result, or the first mistake
/// @param text, file as ParseToml  @param manual as TomlMistakes
template <class Read>
auto ReadToml(std::string_view text, std::string_view file, std::string_view manual, const Read& read)
    -> Result<std::invoke_result_t<const Read&, const toml::table&, TomlMistakes&>> {
  ATTUNE_TRY(const toml::table root, ParseToml(text, file));
  TomlMistakes mistakes{std::string(file), std::string(manual)};
  auto made = read(root, mistakes);
  if (mistakes.any()) return mistakes.first();
  return made;
}

}  // namespace attune
