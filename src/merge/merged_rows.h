#pragma once
/// Rows of one of several recordings, as rows of the merged one.

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "merge/clock_offsets.h"
#include "merge/merged_elements.h"
#include "model/schema.h"

namespace attune::merge {

/// Merged numbers for series, streams and counted ids, which each recording numbers itself.
struct MergedNumbers {
  model::SeriesId Series(size_t recording, int64_t id);
  model::StreamId Stream(size_t recording, model::StreamId id);
  /// The merged number of a stack or alarm, which each recording counts from 1.
  int64_t Counted(size_t recording, int64_t number) const;
  /// Call it for each recording in order, before its rows. @param most the largest number that it counts to
  void NextRecording(int64_t most);

  std::map<std::pair<size_t, int64_t>, model::SeriesId> series;
  std::map<std::pair<size_t, model::StreamId>, model::StreamId> streams;
  std::vector<int64_t> before;  ///< numbers of all recordings before each
  int64_t counted = 0;
};

/// Converts rows of one recording. @thread one at a time
class MergedRows {
 public:
  MergedRows(size_t recording, MergedElements& elements, MergedNumbers& numbers, const merge::HostClock& clock)
      : recording_(recording), elements_(elements), numbers_(numbers), clock_(clock) {}

  /// Converts a batch of any table by its schema; invalid values stay invalid.
  model::Batch Convert(model::Batch batch) const;

 private:
  int64_t Convert(model::Role role, int64_t value) const;
  void ConvertOrders(model::Batch& events) const;

  const size_t recording_;
  MergedElements& elements_;
  MergedNumbers& numbers_;
  const merge::HostClock& clock_;
};

}  // namespace attune::merge
