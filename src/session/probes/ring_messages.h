#pragma once
/// Message passing of a ring (wire/message.h), as rows of the tables `messages` and `collectives`, and the
/// elements that these are about: ranks, communicators, functions.

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/schema.h"
#include "session/core/pipeline.h"
#include "session/core/process_table.h"
#include "session/core/registry.h"
#include "session/probes/channel_messages.h"
#include "session/probes/ring_waits.h"
#include "track/ring_reader.h"
#include "wire/message.h"

namespace attune::session {

/// The ranks, communicators and functions of all programs of a session. Ranks of one job tell of each other before they
/// are seen themselves, and those on other hosts never are: their elements have no host and no process. Bounded: what
/// is beyond kMaxRanks and kMaxCommunicators has no element. @thread one at a time
class MessageElements {
 public:
  static constexpr size_t kMaxRanks = 1u << 16;
  static constexpr size_t kMaxCommunicators = 1u << 16;

  /// @param pipeline is told by what the jobs are known
  MessageElements(ProcessTable& processes, Registry& registry, Pipeline& pipeline)
      : processes_(processes), registry_(registry), pipeline_(pipeline) {}

  /// A process is this rank of this world from now on.
  model::ElementId Attach(int32_t pid, uint64_t world, int64_t rank);
  /// The element of a rank, wherever it is.
  model::ElementId Rank(uint64_t world, int64_t rank);
  /// @param id the same in all of its ranks  @param name "": none was given to it
  model::ElementId Communicator(uint64_t id, std::string_view name, int32_t size);
  /// "MPI_Send", "write"; of a number that is none: "MPI". The same function in all processes.
  model::ElementId Function(uint64_t number);

 private:
  struct KnownRank {
    model::ElementId element = 0;
    bool is_here = false;
  };
  struct KnownCommunicator {
    model::ElementId element = 0;
    bool is_named = false;
  };

  /// Its number. The first ranks of it are called by their own alone.
  size_t Job(uint64_t world);
  /// nullptr: there are too many.
  KnownRank* Find(uint64_t world, int64_t rank, bool is_here);

  ProcessTable& processes_;
  Registry& registry_;
  Pipeline& pipeline_;
  std::map<uint64_t, size_t> worlds_;  ///< their number, in the order in which they were seen, from 1
  std::map<std::pair<uint64_t, int64_t>, KnownRank> ranks_;
  std::map<uint64_t, KnownCommunicator> communicators_;
  std::map<uint64_t, model::ElementId> functions_;
};

/// Messages of one ring. Everything in a record is foreign: impossible times are clamped, records that make no
/// sense are left out and counted. @thread one at a time
class RingMessages {
 public:
  using ToNs = std::function<int64_t(uint64_t ticks)>;

  /// @param channels gets what is none of MPI's
  RingMessages(MessageElements& elements, ChannelMessages& channels, ProcessTable& process_table, RingWaits& waits)
      : elements_(elements), channel_messages_(channels), process_table_(process_table), waits_(waits) {}

  static bool IsOfMessages(wire::EventKind kind) {
    return kind >= wire::EventKind::kRank && kind <= wire::EventKind::kCollective;
  }

  /// Those of `records` that are of messages. All rings of a file have to be in it: a communicator may be told of in
  /// another one than what was sent in it.
  void Take(const track::RingReader& reader, std::span<const track::RingRecord> records, const ToNs& to_ns);

  /// Rows since the last call, in the order of the records.
  std::vector<model::Message> TakeMessages() { return std::exchange(messages_, {}); }
  std::vector<model::Collective> TakeCollectives() { return std::exchange(collectives_, {}); }
  /// Records that made no sense, or of which the process had not said who it is.
  uint64_t LeftOut() const { return left_out_; }

 private:
  /// Facts that a process reported of itself.
  struct Process {
    uint64_t world = 0;
    int32_t size = 0;
    model::ElementId rank = 0;
  };
  struct Communicator {
    model::ElementId element = 0;
    uint64_t id = 0;
    int32_t rank = 0;
    int32_t size = 0;
  };
  struct Ticks {
    uint64_t end = 0;
    uint64_t post = 0;
    uint64_t wait = 0;  ///< 0: it did not wait
  };
  struct Times {
    int64_t end_ns = 0;
    int64_t post_ns = 0;
    int64_t wait_ns = model::kAbsent;
  };

  void TakeRank(const track::RingRecord& record);
  void TakeCommunicator(const track::RingReader& reader, const track::RingRecord& record);
  bool TakeChannel(int32_t pid, const wire::CommunicatorRecord& said, uint16_t kind);
  bool TakeChannelMessage(const track::RingReader& reader, const track::RingRecord& record, const ToNs& to_ns);
  bool TakeMessage(const track::RingReader& reader, const track::RingRecord& record, const ToNs& to_ns);
  bool TakeCollective(const track::RingReader& reader, const track::RingRecord& record, const ToNs& to_ns);
  static Times TimesOf(const track::RingReader& reader, const Ticks& ticks, const ToNs& to_ns);
  model::ElementId Thread(int32_t pid, int32_t tid);
  model::ElementId Peer(const Process& process, const Communicator& communicator, uint32_t peer);
  const Communicator& CommunicatorOf(int32_t pid, uint16_t index) const;

  MessageElements& elements_;
  ChannelMessages& channel_messages_;
  ProcessTable& process_table_;
  RingWaits& waits_;
  std::map<int32_t, Process> processes_;                                ///< by pid
  std::map<std::pair<int32_t, uint64_t>, Communicator> communicators_;  ///< by pid and index
  std::map<std::pair<int32_t, uint64_t>, ChannelEnd> channels_;         ///< by pid and index
  std::map<uint32_t, ChannelEnd> named_channels_;                       ///< by the index of the name
  std::map<std::pair<int32_t, int32_t>, model::ElementId> threads_;     ///< by pid and tid
  std::vector<model::Message> messages_;
  std::vector<model::Collective> collectives_;
  uint64_t left_out_ = 0;
};

}  // namespace attune::session
