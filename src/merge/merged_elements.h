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

/// Maps elements of all recordings to ids of the merged one. Ranks (by job and number), communicators (by id) and
/// functions (by name) are shared between hosts; all other elements belong to one host. @thread one at a time
class MergedElements {
 public:
  /// Errors: kInvalidArgument if a rank is on this host and on an earlier one.
  /// @param name of the recording, for errors
  Status Add(const std::string& name, const model::Metadata& meta);

  /// The merged id. @param recording in the order of Add()  @param id in that recording; an unknown one gets a new id;
  /// 0 and model::kAbsent stay
  int64_t Of(size_t recording, int64_t id);
  /// The recording with the process of a rank; kElsewhere: none.
  static constexpr size_t kElsewhere = SIZE_MAX;
  size_t RecordingOfRank(int64_t rank) const;
  /// Number of ranks whose process is in a recording.
  size_t RanksOf(size_t recording) const;
  /// All of them. @param clocks of the recordings
  std::vector<model::Element> Elements(const std::vector<merge::HostClock>& clocks);
  /// The jobs, as kMpiWorldPrefix has them.
  std::vector<std::pair<std::string, std::string>> JobRows() const;

 private:
  struct Known {
    size_t recording = 0;  ///< recording whose clock its times are of
    model::Element element;
  };

  /// "" for what is not shared.
  std::string SharedKey(const model::Element& element, const std::map<int64_t, std::string>& jobs) const;
  std::string NameOfRank(const model::Element& element, const std::map<int64_t, std::string>& jobs);
  Status Unify(Known& known, const model::Element& element, const std::string& name);

  std::vector<std::string> names_;
  std::vector<std::unordered_map<model::ElementId, model::ElementId>> ids_;  ///< merged ids, by recording and id there
  std::map<std::string, model::ElementId> shared_;
  std::map<model::ElementId, Known> known_;
  std::unordered_map<model::ElementId, size_t> recording_of_rank_;
  std::map<std::string, size_t> jobs_;  ///< their numbers, from 1 on
  model::ElementId last_ = 0;
};

}  // namespace attune::merge
