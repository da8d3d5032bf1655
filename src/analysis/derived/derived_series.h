#pragma once
/// Derived series as data: a formula over signals, such as how much of all memory is free.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "model/schema.h"

namespace attune::analysis {

struct SignalName {
  std::string_view sensor;
  std::string_view signal;

  auto operator<=>(const SignalName&) const = default;
};

/// The value that is taken of a series (model::SeriesReading).
enum class SeriesValue : uint8_t { kLevel, kRate, kShare };

/// The values of several signals as one. Those that are not known are left out.
struct DerivedTerm {
  std::span<const SignalName> signals;
  SeriesValue value;
  model::SumRule sum;
};

/// Formulas are in reverse Polish notation: a step puts a value on the stack, or replaces the two topmost ones.
enum class DerivedOp : uint8_t {
  kNumber,
  kTerm,      ///< without it the series has no value
  kElements,  ///< number of the elements whose values are in the term; 0 where none is
  // The following take two values.
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,  ///< no value where the divisor is not above 0: nothing is a part of nothing
  kMin,
  kMax,
};
struct DerivedStep {
  DerivedOp op;
  double number = 0;
  size_t term = 0;
};

struct DerivedSeries {
  std::string_view unit;               ///< "": a bare number
  std::span<const DerivedTerm> terms;  ///< the first is what the series is about, others are what it is compared with
  std::span<const DerivedStep> steps;
  bool each;         ///< a value for every element that has the signals; else one, of all elements together
  bool of_one_time;  ///< computed only of rates over the same time
};

}  // namespace attune::analysis
