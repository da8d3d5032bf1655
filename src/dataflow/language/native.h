#pragma once
/// Native code of a P2G program, between %{ and %}: C++ that is passed on as it is. It is read only as far as its end
/// and its names need it.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "dataflow/language/diagnostic.h"

namespace attune::flow::language {

/// A name, a number or a sign of native code; strings, characters and comments are left out.
struct NativeToken {
  enum class Kind { kName, kNumber, kText, kSign };
  Kind kind = Kind::kSign;
  std::string text;  ///< kText: empty
  Position at;
};

struct Native {
  Position at;  ///< of the text
  std::string text;
  std::vector<NativeToken> tokens;

  /// Whether the name occurs, other than as a member (value.name, value->name) or behind "::".
  bool Mentions(std::string_view name) const;
  /// Calls of the function, as indexes of its name in `tokens`.
  std::vector<size_t> Calls(std::string_view function) const;
};

constexpr bool IsNameBegin(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }

/// Moves through a text and counts lines and columns.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}
  bool at_end() const { return next_ >= text_.size(); }
  /// The character `ahead` further on; '\0' behind the end.
  char Peek(size_t ahead = 0) const { return next_ + ahead < text_.size() ? text_[next_ + ahead] : '\0'; }
  bool StartsWith(std::string_view words) const { return text_.substr(next_).starts_with(words); }
  char Take();
  void Skip(size_t count);
  size_t offset() const { return next_; }
  Position position() const { return position_; }
  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
  size_t next_ = 0;
  Position position_;
};

/// Reads native code up to its %}, which is taken as well. @param begin of its %{, which is taken already
/// Errors: no %}, a string, character or comment that does not end.
Native ReadNative(Cursor& cursor, Position begin, Diagnostics& diagnostics);

}  // namespace attune::flow::language
