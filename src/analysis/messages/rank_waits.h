#pragma once
/// Ends of the waits of MPI ranks: the rank that ended each wait, and when. The critical path over ranks is computed
/// from it like that over threads (docs/critical-path.md).

#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include "analysis/messages/message_match.h"
#include "analysis/waits/wait_graph.h"
#include "model/source.h"

namespace attune::analysis {

/// Takes messages and collective operations, in any order. Bounded: of more than kMaxGraphWaits waits there is no
/// graph.
/// @thread one at a time
class RankWaits {
 public:
  /// The two sides of a message.
  void Add(const model::Message& sent, const model::Message& received, Carrier carrier = Carrier::kMpi);
  /// @param waits of the parts, as WaitsAtCollective() gives them
  void Add(std::span<const model::Collective> parts, std::span<const RankWait> waits);

  /// Graph of the ranks that took part, as if they were threads of a process; the object of a wait is the rank that was
  /// waited for. Without threads: there are fewer than two ranks, or too many waits. @param now_ns of what still runs
  WaitGraph Finish(const model::Metadata& meta, int64_t now_ns);

 private:
  /// A rank's wait in one call. If it waited for several ranks, the last to come counts.
  struct Wait {
    int64_t end_ns = 0;
    int64_t released_ns = 0;
    model::ElementId late = 0;
    model::ElementId site = 0;
  };
  struct Life {
    model::ElementId thread = 0;
    int64_t first_ns = INT64_MAX;
    int64_t last_ns = INT64_MIN;
  };

  void AddWait(model::ElementId rank, int64_t start_ns, const Wait& wait);
  void Reach(model::ElementId rank, model::ElementId thread, int64_t from_ns, int64_t until_ns);

  std::map<model::ElementId, Life> lives_;                      ///< by rank
  std::map<std::pair<model::ElementId, int64_t>, Wait> waits_;  ///< by rank and begin
  bool is_too_large_ = false;
};

}  // namespace attune::analysis
