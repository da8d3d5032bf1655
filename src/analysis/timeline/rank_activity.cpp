#include "analysis/timeline/rank_activity.h"

#include <algorithm>

#include "analysis/waits/sync_sums.h"

namespace attune::analysis {

using model::Collective;
using model::ElementId;
using model::ElementKind;
using model::kAbsent;
using model::Message;

namespace {

/// Calls of a rank whose messages are matched at about the same time.
constexpr size_t kMostTold = 1024;

/// Whether there was such a time; files may say anything.
bool IsSpan(int64_t t0_ns, int64_t t1_ns) {
  int64_t length_ns = 0;
  return t0_ns != kAbsent && t0_ns < t1_ns && !__builtin_sub_overflow(t1_ns, t0_ns, &length_ns);
}

}  // namespace

void RankFacts::Learn(const model::Metadata& meta) {
  for (const model::Element& element : meta.elements) {
    if (element.kind == ElementKind::kFunction && !patterns_.contains(element.id))
      patterns_[element.id] = PatternOf(element.name);
    if (element.kind != ElementKind::kRank) continue;
    if (element.host.empty()) {
      elsewhere_.insert(element.id);
    } else {
      elsewhere_.erase(element.id);
    }
  }
}

CollectivePattern RankFacts::PatternOfFunction(ElementId function) const {
  const auto pattern = patterns_.find(function);
  return pattern == patterns_.end() ? CollectivePattern::kNeighbours : pattern->second;
}

RankActivity::RankActivity(const RankFacts& facts, RankSink& sink, RankMarks* marks)
    : facts_(facts),
      sink_(sink),
      marks_(marks),
      messages_([this](const CompletedMessage& sent, const CompletedMessage& received) { Matched(sent, received); }),
      collectives_([this](std::span<const Collective> parts) { Gathered(parts); }) {}

/// Rows of one call come one after the other, and have waited since the same moment: they are one span.
void RankActivity::Add(const Message& row) {
  if (IsSpan(row.wait_ns, row.t_ns)) {
    Call& call = calls_[row.thread];
    const bool is_same = call.wait_ns == row.wait_ns && call.end_ns >= row.wait_ns;
    const int64_t t0_ns = is_same ? call.end_ns : row.wait_ns;
    if (!is_same || row.t_ns > call.end_ns) {
      sink_.Take({.t0_ns = t0_ns,
                  .t1_ns = row.t_ns,
                  .known_ns = row.t_ns,
                  .rank = row.rank,
                  .state = RankState::kMessages,
                  .function = row.function,
                  .site = row.wait_site != 0 ? row.wait_site : row.site});
      call = {row.wait_ns, row.t_ns};
    }
  }
  if (!facts_.IsElsewhere(row.peer)) messages_.Add(row);
}

void RankActivity::Add(const Collective& row) {
  if (IsSpan(row.wait_ns, row.t_ns)) {
    sink_.Take({.t0_ns = row.wait_ns,
                .t1_ns = row.t_ns,
                .known_ns = row.t_ns,
                .rank = row.rank,
                .state = RankState::kCollective,
                .function = row.function,
                .site = row.site,
                .communicator = row.communicator,
                .sequence = row.sequence});
  }
  collectives_.Add(row);
}

void RankActivity::Finish() {
  messages_.Finish();
  collectives_.Finish();
}

void RankActivity::TakeLate(RankState state, const Message& row, int64_t t1_ns, int64_t known_ns) {
  Told& told = told_[row.rank];
  const auto [call, is_first] = told.try_emplace(row.wait_ns, row.wait_ns);
  const int64_t t0_ns = call->second;
  if (t1_ns <= t0_ns) return;
  call->second = t1_ns;
  sink_.Take({.t0_ns = t0_ns,
              .t1_ns = t1_ns,
              .known_ns = known_ns,
              .rank = row.rank,
              .state = state,
              .function = row.function,
              .site = row.wait_site != 0 ? row.wait_site : row.site});
  if (is_first && told.size() > kMostTold) told.erase(told.begin());
}

void RankActivity::Matched(const Message& sent, const Message& received) {
  const int64_t late_sender_ns = LateSenderNs(sent, received), late_receiver_ns = LateReceiverNs(sent, received);
  const int64_t known_ns = std::max(sent.t_ns, received.t_ns);
  int64_t waited_ns = late_sender_ns;
  AddTo(waited_ns, late_receiver_ns);
  if (marks_ != nullptr) marks_->Crosses(sent.t_ns < received.t_ns ? sent : received, known_ns);
  if (late_sender_ns > 0) TakeLate(RankState::kLateSender, received, received.wait_ns + late_sender_ns, known_ns);
  if (late_receiver_ns > 0) TakeLate(RankState::kLateReceiver, sent, sent.wait_ns + late_receiver_ns, known_ns);
  sink_.Take(RankArrow{.sent_ns = sent.post_ns,
                       .received_ns = received.t_ns,
                       .known_ns = known_ns,
                       .rank = sent.rank,
                       .peer = received.rank,
                       .communicator = sent.communicator,
                       .site = sent.site,
                       .bytes = received.bytes,
                       .tag = sent.tag,
                       .waited_ns = waited_ns});
}

void RankActivity::Gathered(std::span<const Collective> parts) {
  const std::vector<RankWait> waits = WaitsAtCollective(parts, facts_.PatternOfFunction(parts.front().function));
  int64_t known_ns = INT64_MIN;
  for (const Collective& part : parts) known_ns = std::max(known_ns, part.t_ns);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (marks_ != nullptr) marks_->Crosses(parts[i], known_ns);
    if (waits[i].LengthNs() <= 0) continue;
    sink_.Take({.t0_ns = waits[i].begin_ns,
                .t1_ns = waits[i].end_ns,
                .known_ns = known_ns,
                .rank = parts[i].rank,
                .state = RankState::kCollectiveWait,
                .function = parts[i].function,
                .site = parts[i].site,
                .communicator = parts[i].communicator,
                .sequence = parts[i].sequence});
  }
}

}  // namespace attune::analysis
