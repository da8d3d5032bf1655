#pragma once
/// Waits between ranks of an MPI job: for late senders, late receivers, and late ranks in collective operations.
///
/// A rank is often late because it had to wait itself: then the wait is put down to whom that one waited for, as far as
/// the two waits overlap, and so on. What is left is the place of the call to which a rank came late by itself.
/// A call that waits for several (MPI_Waitall) waits once: for the one that is the latest.

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/messages/message_match.h"
#include "analysis/places/code_place.h"
#include "model/schema.h"

namespace attune::analysis {

enum class MessageWaitKind : uint8_t { kLateSender = 1, kLateReceiver, kCollective };

/// A rank that let others wait at a place.
struct LateRank {
  int64_t times = 0;
  int64_t caused_ns = 0;
};

/// Waits of others at one place.
struct MessageWaiter {
  int64_t waits = 0;
  int64_t wait_ns = 0;
  std::map<model::ElementId, int64_t> by_thread;
};

/// All waiting of one kind because of what ranks did before one call.
struct MessageWaitSums {
  int64_t waits = 0;
  int64_t wait_ns = 0;
  int64_t indirect_ns = 0;  ///< part of wait_ns, for a rank that had to wait itself
  /// Waits in collective operations while others waited for messages of the same rank, which was late there first.
  int64_t late_before_ns = 0;
  int64_t longest_ns = 0;
  std::map<model::ElementId, int64_t> by_thread;      ///< that waited
  std::map<model::ElementId, MessageWaiter> waiters;  ///< by place
  std::map<model::ElementId, LateRank> caused_by;     ///< by thread
  /// Nanoseconds, by what began the operation: of a message that MPI_Irecv posted and MPI_Wait waited for, MPI_Irecv.
  std::map<model::ElementId, int64_t> by_function;
  std::map<model::ElementId, int64_t> by_late_function;  ///< by that which the late one called
  /// CPU time that the late ones used while the others waited, by place, as far as samples know.
  std::map<model::ElementId, int64_t> busy_ns;
};

/// Takes what belongs together (MessageMatcher, CollectiveMatcher). Bounded: beyond kMax waits further ones are put
/// down to whom was waited for, whatever that one did. @thread one at a time
class MessageWaits {
 public:
  static constexpr size_t kMax = size_t{1} << 20;
  /// And the place of the late one's call, the same for all ranks (SamePlaces).
  using Cause = std::pair<MessageWaitKind, model::ElementId>;

  /// @param names must outlive this
  explicit MessageWaits(const SiteNames& names) : places_(names) {}

  void Add(const model::Message& sent, const model::Message& received, Carrier carrier = Carrier::kMpi);
  void Add(std::span<const model::Collective> parts, std::span<const RankWait> waits);
  void Finish();
  /// After Finish(): where a late one was meanwhile.
  void AddSample(const model::CpuSample& sample);

  /// Complete after Finish().
  const std::map<Cause, MessageWaitSums>& ByCause() const { return sums_; }

 private:
  struct Wait {
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
    MessageWaitKind kind = MessageWaitKind::kLateSender;
    model::ElementId thread = 0, site = 0, function = 0;
    model::ElementId late_thread = 0, late_site = 0, late_function = 0;
  };
  /// The late call to which a wait is attributed.
  struct Late {
    model::ElementId thread = 0, site = 0, function = 0;
  };

  /// A stretch of time in which others waited for a thread.
  struct Span {
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
    Cause cause;
  };

  void Add(Wait wait);
  void Count(const Wait& wait, const Late& late, int64_t ns, bool is_indirect);
  void KeepOneOfACall();
  void FindLateBefore();

  SamePlaces places_;
  std::vector<Wait> waits_;
  std::unordered_map<model::ElementId, std::vector<Span>> spans_;  ///< by thread, in order of time after Finish()
  std::map<Cause, MessageWaitSums> sums_;
};

}  // namespace attune::analysis
