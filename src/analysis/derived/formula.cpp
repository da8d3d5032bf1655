#include "analysis/derived/formula.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <vector>

#include "base/expression.h"
#include "base/units.h"

namespace attune::analysis {

struct Formula::Parts {
  std::string text;
  std::deque<std::vector<SignalName>> signals;  ///< of each term; names are parts of `text`
  std::vector<DerivedTerm> terms;
  std::vector<DerivedStep> steps;
  DerivedSeries series{};
};

namespace {

struct ValueName {
  std::string_view name;
  SeriesValue value;
};
constexpr std::array<ValueName, 3> kValues{
    {{"level", SeriesValue::kLevel}, {"rate", SeriesValue::kRate}, {"share", SeriesValue::kShare}}};
constexpr std::string_view kOfLargest = "largest", kOfElements = "elements";

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\n";
  const size_t begin = text.find_first_not_of(kSpaces);
  return begin == std::string_view::npos ? "" : text.substr(begin, text.find_last_not_of(kSpaces) - begin + 1);
}

DerivedOp OpOf(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::kAdd: return DerivedOp::kAdd;
    case Arithmetic::kSubtract: return DerivedOp::kSubtract;
    case Arithmetic::kMultiply: return DerivedOp::kMultiply;
    case Arithmetic::kDivide: return DerivedOp::kDivide;
    case Arithmetic::kMin: return DerivedOp::kMin;
    case Arithmetic::kMax: return DerivedOp::kMax;
  }
  return DerivedOp::kAdd;
}

}  // namespace

/// Each function leaves its value on top of the stack of the steps that it appends.
class FormulaParser final : ExpressionParser {
 public:
  explicit FormulaParser(std::shared_ptr<Formula::Parts> parts)
      : ExpressionParser(parts->text, "a function"), parts_(std::move(parts)) {}

  Result<Formula> Parse() {
    ATTUNE_CHECK_OK(ParseAll());
    if (parts_->terms.empty())
      return Error{Errc::kInvalidArgument, fmt::format("'{}' has no signal", text()),
                   "as in rate(vmstat.pgfault); attune list signals has their names"};
    parts_->series = {.unit = "", .terms = parts_->terms, .steps = parts_->steps, .each = false, .of_one_time = false};
    return Formula(std::move(parts_));
  }

 private:
  void Add(DerivedOp op, double number = 0, size_t term = 0) { parts_->steps.push_back({op, number, term}); }
  void Number(double number) override { Add(DerivedOp::kNumber, number); }
  void Operate(Arithmetic arithmetic) override { Add(OpOf(arithmetic)); }

  Status Operand(std::string_view name, std::string_view at) override {
    if (name != kOfLargest && name != kOfElements) return Term(name, at, model::SumRule::kSum, DerivedOp::kTerm);
    ATTUNE_CHECK_OK(Expect('('));
    const std::string_view inner_at = Peek();
    const std::string_view inner = TakeName();
    ATTUNE_CHECK_OK(Term(inner, inner_at, name == kOfLargest ? model::SumRule::kMax : model::SumRule::kSum,
                         name == kOfElements ? DerivedOp::kElements : DerivedOp::kTerm));
    return Expect(')');
  }

  /// level(), rate() or share(): its name is taken already.
  Status Term(std::string_view name, std::string_view at, model::SumRule sum, DerivedOp op) {
    const auto* const value = std::ranges::find(kValues, name, &ValueName::name);
    if (value == kValues.end()) {
      GoBackTo(at);
      Error error = Unexpected("level(), rate(), share(), largest(), elements(), min() or max()");
      error.hint = DidYouMean(name, {"level", "rate", "share", "largest", "elements", "min", "max"});
      return error;
    }
    ATTUNE_CHECK_OK(Expect('('));
    std::vector<SignalName> names;
    do {
      ATTUNE_TRY(const SignalName signal, Signal());
      names.push_back(signal);
    } while (Take(','));
    ATTUNE_CHECK_OK(Expect(')'));
    Add(op, 0, TermOf(std::move(names), value->value, sum));
    return {};
  }

  /// A name reaches up to the next comma, parenthesis or space.
  Result<SignalName> Signal() {
    const std::string_view rest = Peek();
    const std::string_view name = rest.substr(0, std::min(rest.size(), rest.find_first_of(",() \t\n")));
    const size_t dot = name.find('.');
    if (dot == std::string_view::npos || dot == 0 || dot + 1 == name.size())
      return Unexpected("SENSOR.SIGNAL, as in vmstat.pgfault");
    Skip(name.size());
    return SignalName{name.substr(0, dot), name.substr(dot + 1)};
  }

  /// The same term is in the series once.
  size_t TermOf(std::vector<SignalName> names, SeriesValue value, model::SumRule sum) {
    const auto found = std::ranges::find_if(parts_->terms, [&](const DerivedTerm& term) {
      return term.value == value && term.sum == sum && std::ranges::equal(term.signals, names);
    });
    if (found != parts_->terms.end()) return static_cast<size_t>(found - parts_->terms.begin());
    parts_->terms.push_back({parts_->signals.emplace_back(std::move(names)), value, sum});
    return parts_->terms.size() - 1;
  }

  std::shared_ptr<Formula::Parts> parts_;
};

Result<Formula> Formula::Parse(std::string_view text) {
  auto parts = std::make_shared<Parts>();
  parts->text = Trimmed(text);
  return FormulaParser(std::move(parts)).Parse();
}

const std::string& Formula::text() const { return parts_->text; }
const DerivedSeries& Formula::series() const { return parts_->series; }

bool LooksLikeFormula(std::string_view text) { return text.find_first_of("(*/+") != std::string_view::npos; }

}  // namespace attune::analysis
