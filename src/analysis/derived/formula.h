#pragma once
/// Formulas of derived series as text: those that somebody types. The syntax is that of the catalog
/// (catalog/derived.py).

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/derived/derived_series.h"
#include "base/result.h"

namespace attune::analysis {

/// A formula with all that its series refers to. @thread any, once made
class Formula {
 public:
  /// Numbers, + - * / ( ), min(a, b), max(a, b), and values of signals, SENSOR.SIGNAL, several separated by commas:
  /// level(), rate() a second, share() in percent of the largest rate: their sum; largest(rate(...));
  /// elements(rate(...)), which counts elements.
  /// @return a series of all elements together. Error: kInvalidArgument, with the column and what is expected there
  static Result<Formula> Parse(std::string_view text);

  const std::string& text() const;
  const DerivedSeries& series() const;

 private:
  friend class FormulaParser;
  struct Parts;
  explicit Formula(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}

  std::shared_ptr<const Parts> parts_;  ///< stays where it is: the series points into it
};

/// Whether a text is meant as a formula: it has an operator or a parenthesis.
bool LooksLikeFormula(std::string_view text);

}  // namespace attune::analysis
