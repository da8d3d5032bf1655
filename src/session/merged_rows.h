#pragma once
/// Rows of one of several recordings, as rows of the merged one.

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analysis/clock_offsets.h"
#include "model/batch.h"
#include "session/merged_elements.h"

namespace attune::session {

/// Numbers that are each recording's own, for all recordings.
struct MergedNumbers {
  model::SeriesId Series(size_t recording, int64_t id);
  model::StreamId Stream(size_t recording, model::StreamId id);
  /// Of stacks and of alarms, which are counted from 1 on in each.
  int64_t Counted(size_t recording, int64_t number) const;
  /// To be called for each recording in turn, before its rows. @param most the largest number that it counts to
  void NextRecording(int64_t most);

  std::map<std::pair<size_t, int64_t>, model::SeriesId> series;
  std::map<std::pair<size_t, model::StreamId>, model::StreamId> streams;
  std::vector<int64_t> before;  ///< numbers of all recordings before each
  int64_t counted = 0;
};

/// Of one recording. @thread one at a time
class MergedRows {
 public:
  MergedRows(size_t recording, MergedElements& elements, MergedNumbers& numbers, const analysis::HostClock& clock)
      : recording_(recording), elements_(elements), numbers_(numbers), clock_(clock) {}

  /// Of any table that has rows of time or of stacks; what is foreign in them stays foreign.
  model::Batch Convert(model::Batch batch) const;
  // The others.
  model::Series Convert(model::Series row) const;
  model::Stream Convert(model::Stream row) const;
  model::Process Convert(model::Process row) const;
  model::Label Convert(model::Label row) const;
  model::Alarm Convert(model::Alarm row) const;
  model::Site Convert(model::Site row) const;
  model::Gap Convert(model::Gap row) const;

 private:
  int64_t Time(int64_t t_ns) const { return clock_.ToCommon(t_ns); }
  model::ElementId Element(int64_t id) const { return static_cast<model::ElementId>(elements_.Of(recording_, id)); }
  void ConvertOrders(model::Batch& events) const;

  const size_t recording_;
  MergedElements& elements_;
  MergedNumbers& numbers_;
  const analysis::HostClock& clock_;
};

}  // namespace attune::session
