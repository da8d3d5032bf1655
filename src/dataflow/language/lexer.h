#pragma once
/// Tokens of a P2G program.

#include <string>
#include <string_view>
#include <vector>

#include "dataflow/language/native.h"

namespace attune::flow::language {

enum class TokenKind {
  kName,
  kInteger,
  kReal,    ///< a number with a point or an exponent
  kSign,    ///< : :: ; = [ ] ( ) , + - * <
  kNative,  ///< %{ ... %}
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;
  Position at;
  Native native;  ///< kNative
};

/// All tokens, the last one kEnd. Comments are left out. Errors: characters and comments that are none of the language.
std::vector<Token> ReadTokens(std::string_view text, Diagnostics& diagnostics);

}  // namespace attune::flow::language
