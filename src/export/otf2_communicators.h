#pragma once
/// Ranks and communicators as OTF2 numbers them.

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "export/otf2_events.h"
#include "model/source.h"

namespace attune::exports {

/// A communicator's ranks have the numbers that MPI gave them, as far as collective operations told them; in
/// MPI_COMM_WORLD always. Where some are not known, those that are come first, then the others by their number in the
/// world, so that the numbers are dense, as OTF2 wants them.
class Otf2Communicators {
 public:
  static constexpr uint32_t kUnknown = UINT32_MAX;

  struct Communicator {
    model::ElementId element = 0;         ///< 0: one that is not known
    std::vector<model::ElementId> ranks;  ///< by their numbers in it
  };
  /// A rank, and the location that stands for it: its thread that called MPI, or itself where it is on another host.
  struct Rank {
    model::ElementId rank = 0;
    model::ElementId location = 0;
    bool is_here = false;
  };

  Otf2Communicators(const model::Metadata& meta, const Otf2Events& events);

  /// By their numbers among all ranks.
  const std::vector<Rank>& ranks() const { return ranks_; }
  const std::vector<Communicator>& communicators() const { return communicators_; }
  /// Number in ranks().
  uint32_t NumberOf(model::ElementId rank) const;
  /// Number in communicators().
  uint32_t RefOf(model::ElementId communicator) const;
  uint32_t RankIn(model::ElementId communicator, model::ElementId rank) const;
  /// @param root as MPI counts  @return as the archive does; kUnknown: none, or it is not known
  uint32_t RootIn(model::ElementId communicator, int64_t root) const;

 private:
  void AddRanks(const model::Metadata& meta, const Otf2Events& events);
  void AddCommunicator(const model::Metadata& meta, model::ElementId element,
                       const std::map<model::ElementId, int64_t>& members);

  std::vector<Rank> ranks_;
  std::unordered_map<model::ElementId, uint32_t> number_of_;
  std::vector<Communicator> communicators_;
  std::unordered_map<model::ElementId, uint32_t> ref_of_;
  std::map<Otf2Member, uint32_t> rank_in_;
  std::map<std::pair<model::ElementId, int64_t>, uint32_t> root_in_;
};

}  // namespace attune::exports
