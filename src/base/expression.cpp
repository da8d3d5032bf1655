#include "base/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace attune {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

}  // namespace

ExpressionParser::ExpressionParser(std::string_view text, std::string_view operands) : operands_(operands) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  text_ = rest_ = text;
}

Status ExpressionParser::ParseAll() {
  if (text_.size() > kMaxBytes)
    return Error{Errc::kInvalidArgument, fmt::format("a formula has at most {} bytes", kMaxBytes), ""};
  ATTUNE_CHECK_OK(Sum(0));
  return Peek().empty() ? Status() : Unexpected("an operator");
}

std::string_view ExpressionParser::Peek() {
  while (!rest_.empty() && IsSpace(rest_.front())) rest_.remove_prefix(1);
  return rest_;
}

bool ExpressionParser::Take(char wanted) {
  if (Peek().empty() || rest_.front() != wanted) return false;
  rest_.remove_prefix(1);
  return true;
}

Status ExpressionParser::Expect(char wanted) {
  if (Take(wanted)) return {};
  return Unexpected(fmt::format("'{}'", wanted));
}

std::string_view ExpressionParser::TakeName() {
  const std::string_view rest = Peek();
  size_t bytes = 0;
  while (bytes < rest.size() && (IsLetter(rest[bytes]) || (bytes > 0 && IsDigit(rest[bytes])))) ++bytes;
  rest_.remove_prefix(bytes);
  return rest.substr(0, bytes);
}

Error ExpressionParser::Unexpected(std::string_view wanted) {
  const size_t column = text_.size() - Peek().size() + 1;
  const std::string found = rest_.empty() ? "its end" : fmt::format("'{}'", rest_.substr(0, 1));
  return {Errc::kInvalidArgument, fmt::format("'{}': column {}: {} where {} is expected", text_, column, found, wanted),
          ""};
}

Status ExpressionParser::Sum(size_t depth) {
  if (depth > kMaxDepth)
    return Error{Errc::kInvalidArgument, fmt::format("more than {} parentheses in one another", kMaxDepth), ""};
  ATTUNE_CHECK_OK(Product(depth));
  for (;;) {
    const bool is_plus = Take('+');
    if (!is_plus && !Take('-')) return {};
    ATTUNE_CHECK_OK(Product(depth));
    Operate(is_plus ? Arithmetic::kAdd : Arithmetic::kSubtract);
  }
}

Status ExpressionParser::Product(size_t depth) {
  ATTUNE_CHECK_OK(Factor(depth));
  for (;;) {
    const bool is_times = Take('*');
    if (!is_times && !Take('/')) return {};
    ATTUNE_CHECK_OK(Factor(depth));
    Operate(is_times ? Arithmetic::kMultiply : Arithmetic::kDivide);
  }
}

Status ExpressionParser::Factor(size_t depth) {
  if (Take('(')) {
    ATTUNE_CHECK_OK(Sum(depth + 1));
    return Expect(')');
  }
  if (!Peek().empty() && (IsDigit(rest_.front()) || rest_.front() == '.')) return TakeNumber();
  const std::string_view at = Peek();
  const std::string_view name = TakeName();
  if (name.empty()) return Unexpected(fmt::format("a number, '(' or {}", operands_));
  if (name == "min") return Extreme(Arithmetic::kMin, depth);
  if (name == "max") return Extreme(Arithmetic::kMax, depth);
  return Operand(name, at);
}

Status ExpressionParser::TakeNumber() {
  double number = 0;
  const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
  if (error != std::errc()) return Unexpected("a number");
  rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
  Number(number);
  return {};
}

Status ExpressionParser::Extreme(Arithmetic arithmetic, size_t depth) {
  ATTUNE_CHECK_OK(Expect('('));
  ATTUNE_CHECK_OK(Sum(depth + 1));
  ATTUNE_CHECK_OK(Expect(','));
  ATTUNE_CHECK_OK(Sum(depth + 1));
  ATTUNE_CHECK_OK(Expect(')'));
  Operate(arithmetic);
  return {};
}

}  // namespace attune
