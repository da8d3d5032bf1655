#pragma once
/// Messages and collective operations between hosts, which constrain the offsets of their clocks.

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "analysis/messages/message_match.h"
#include "merge/clock_offsets.h"
#include "merge/merged_elements.h"
#include "model/source.h"

namespace attune::merge {

/// Matches messages between hosts whatever their clocks say; rows have the elements of the merged recording.
/// @thread one at a time
class CrossHostMessages {
 public:
  using Visitor =
      std::function<void(size_t from, size_t to, const model::Message& sent, const model::Message& received)>;

  CrossHostMessages(const MergedElements& elements, Visitor visit);

  void Add(const model::Message& row);
  void Finish() { matcher_.Finish(); }

 private:
  const MergedElements& elements_;
  Visitor visit_;
  analysis::MessageMatcher matcher_;
};

/// Derives constraints from collective operations on several hosts: a rank that receives from all others continues
/// after their arrival. @thread one at a time
class CrossHostCollectives {
 public:
  /// An event at or after `sent_ns` on one host precedes `received_ns` on the other.
  using Visitor = std::function<void(size_t from, size_t to, int64_t sent_ns, int64_t received_ns)>;

  CrossHostCollectives(const MergedElements& elements, const model::Metadata& functions, Visitor visit);

  void Add(const model::Collective& row);
  void Finish() { matcher_.Finish(); }

 private:
  /// The parts of one host in one operation.
  struct OnHost {
    int64_t last_post_ns = INT64_MIN;
    int64_t first_end_ns = INT64_MAX;
  };

  void Gathered(std::span<const model::Collective> parts);
  void Visit(size_t from, size_t to, int64_t sent_ns, int64_t received_ns);
  bool IsBetweenGroups(std::span<const model::Collective> parts);

  const MergedElements& elements_;
  Visitor visit_;
  std::unordered_map<model::ElementId, std::string> functions_;
  std::map<std::pair<model::ElementId, int64_t>, model::ElementId>
      rank_at_;                                ///< rank, by communicator and number there
  std::set<model::ElementId> between_groups_;  ///< communicators with two of one number
  analysis::CollectiveMatcher matcher_;
};

}  // namespace attune::merge
