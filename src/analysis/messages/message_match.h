#pragma once
/// Matches sends with receives, and gathers the parts of collective operations: from the tables `messages` and
/// `collectives` (docs/messages.md).

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/schema.h"
#include "model/source.h"

namespace attune::analysis {

/// Rings are read one after the other, and what was begun first may be complete last: for so long, rows may come that
/// belong before those at hand.
inline constexpr int64_t kMessageSettleNs = 1'000'000'000;

/// A message, and how many of them the call waited for that it was complete in: MPI_Waitall is one call.
struct CompletedMessage : model::Message {
  int64_t in_call = 1;
  int64_t matched_bytes = 0;  ///< streams: bytes whose other side was found
};

/// Messages in order of posting. Small while it is: a program may give each message a tag of its own.
class PostedMessages {
 public:
  void Insert(const CompletedMessage& row);
  /// The first so many.
  void Drop(size_t rows);
  bool empty() const { return begin_ == rows_.size(); }
  size_t size() const { return rows_.size() - begin_; }
  const CompletedMessage& operator[](size_t index) const { return rows_[begin_ + index]; }
  const CompletedMessage& front() const { return rows_[begin_]; }
  CompletedMessage& front() { return rows_[begin_]; }

 private:
  std::vector<CompletedMessage> rows_;
  size_t begin_ = 0;
};

/// Matches messages of the same communicator, sender, receiver and tag in the order in which they were posted on either
/// side, as MPI does. Where there is no tag (pipes, sockets), bytes flow one after the other, and a receive belongs to
/// the send that its first byte is of. Takes rows in any portions, each about as late as the others. Bounded: of more
/// than kMaxWaiting rows that wait for their other side the oldest are given up. @thread one at a time
class MessageMatcher {
 public:
  static constexpr size_t kMaxWaiting = 1u << 20;
  using Visitor = std::function<void(const CompletedMessage& sent, const CompletedMessage& received)>;

  explicit MessageMatcher(Visitor visit) : visit_(std::move(visit)) {}

  void Add(const model::Message& row, int64_t in_call = 1);
  /// Nothing more comes: what has no other side by now never will.
  void Finish();

  /// Messages whose other side never came, as far as that is known by now.
  int64_t UnmatchedSent() const { return unmatched_sent_; }
  int64_t UnmatchedReceived() const { return unmatched_received_; }

 private:
  using Key = std::tuple<model::ElementId, model::ElementId, model::ElementId, int64_t>;
  struct Queues {
    PostedMessages sent;
    PostedMessages received;
  };

  void Sweep(bool is_last);
  void MatchFront(Queues& queues, bool is_last);
  void MatchStream(Queues& queues, bool is_last);
  bool SkipUnequal(Queues& queues);
  void Drop(PostedMessages& queue, size_t rows, int64_t& unmatched);
  bool IsSettled(const model::Message& row) const { return row.t_ns <= newest_ns_ - kMessageSettleNs; }
  void GiveUpOldest();

  Visitor visit_;
  std::map<Key, Queues> queues_;
  size_t waiting_ = 0;
  int64_t newest_ns_ = 0;
  int64_t next_sweep_ns_ = 0;
  int64_t unmatched_sent_ = 0;
  int64_t unmatched_received_ = 0;
};

/// Each message of a recording of which both sides are in it. @param visit returns false to stop
Status VisitMessagePairs(model::Source& source,
                         const std::function<bool(const model::Message& sent, const model::Message& received)>& visit);

/// Gathers the parts of each collective operation. Those of ranks on other hosts never come: what is not whole is given
/// at the end, or when more than kMaxWaiting parts wait, the oldest first. That a communicator is between two groups is
/// known when the second group takes part in it for the first time. @thread one at a time
class CollectiveMatcher {
 public:
  static constexpr size_t kMaxWaiting = 1u << 18;
  /// @param parts one a rank, at least one
  using Visitor = std::function<void(std::span<const model::Collective> parts)>;

  explicit CollectiveMatcher(Visitor visit) : visit_(std::move(visit)) {}

  void Add(const model::Collective& row);
  void Finish();

  /// Operations of which the part of some rank never came, or was on another host.
  int64_t Incomplete() const { return incomplete_; }

 private:
  using Key = std::pair<model::ElementId, int64_t>;  // communicator, sequence

  struct Group {
    std::vector<model::Collective> parts;
    std::unordered_set<model::ElementId> ranks;
  };
  /// A row tells the size of its rank's own group, and the rank's number in that.
  struct Communicator {
    int64_t size = 0;
    int64_t other_size = 0;  ///< size of the second group, if it is between two; 0: it is not, as far as is known
    std::unordered_map<int64_t, model::ElementId> rank_at;
  };

  int64_t RanksOf(const model::Collective& row);
  void Give(std::map<Key, Group>::iterator group);

  Visitor visit_;
  std::map<Key, Group> groups_;
  std::unordered_map<model::ElementId, Communicator> communicators_;
  size_t known_ranks_ = 0;  ///< in communicators_
  std::deque<Key> order_;   ///< in which they began; some may be gone
  size_t waiting_ = 0;
  int64_t incomplete_ = 0;
};

/// Wait dependencies between the ranks of a collective operation.
enum class CollectivePattern : uint8_t {
  kAll,         ///< every rank for every other one: MPI_Barrier, MPI_Allreduce, ...
  kFromRoot,    ///< all others for the root: MPI_Bcast, MPI_Scatter
  kToRoot,      ///< the root for all others: MPI_Reduce, MPI_Gather
  kPrefix,      ///< each for those before it: MPI_Scan, MPI_Exscan
  kNeighbours,  ///< each for some that are not known: MPI_Neighbor_*
};
/// @param function "MPI_Iallreduce"
CollectivePattern PatternOf(std::string_view function);

/// A rank's wait for another one: from when it came until the other one did, at most until it went on.
struct RankWait {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  const model::Collective* late = nullptr;  ///< part of the rank that it waited for

  int64_t LengthNs() const { return end_ns - begin_ns; }
};
/// Element i is the wait of the rank of parts[i]. Length 0: no wait, or it is not known for whom (as between two
/// groups, whose ranks have each number twice).
std::vector<RankWait> WaitsAtCollective(std::span<const model::Collective> parts, CollectivePattern pattern);

/// Carrier of a message. A call of MPI waits until the other side has begun its call; a call on a channel (a
/// pipe, a socket, a queue) until there is something in it, or room.
enum class Carrier : uint8_t { kMpi, kChannel };

/// How long a receiver waited for a message that was not sent yet ("late sender").
int64_t LateSenderNs(const model::Message& sent, const model::Message& received, Carrier carrier = Carrier::kMpi);
/// How long a sender waited until the message was received ("late receiver"), or until there was room for it; what went
/// without waiting has 0.
int64_t LateReceiverNs(const model::Message& sent, const model::Message& received, Carrier carrier = Carrier::kMpi);

}  // namespace attune::analysis
