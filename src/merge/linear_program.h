#pragma once
/// Linear programmes of some hundred variables and many rows of a few coefficients each.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace attune::merge {

/// The sum of factor * variable over all terms is at most `bound`.
struct LinearRow {
  static constexpr size_t kMostTerms = 5;
  struct Term {
    uint32_t variable = 0;
    double factor = 0;
  };

  std::array<Term, kMostTerms> terms{};
  size_t count = 0;
  long double bound = 0;

  LinearRow& Add(size_t variable, double factor) {
    terms[count++] = {static_cast<uint32_t>(variable), factor};
    return *this;
  }
};

/// Solved by the dual simplex method, which starts at a corner of the box and adds the row that is violated most, until
/// none is. @thread one at a time
class LinearProgram {
 public:
  /// @param box the most that a variable can be, and less than nothing likewise
  LinearProgram(size_t variables, double box) : variables_(variables), box_(box) {}

  void Add(const LinearRow& row) { rows_.push_back(row); }
  /// The point that satisfies all rows, where objective * point is largest. nullopt: there is none.
  /// @cost linear in the rows, and quadratic in the variables, for each of some hundred steps
  std::optional<std::vector<long double>> Maximise(std::span<const double> objective) const;

 private:
  const size_t variables_;
  const double box_;
  std::vector<LinearRow> rows_;
};

}  // namespace attune::merge
