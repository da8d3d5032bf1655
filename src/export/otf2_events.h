#pragma once
/// Content of a recording for an OTF2 archive, by thread and in the order in which OTF2 wants it.

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/source.h"
#include "wire/sync.h"

namespace attune::exports {

/// Number of a region; kNoRegion: the stretch only holds records of MPI.
using Otf2Region = uint32_t;
inline constexpr Otf2Region kNoRegion = UINT32_MAX;

/// Waiting, a region, or a call of MPI: always within the one that began before it.
struct Otf2Stretch {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  Otf2Region region = 0;
  uint32_t call = 0;  ///< number of the call of MPI, from 1 on, of the thread; 0: it is none
};

/// An acquisition or a release.
struct Otf2Turn {
  int64_t t_ns = 0;
  int64_t bound_ns = 0;
  model::ElementId lock = 0;
  uint32_t order = 0;  ///< number of the lock's acquisition, from 1; 0: a release whose acquisition is not recorded
  wire::SyncKind kind = wire::SyncKind::kNone;
  bool acquires = false;
};

/// A record of MPI at the begin or at the end of a call.
struct Otf2Message {
  enum class Kind : uint8_t {
    kSend,
    kIsend,          ///< begun by this call; another one completes it
    kIsendComplete,  ///< `request` says of which
    kReceive,
    kIreceiveRequest,
    kIreceive,
    kCollectiveBegin,
    kCollectiveEnd,
    kCollectiveRequest,
    kCollectiveComplete,
  };
  Kind kind = Kind::kSend;
  bool at_end = false;
  uint32_t call = 0;  ///< number of the call in the thread
  model::ElementId communicator = 0;
  model::ElementId peer = 0;      ///< messages only
  model::ElementId function = 0;  ///< collective operations only
  int64_t tag = 0;                ///< tag of a message; root of a collective operation
  int64_t bytes = 0;
  int64_t bytes_received = 0;  ///< collective operations only
  uint64_t request = 0;
};

struct Otf2Thread {
  std::vector<Otf2Stretch> stretches;
  std::vector<Otf2Turn> turns;
  std::vector<Otf2Message> messages;  ///< by call; those at its begin first
  std::vector<size_t> open;           ///< regions in `stretches` that have not ended
  uint32_t calls = 0;
  model::ElementId rank = 0;  ///< 0: it took no part in MPI
};

/// A rank's place in a communicator.
struct Otf2Member {
  model::ElementId communicator = 0;
  model::ElementId rank = 0;
  bool operator<(const Otf2Member& other) const {
    return std::pair(communicator, rank) < std::pair(other.communicator, other.rank);
  }
};

class Otf2Events {
 public:
  struct Region {
    wire::SyncKind kind = wire::SyncKind::kNone;  ///< kind of a wait, or a call of MPI; else a region of the program
    model::ElementId element = 0;                 ///< site of a wait, function of a call of MPI, else the region
  };
  struct Counts {
    uint64_t sent = 0;
    uint64_t received = 0;
    uint64_t collectives = 0;  ///< parts in them
  };

  Status Read(model::Source& source);

  std::map<model::ElementId, Otf2Thread>& threads() { return threads_; }
  const std::map<model::ElementId, Otf2Thread>& threads() const { return threads_; }
  const std::vector<Region>& regions() const { return regions_; }
  /// Members of communicators, with their numbers there; kAbsent: not known.
  const std::map<Otf2Member, int64_t>& members() const { return members_; }
  Counts counts() const { return counts_; }
  int64_t first_ns() const { return first_ns_; }
  int64_t last_ns() const { return last_ns_; }

 private:
  struct Interval {
    int64_t start_ns = 0;
    int64_t end_ns = 0;
  };

  void Add(const model::EventBlock& block, size_t row);
  void Add(const model::Message& row);
  void Add(const model::Collective& row);
  Status ReadMessages(model::Source& source);
  /// @return the record, of a new call
  Otf2Message& AddCall(Otf2Thread& thread, Interval when, Otf2Region region, const Otf2Message& record);
  /// The call that completes what was begun before; its name is known by its place.
  void AddCompletion(Otf2Thread& thread, Interval when, model::ElementId wait_site, const Otf2Message& record);
  void AddMember(model::ElementId communicator, model::ElementId rank, int64_t number);
  void Reach(int64_t t_ns);
  Otf2Region RegionOf(wire::SyncKind kind, model::ElementId element);
  void EndRegion(Otf2Thread& thread, model::ElementId element, int64_t t_ns);
  void Close(Otf2Thread& thread) const;
  static void JoinCalls(Otf2Thread& thread);
  void Number();

  std::map<model::ElementId, Otf2Thread> threads_;
  std::map<std::pair<wire::SyncKind, model::ElementId>, Otf2Region> refs_;
  std::vector<Region> regions_;
  std::unordered_map<model::ElementId, model::ElementId> function_at_;  ///< the function of MPI that a place calls
  std::map<Otf2Member, int64_t> members_;
  Counts counts_;
  uint64_t last_request_ = 0;
  int64_t first_ns_ = INT64_MAX;
  int64_t last_ns_ = INT64_MIN;
};

}  // namespace attune::exports
