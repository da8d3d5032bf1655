#pragma once
/// Level of detail: buckets of a fixed number of rows, at several levels, for each stream of samples. They are made
/// while recording, so that a view of any length reads about as many rows as it has pixels.
///
/// A bucket is a row of model::LodRow::kTable in a frame of its own level: t0_ns (of its first row), t1_ns (of the
/// first row after it, so that buckets tile the time), count (rows), then five columns for each series of the stream:
///
/// | column | counter                                              | up-down, gauge, state   |
/// |--------|------------------------------------------------------|-------------------------|
/// | last   | last value                                           | last value              |
/// | low    | smallest rate between two samples, in 1/1000 a second | smallest value          |
/// | high   | largest rate                                         | largest value           |
/// | sum    | growth                                               | sum of the values       |
/// | weight | nanoseconds of that growth                           | number of values        |
///
/// A counter that goes backwards (wrap or reset) has no rate there, so that the bucket shows no spike. The mean is
/// sum / weight. last, low and high are kAbsent if the bucket has no value. Times without buckets (not written yet, or
/// lost) are computed from the samples.

#include <array>
#include <cstdint>

#include "model/schema.h"

namespace attune::store {

/// Rows of a bucket, level by level; each is a multiple of the one before.
inline constexpr std::array<uint32_t, 4> kLodRows{128, 2048, 32768, 524288};
inline constexpr size_t kLodLevels = kLodRows.size();
inline constexpr size_t kLodFixedColumns = 3;
inline constexpr size_t kLodSeriesColumns = 5;
/// Unit of stored rates: integers of this many units a second.
inline constexpr double kLodRateUnit = 1e-3;

/// Rows of a bucket that a reader makes of samples and keeps in memory: where a view's bins are too short for those of
/// a recording.
inline constexpr std::array<uint32_t, 1> kFineLodRows{16};

/// The stream number of the frames of one level of a stream.
constexpr model::StreamId LodStream(model::StreamId stream, size_t level) {
  return stream << 2 | static_cast<model::StreamId>(level);
}
/// Whether a stream has levels of detail; beyond these limits their frames would be too large.
constexpr bool MayHaveLod(model::StreamId stream, size_t series) { return stream < 1u << 30 && series <= 12000; }

}  // namespace attune::store
