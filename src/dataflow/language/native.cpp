#include "dataflow/language/native.h"

#include <algorithm>
#include <array>

namespace attune::flow::language {
namespace {

bool IsNamePart(char c) { return IsNameBegin(c) || IsDigit(c); }

class Reader {
 public:
  Reader(Cursor& cursor, Position begin, Diagnostics& diagnostics)
      : cursor_(cursor), begin_(begin), diagnostics_(diagnostics) {}

  Native Read() {
    native_.at = cursor_.position();
    const size_t first = cursor_.offset();
    while (!cursor_.at_end()) {
      if (cursor_.StartsWith("%}")) {
        native_.text = cursor_.text().substr(first, cursor_.offset() - first);
        cursor_.Skip(2);
        return std::move(native_);
      }
      Step();
    }
    // A piece that did not end before is the reason why this one does not.
    if (!failed_) diagnostics_.Error(begin_, "native code does not end", "it begins here and needs a '%}'");
    native_.text = cursor_.text().substr(first);
    return std::move(native_);
  }

 private:
  using Kind = NativeToken::Kind;

  void Step() {
    const Position at = cursor_.position();
    const char c = cursor_.Peek();
    if (cursor_.StartsWith("//")) return LineComment();
    if (cursor_.StartsWith("/*")) return BlockComment(at);
    if (c == '"' || c == '\'') return Quoted(at);
    if (IsNameBegin(c)) return Name(at);
    if (IsDigit(c)) return Number(at);
    cursor_.Take();
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') return;
    std::string sign(1, c);
    // Two signs that say whether a name is one of its own.
    if ((c == ':' && cursor_.Peek() == ':') || (c == '-' && cursor_.Peek() == '>')) sign += cursor_.Take();
    native_.tokens.push_back({Kind::kSign, sign, at});
  }

  void LineComment() {
    while (!cursor_.at_end() && cursor_.Peek() != '\n') {
      if (cursor_.Take() == '\\' && cursor_.Peek() == '\n') cursor_.Take();
    }
  }

  void BlockComment(Position at) {
    cursor_.Skip(2);
    while (!cursor_.at_end()) {
      if (cursor_.StartsWith("*/")) return cursor_.Skip(2);
      cursor_.Take();
    }
    Fail(at, "a comment does not end", "it begins here and needs a '*/'");
  }

  void Quoted(Position at) {
    const char quote = cursor_.Take();
    native_.tokens.push_back({Kind::kText, "", at});
    while (!cursor_.at_end() && cursor_.Peek() != '\n') {
      const char c = cursor_.Take();
      if (c == quote) return;
      if (c == '\\' && !cursor_.at_end()) cursor_.Take();
    }
    Fail(at, quote == '"' ? "a string does not end on its line" : "a character literal does not end on its line",
         std::string("it begins here and needs a ") + quote);
  }

  void Name(Position at) {
    std::string name;
    while (IsNamePart(cursor_.Peek())) name += cursor_.Take();
    constexpr std::array<std::string_view, 5> kRaw = {"R", "u8R", "uR", "UR", "LR"};
    if (cursor_.Peek() == '"' && std::find(kRaw.begin(), kRaw.end(), name) != kRaw.end()) return Raw(at);
    native_.tokens.push_back({Kind::kName, std::move(name), at});
  }

  void Raw(Position at) {
    cursor_.Take();
    std::string end = ")";
    while (!cursor_.at_end() && cursor_.Peek() != '(' && end.size() <= 16) end += cursor_.Take();
    end += '"';
    native_.tokens.push_back({Kind::kText, "", at});
    while (!cursor_.at_end()) {
      if (cursor_.StartsWith(end)) return cursor_.Skip(end.size());
      cursor_.Take();
    }
    Fail(at, "a raw string does not end", "it begins here and needs a " + end);
  }

  /// Numbers may have ' between their digits, which is no character literal.
  void Number(Position at) {
    std::string number;
    while (IsNamePart(cursor_.Peek()) || cursor_.Peek() == '.' ||
           (cursor_.Peek() == '\'' && IsNamePart(cursor_.Peek(1)))) {
      const char c = cursor_.Take();
      number += c;
      const bool is_exponent = c == 'e' || c == 'E' || c == 'p' || c == 'P';
      if (is_exponent && (cursor_.Peek() == '+' || cursor_.Peek() == '-') && IsDigit(cursor_.Peek(1)))
        number += cursor_.Take();
    }
    native_.tokens.push_back({Kind::kNumber, std::move(number), at});
  }

  void Fail(Position at, std::string message, std::string hint) {
    if (!failed_) diagnostics_.Error(at, std::move(message), std::move(hint));
    failed_ = true;
  }

  Cursor& cursor_;
  Position begin_;
  Diagnostics& diagnostics_;
  Native native_;
  bool failed_ = false;
};

bool IsOwnName(const std::vector<NativeToken>& tokens, size_t i) {
  if (i == 0) return true;
  const std::string& before = tokens[i - 1].text;
  return before != "." && before != "->" && before != "::";
}

}  // namespace

char Cursor::Take() {
  const char c = text_[next_++];
  if (c == '\n') {
    ++position_.line;
    position_.column = 1;
  } else {
    ++position_.column;
  }
  return c;
}

void Cursor::Skip(size_t count) {
  for (; count > 0 && !at_end(); --count) Take();
}

bool Native::Mentions(std::string_view name) const {
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].kind == NativeToken::Kind::kName && tokens[i].text == name && IsOwnName(tokens, i)) return true;
  }
  return false;
}

std::vector<size_t> Native::Calls(std::string_view function) const {
  std::vector<size_t> calls;
  for (size_t i = 0; i + 1 < tokens.size(); ++i) {
    if (tokens[i].kind == NativeToken::Kind::kName && tokens[i].text == function && IsOwnName(tokens, i) &&
        tokens[i + 1].text == "(")
      calls.push_back(i);
  }
  return calls;
}

Native ReadNative(Cursor& cursor, Position begin, Diagnostics& diagnostics) {
  return Reader(cursor, begin, diagnostics).Read();
}

}  // namespace attune::flow::language
