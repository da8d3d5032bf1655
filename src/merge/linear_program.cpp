#include "merge/linear_program.h"

#include <cmath>
#include <limits>
#include <numeric>

namespace attune::merge {
namespace {

/// By how much a row may be violated, in its own unit: nanoseconds, here.
constexpr long double kTolerance = 1e-3L;
/// A pivot that is smaller is taken for zero.
constexpr long double kLeastPivot = 1e-9L;

/// The corner that is held by as many active rows as there are variables.
class Corner {
 public:
  /// That of the box where the objective is largest.
  Corner(std::span<const double> objective, double box)
      : size_(objective.size()), inverse_(size_ * size_), point_(size_), prices_(size_) {
    // A little beside the objective, or steps that gain nothing could go round in circles. To the other side where it
    // is turned round, so that what it leaves open is on either side.
    const double sum = std::accumulate(objective.begin(), objective.end(), 0.0);
    uint64_t state = 0x9e3779b97f4a7c15;
    for (size_t i = 0; i < size_; ++i) {
      state = state * 6364136223846793005 + 1442695040888963407;
      const long double beside = 1e-12L * (1 + static_cast<long double>(state >> 40) / (1 << 24));
      const long double price = objective[i] + (sum < 0 ? -beside : beside);
      const long double sign = price < 0 ? -1 : 1;
      inverse_[i * size_ + i] = sign;
      point_[i] = sign * box;
      prices_[i] = sign * price;
    }
  }

  long double Excess(const LinearRow& row) const {
    long double sum = -row.bound;
    for (size_t i = 0; i < row.count; ++i) sum += row.terms[i].factor * point_[row.terms[i].variable];
    return sum;
  }

  /// Goes to where this row holds, and another one is given up for it. @return false: nowhere does it
  bool MoveTo(const LinearRow& row) {
    std::vector<long double> share(size_);  // the row as a sum of the active ones
    for (size_t t = 0; t < row.count; ++t) {
      const long double* of = &inverse_[row.terms[t].variable * size_];
      for (size_t i = 0; i < size_; ++i) share[i] += row.terms[t].factor * of[i];
    }
    size_t leaves = size_;
    long double step = std::numeric_limits<long double>::infinity();
    for (size_t i = 0; i < size_; ++i) {
      if (share[i] > kLeastPivot && prices_[i] / share[i] < step) {
        step = prices_[i] / share[i];
        leaves = i;
      }
    }
    if (leaves == size_) return false;
    Exchange(leaves, share, step, Excess(row));
    return true;
  }

  std::vector<long double> TakePoint() { return std::move(point_); }

 private:
  void Exchange(size_t leaves, const std::vector<long double>& share, long double step, long double excess) {
    const long double pivot = share[leaves];
    for (size_t k = 0; k < size_; ++k) {
      long double* of = &inverse_[k * size_];
      const long double moved = of[leaves] / pivot;
      if (moved == 0) continue;
      for (size_t i = 0; i < size_; ++i) of[i] -= share[i] * moved;
      of[leaves] = moved;
      point_[k] -= excess * moved;
    }
    for (size_t i = 0; i < size_; ++i) prices_[i] -= step * share[i];
    prices_[leaves] = step;
  }

  const size_t size_;
  std::vector<long double> inverse_;  ///< inverse matrix of the active rows; a line a variable
  std::vector<long double> point_;
  std::vector<long double> prices_;  ///< by active row: gain of the objective if the row is released
};

}  // namespace

std::optional<std::vector<long double>> LinearProgram::Maximise(std::span<const double> objective) const {
  Corner corner(objective, box_);
  const size_t most_steps = 1000 + 50 * variables_;
  for (size_t step = 0; step < most_steps; ++step) {
    const LinearRow* worst = nullptr;
    long double most = kTolerance;
    for (const LinearRow& row : rows_) {
      if (const long double excess = corner.Excess(row); excess > most) {
        most = excess;
        worst = &row;
      }
    }
    if (worst == nullptr) return corner.TakePoint();
    if (!corner.MoveTo(*worst)) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace attune::merge
