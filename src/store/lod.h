#pragma once
/// Level of detail: for each stream of samples, buckets of a fixed number of rows at several levels, made while
/// recording, so that a view of any length reads about as much as it shows.
///
/// A bucket is a row of model::LodRow::kTable in a frame of its own level: t0_ns (of its first row), t1_ns (of the
/// first row after it, so that buckets tile the time), count (rows), then five columns for each series of the stream:
///
/// | column | counter                                              | up-down, gauge, state   |
/// |--------|------------------------------------------------------|-------------------------|
/// | last   | last value                                           | last value              |
/// | low    | smallest rate between two samples, in 1/1000 a second | smallest value          |
/// | high   | largest rate                                         | largest value           |
/// | sum    | by how much it grew                                  | sum of the values       |
/// | weight | nanoseconds in which it grew by that                 | number of values        |
///
/// A counter that goes backwards (it wrapped or was reset) has no rate there, so that the bucket shows no spike. The
/// mean is sum / weight. last, low and high are kAbsent where the bucket has no value. What has no bucket yet, or was
/// lost, is computed from the samples themselves.

#include <array>
#include <cstdint>

#include "model/schema.h"

namespace attune::store {

/// Rows of a bucket, level by level; each is a multiple of the one before.
inline constexpr std::array<uint32_t, 4> kLodRows{128, 2048, 32768, 524288};
inline constexpr size_t kLodLevels = kLodRows.size();
inline constexpr size_t kLodFixedColumns = 3;
inline constexpr size_t kLodSeriesColumns = 5;
/// Rates are stored as integers of this fraction of a unit a second.
inline constexpr double kLodRateUnit = 1e-3;

/// The stream number of the frames that hold one level of a stream.
constexpr model::StreamId LodStream(model::StreamId stream, size_t level) {
  return stream << 2 | static_cast<model::StreamId>(level);
}
/// Streams beyond these limits have no level of detail: their frames could not hold it.
constexpr bool MayHaveLod(model::StreamId stream, size_t series) { return stream < 1u << 30 && series <= 12000; }

}  // namespace attune::store
