#pragma once
/// Futexes that are a std::barrier or a std::latch: by the functions that the compiler inlined where they are waited
/// at.

#include "analysis/places/code_place.h"
#include "analysis/waits/sync_sums.h"

namespace attune::analysis {

/// Whether threads wait there until all have come. Without debug information a futex is none.
inline bool IsMeeting(const ObjectSums& object, const SiteNames& names) {
  if (object.kind != wire::SyncKind::kFutex) return false;
  for (const auto& [place, threads] : object.places) {
    if (place.second != wire::SyncKind::kFutex) continue;
    for (const model::Site& frame : names.FramesOf(place.first)) {
      if (frame.function.starts_with("std::barrier") || frame.function.starts_with("std::latch") ||
          frame.function.starts_with("std::__tree_barrier"))
        return true;
    }
  }
  return false;
}

}  // namespace attune::analysis
