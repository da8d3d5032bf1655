#pragma once
/// The elements of several recordings as those of one.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "merge/clock_offsets.h"
#include "model/source.h"

namespace attune::merge {

/// What is one thing seen from several hosts gets one number: ranks by their job and their number in it, communicators
/// by theirs, functions by name. All else is each host's own. @thread one at a time
class MergedElements {
 public:
  /// Errors: kInvalidArgument where a rank is on this host and on one that was added before.
  /// @param name of the recording, for errors
  Status Add(const std::string& name, const model::Metadata& meta);

  /// @param recording in the order of Add()  @param id as it is in that one: what has none there gets a new one; 0 and
  /// model::kAbsent stay
  int64_t Of(size_t recording, int64_t id);
  /// Which recording has the process of a rank; kElsewhere: none.
  static constexpr size_t kElsewhere = SIZE_MAX;
  size_t RecordingOfRank(int64_t rank) const;
  /// How many have their process in a recording.
  size_t RanksOf(size_t recording) const;
  /// All of them. @param clocks of the recordings
  std::vector<model::Element> Elements(const std::vector<merge::HostClock>& clocks);
  /// The jobs, as kMpiWorldPrefix has them.
  std::vector<std::pair<std::string, std::string>> JobRows() const;

 private:
  struct Known {
    size_t recording = 0;  ///< whose clock its times are of
    model::Element element;
  };

  /// "" for what is not shared.
  std::string SharedKey(const model::Element& element, const std::map<int64_t, std::string>& jobs) const;
  std::string NameOfRank(const model::Element& element, const std::map<int64_t, std::string>& jobs);
  Status Unify(Known& known, const model::Element& element, const std::string& name);

  std::vector<std::string> names_;
  std::vector<std::unordered_map<model::ElementId, model::ElementId>> ids_;  ///< of each recording
  std::map<std::string, model::ElementId> shared_;
  std::map<model::ElementId, Known> known_;
  std::unordered_map<model::ElementId, size_t> recording_of_rank_;
  std::map<std::string, size_t> jobs_;  ///< their numbers, from 1 on
  model::ElementId last_ = 0;
};

}  // namespace attune::merge
