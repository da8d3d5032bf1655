#include "dataflow/language/lexer.h"

#include <fmt/format.h>

namespace attune::flow::language {
namespace {

constexpr std::string_view kSigns = ":;=[](),+-*<";
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }

class Lexer {
 public:
  Lexer(std::string_view text, Diagnostics& diagnostics) : cursor_(text), diagnostics_(diagnostics) {}

  std::vector<Token> Read() {
    while (!cursor_.at_end() && !diagnostics_.is_full()) Step();
    tokens_.push_back({TokenKind::kEnd, "", cursor_.position(), {}});
    return std::move(tokens_);
  }

 private:
  void Step() {
    const Position at = cursor_.position();
    const char c = cursor_.Peek();
    if (IsBlank(c)) {
      cursor_.Take();
    } else if (cursor_.StartsWith("//")) {
      while (!cursor_.at_end() && cursor_.Peek() != '\n') cursor_.Take();
    } else if (cursor_.StartsWith("/*")) {
      Comment(at);
    } else if (cursor_.StartsWith("%{")) {
      cursor_.Skip(2);
      tokens_.push_back({TokenKind::kNative, "%{", at, ReadNative(cursor_, at, diagnostics_)});
    } else if (IsNameBegin(c)) {
      std::string name;
      while (IsNameBegin(cursor_.Peek()) || IsDigit(cursor_.Peek())) name += cursor_.Take();
      tokens_.push_back({TokenKind::kName, std::move(name), at, {}});
    } else if (IsDigit(c)) {
      Number(at);
    } else {
      Sign(at);
    }
  }

  void Comment(Position at) {
    cursor_.Skip(2);
    while (!cursor_.at_end()) {
      if (cursor_.StartsWith("*/")) return cursor_.Skip(2);
      cursor_.Take();
    }
    diagnostics_.Error(at, "a comment does not end", "it begins here and needs a '*/'");
  }

  void Number(Position at) {
    std::string number;
    bool is_real = false;
    while (IsDigit(cursor_.Peek())) number += cursor_.Take();
    if (cursor_.Peek() == '.' && IsDigit(cursor_.Peek(1))) {
      is_real = true;
      number += cursor_.Take();
      while (IsDigit(cursor_.Peek())) number += cursor_.Take();
    }
    const bool has_sign = cursor_.Peek(1) == '+' || cursor_.Peek(1) == '-';
    if ((cursor_.Peek() == 'e' || cursor_.Peek() == 'E') && IsDigit(cursor_.Peek(has_sign ? 2 : 1))) {
      is_real = true;
      number += cursor_.Take();
      if (has_sign) number += cursor_.Take();
      while (IsDigit(cursor_.Peek())) number += cursor_.Take();
    }
    tokens_.push_back({is_real ? TokenKind::kReal : TokenKind::kInteger, std::move(number), at, {}});
  }

  void Sign(Position at) {
    if (cursor_.StartsWith("::")) {
      cursor_.Skip(2);
      tokens_.push_back({TokenKind::kSign, "::", at, {}});
      return;
    }
    if (cursor_.StartsWith("%}")) {
      cursor_.Skip(2);
      diagnostics_.Error(at, "'%}' without a '%{'", "native code stands between '%{' and '%}'");
      return;
    }
    if (cursor_.StartsWith(kByteOrderMark) && cursor_.offset() == 0) return cursor_.Skip(kByteOrderMark.size());
    const char c = cursor_.Take();
    if (kSigns.find(c) != std::string_view::npos) {
      tokens_.push_back({TokenKind::kSign, std::string(1, c), at, {}});
      return;
    }
    const auto byte = static_cast<unsigned char>(c);
    const bool is_printable = byte > ' ' && byte < 0x7f;
    const std::string shown = is_printable ? fmt::format("'{}'", c) : fmt::format("byte 0x{:02x}", byte);
    // One error for a run of them, as for one character of UTF-8.
    while (!is_printable && static_cast<unsigned char>(cursor_.Peek()) >= 0x80) cursor_.Take();
    diagnostics_.Error(at, shown + " does not belong here", "C++ stands between '%{' and '%}'");
  }

  Cursor cursor_;
  Diagnostics& diagnostics_;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> ReadTokens(std::string_view text, Diagnostics& diagnostics) {
  return Lexer(text, diagnostics).Read();
}

}  // namespace attune::flow::language
