#pragma once
/// A series as a client gets it: docs/live.md describes the columns.

#include <cstdint>
#include <string>

#include "model/source.h"

namespace attune::live {

/// Bounds one answer: about 8 bytes a number, 4 numbers a point.
inline constexpr uint64_t kMaxPointsAMessage = 400'000;

/// @param from_ns the client's points at or after it are replaced; kAbsent: all of them
std::string ViewFrame(const model::SeriesView& view, int64_t from_ns, uint64_t version);

}  // namespace attune::live
