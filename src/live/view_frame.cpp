#include "live/view_frame.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "model/codec.h"

namespace attune::live {
namespace {

/// Values travel as integers times a power of ten: whole numbers as they are, others with nine digits of the largest.
int Exponent(const model::SeriesView& view) {
  constexpr double kLargestExact = 9007199254740992.0;
  double largest = 0;
  bool whole = true;
  for (const auto* values : {&view.mean, &view.low, &view.high}) {
    for (const double value : *values) {
      if (!std::isfinite(value)) continue;
      largest = std::max(largest, std::abs(value));
      whole = whole && value == std::floor(value);
    }
  }
  if (largest == 0 || (whole && largest < kLargestExact)) return 0;
  return std::clamp(static_cast<int>(std::floor(std::log10(largest))) - 8, -300, 300);
}

std::vector<int64_t> Scaled(const std::vector<double>& values, int exponent) {
  std::vector<int64_t> scaled;
  scaled.reserve(values.size());
  // Dividing by an exact power of ten loses less than multiplying by an inexact one.
  const double divisor = std::pow(10.0, std::abs(exponent));
  for (const double value : values) {
    const double number = exponent >= 0 ? value / divisor : value * divisor;
    scaled.push_back(std::isfinite(number) ? std::llround(number) : model::kAbsent);
  }
  return scaled;
}

model::Batch ViewBatch(const model::SeriesView& view, int64_t from_ns, uint64_t version) {
  model::Batch batch;
  batch.table = model::ViewRow::kTable;
  batch.stream = view.series;
  batch.sequence = version;
  batch.rows = view.t_ns.size();
  const int exponent = Exponent(view);
  batch.ints.push_back(view.t_ns);
  batch.ints.emplace_back(batch.rows, from_ns);
  batch.ints.emplace_back(batch.rows, exponent);
  batch.ints.push_back(view.count);
  batch.ints.push_back(Scaled(view.mean, exponent));
  if (!view.exact) {
    batch.ints.push_back(Scaled(view.low, exponent));
    batch.ints.push_back(Scaled(view.high, exponent));
  }
  return batch;
}

}  // namespace

std::string ViewFrame(const model::SeriesView& view, int64_t from_ns, uint64_t version) {
  return model::EncodeFrame(ViewBatch(view, from_ns, version), model::Compression::kNone);
}

}  // namespace attune::live
