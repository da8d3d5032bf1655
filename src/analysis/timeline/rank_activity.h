#pragma once
/// Activity of the ranks of an MPI job as spans, and their messages as arrows, from rows in order of time.

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analysis/messages/message_match.h"
#include "base/saturating.h"
#include "model/schema.h"
#include "model/source.h"

namespace attune::analysis {

/// Outside of all of these a rank computes, or is in a call that neither sends nor receives.
enum class RankState : uint8_t {
  kMessages = 1,    ///< in a call that sends or receives, or waits for that to be done
  kLateSender,      ///< part of kMessages: waits for a message that is not sent yet
  kLateReceiver,    ///< part of kMessages: waits for a message to be received
  kCollective,      ///< in a collective operation
  kCollectiveWait,  ///< part of kCollective: waits for others to come
};

struct RankSpan {
  int64_t t0_ns = 0;
  int64_t t1_ns = 0;
  int64_t known_ns = 0;  ///< the last row that it is made of
  model::ElementId rank = 0;
  RankState state = RankState::kMessages;
  model::ElementId function = 0;
  model::ElementId site = 0;
  model::ElementId communicator = 0;  ///< collective operations only
  int64_t sequence = 0;               ///< likewise
  int64_t LengthNs() const { return SaturatingSub(t1_ns, t0_ns); }
};

struct RankArrow {
  int64_t sent_ns = 0;      ///< when the sending was begun
  int64_t received_ns = 0;  ///< when it was complete at the receiver
  int64_t known_ns = 0;     ///< as of RankSpan
  model::ElementId rank = 0;
  model::ElementId peer = 0;
  model::ElementId communicator = 0;
  model::ElementId site = 0;  ///< place of the send
  int64_t bytes = 0;
  int64_t tag = 0;
  int64_t waited_ns = 0;  ///< by either side for the other one
  /// Messages are looked for by how long they are on screen, and shown by how long they were waited for.
  int64_t LengthNs() const { return std::max(SaturatingSub(known_ns, sent_ns), SaturatingSub(received_ns, sent_ns)); }
};

class RankSink {
 public:
  virtual ~RankSink() = default;
  virtual void Take(const RankSpan& span) = 0;
  virtual void Take(const RankArrow& arrow) = 0;
};

/// Gets rows of which others that belong to them come later.
class RankMarks {
 public:
  virtual ~RankMarks() = default;
  /// @param until the last row that belongs to it
  virtual void Crosses(const model::Message& row, int64_t until_ns) = 0;
  virtual void Crosses(const model::Collective& row, int64_t until_ns) = 0;
};

/// Facts about functions and ranks, from the metadata.
class RankFacts {
 public:
  void Learn(const model::Metadata& meta);
  CollectivePattern PatternOfFunction(model::ElementId function) const;
  bool IsElsewhere(model::ElementId rank) const { return elsewhere_.contains(rank); }

 private:
  std::unordered_map<model::ElementId, CollectivePattern> patterns_;
  std::unordered_set<model::ElementId> elsewhere_;  ///< ranks without a host
};

/// Bounded as its matchers are. @thread one at a time
class RankActivity {
 public:
  /// @param facts, sink must outlive this @param marks where there are any, gets what is told of on both sides of one
  RankActivity(const RankFacts& facts, RankSink& sink, RankMarks* marks = nullptr);
  RankActivity(const RankActivity&) = delete;  // its matchers call it
  RankActivity& operator=(const RankActivity&) = delete;

  void Add(const model::Message& row);
  void Add(const model::Collective& row);
  /// A message of which the span is known already: its other side may still come.
  void AddOpen(const model::Message& row) { messages_.Add(row); }
  void AddOpen(const model::Collective& row) { collectives_.Add(row); }
  /// Nothing more comes.
  void Finish();

 private:
  /// For calls that wait for several messages: begin of the wait, and end of the part of it that was reported.
  using Told = std::map<int64_t, int64_t>;

  void Matched(const model::Message& sent, const model::Message& received);
  void Gathered(std::span<const model::Collective> parts);
  void TakeLate(RankState state, const model::Message& row, int64_t t1_ns, int64_t known_ns);

  const RankFacts& facts_;
  RankSink& sink_;
  RankMarks* const marks_;
  MessageMatcher messages_;
  CollectiveMatcher collectives_;
  struct Call {
    int64_t wait_ns = 0;
    int64_t end_ns = 0;
  };
  std::unordered_map<model::ElementId, Call> calls_;  ///< by thread: the one at hand
  std::unordered_map<model::ElementId, Told> told_;   ///< by rank
};

}  // namespace attune::analysis
