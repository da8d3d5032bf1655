#pragma once
/// Arithmetic as text that somebody types: numbers, + - * / ( ), min(a, b), max(a, b), and operands with names, which
/// are read by who derives from the parser.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace attune {

/// Takes the two topmost values of a stack and leaves one.
enum class Arithmetic : uint8_t { kAdd, kSubtract, kMultiply, kDivide, kMin, kMax };

/// Recursive descent; hands out steps in reverse Polish notation.
class ExpressionParser {
 public:
  static constexpr size_t kMaxBytes = 4096, kMaxDepth = 64;

 protected:
  /// @param text foreign bytes; stays  @param operands what else than a number and '(' an operand may begin with
  ExpressionParser(std::string_view text, std::string_view operands);
  ~ExpressionParser() = default;

  /// Error: kInvalidArgument, with the column and what is expected there
  Status ParseAll();

  virtual void Number(double number) = 0;
  virtual void Operate(Arithmetic arithmetic) = 0;
  /// Reads an operand that begins with a name, which is taken already. @param at the text from the name on
  virtual Status Operand(std::string_view name, std::string_view at) = 0;

  std::string_view text() const { return text_; }
  /// The rest of the text behind spaces.
  std::string_view Peek();
  bool Take(char wanted);
  Status Expect(char wanted);
  /// Letters, underscores and, behind the first, digits; empty: there is none.
  std::string_view TakeName();
  /// As many bytes of the rest. @pre it is that long
  void Skip(size_t bytes) { rest_.remove_prefix(bytes); }
  void GoBackTo(std::string_view at) { rest_ = at; }
  Error Unexpected(std::string_view wanted);

 private:
  Status Sum(size_t depth);
  Status Product(size_t depth);
  Status Factor(size_t depth);
  Status TakeNumber();
  Status Extreme(Arithmetic arithmetic, size_t depth);

  std::string_view text_, rest_;
  std::string_view operands_;
};

}  // namespace attune
