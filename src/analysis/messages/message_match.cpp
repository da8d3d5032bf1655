#include "analysis/messages/message_match.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace attune::analysis {

using model::Collective;
using model::kAbsent;
using model::Message;
using model::MessageKind;

namespace {

/// How far to look for the other side of a message when that at hand cannot be it.
constexpr size_t kLookAhead = 16;

/// The begin of a small send in quick succession is estimated from its end (probe/mpi/exchange.h), and so may be later
/// than the receive.
constexpr int64_t kEstimatedBytes = 4096;
constexpr int64_t kMostEstimateErrorNs = 100'000;

/// Received before it was sent, which cannot be.
bool IsTooEarly(const Message& received, const Message& sent) {
  return received.t_ns < sent.post_ns - (sent.bytes <= kEstimatedBytes ? kMostEstimateErrorNs : 0);
}

/// Not received before it was sent, and as long.
bool MayBelong(const Message& sent, const Message& received) {
  return !IsTooEarly(received, sent) && received.bytes == sent.bytes;
}

}  // namespace

// ---- messages

void PostedMessages::Insert(const CompletedMessage& row) {
  // No program completes so many in another order; a file may say so.
  constexpr size_t kFarthest = 4096;
  const auto first = rows_.begin() + static_cast<ptrdiff_t>(begin_ + (size() - std::min(size(), kFarthest)));
  rows_.insert(
      std::upper_bound(first, rows_.end(), row, [](const auto& a, const auto& b) { return a.post_ns < b.post_ns; }),
      row);
}

void PostedMessages::Drop(size_t rows) {
  constexpr size_t kFewRows = 64;
  begin_ += std::min(rows, size());
  if (begin_ < rows_.size() && (begin_ < kFewRows || begin_ * 2 < rows_.size())) return;
  rows_.erase(rows_.begin(), rows_.begin() + static_cast<ptrdiff_t>(begin_));
  begin_ = 0;
}

void MessageMatcher::Add(const Message& row, int64_t in_call) {
  const bool is_sent = row.kind == MessageKind::kSent;
  Queues& queues = queues_[is_sent ? Key(row.communicator, row.rank, row.peer, row.tag)
                                   : Key(row.communicator, row.peer, row.rank, row.tag)];
  (is_sent ? queues.sent : queues.received).Insert({row, in_call});
  ++waiting_;
  newest_ns_ = std::max(newest_ns_, row.t_ns);
  if (waiting_ > kMaxWaiting) GiveUpOldest();
  if (newest_ns_ < next_sweep_ns_) return;
  Sweep(false);
  next_sweep_ns_ = newest_ns_ + kMessageSettleNs / 4;
}

void MessageMatcher::Finish() {
  Sweep(true);
  for (auto& [key, queues] : queues_) {
    Drop(queues.sent, queues.sent.size(), unmatched_sent_);
    Drop(queues.received, queues.received.size(), unmatched_received_);
  }
  queues_.clear();
}

void MessageMatcher::Sweep(bool is_last) {
  for (auto at = queues_.begin(); at != queues_.end();) {
    if (std::get<3>(at->first) == kAbsent) {
      MatchStream(at->second, is_last);
    } else {
      MatchFront(at->second, is_last);
    }
    at = at->second.sent.empty() && at->second.received.empty() ? queues_.erase(at) : std::next(at);
  }
}

void MessageMatcher::MatchFront(Queues& queues, bool is_last) {
  while (!queues.sent.empty() && !queues.received.empty()) {
    const CompletedMessage& sent = queues.sent.front();
    const CompletedMessage& received = queues.received.front();
    if (!is_last && !(IsSettled(sent) && IsSettled(received))) return;
    if (!MayBelong(sent, received) && SkipUnequal(queues)) continue;
    visit_(sent, received);
    queues.sent.Drop(1);
    queues.received.Drop(1);
    waiting_ -= 2;
  }
}

/// One write may be read in parts, and one read may take several writes.
void MessageMatcher::MatchStream(Queues& queues, bool is_last) {
  while (!queues.sent.empty() && !queues.received.empty()) {
    CompletedMessage& sent = queues.sent.front();
    CompletedMessage& received = queues.received.front();
    if (!is_last && !(IsSettled(sent) && IsSettled(received))) return;
    if (received.t_ns < sent.post_ns) {  // that of the other side was lost
      Drop(queues.received, 1, unmatched_received_);
      continue;
    }
    if (received.matched_bytes == 0) {
      CompletedMessage part = sent;
      if (sent.matched_bytes > 0) part.wait_ns = kAbsent;  // it waited for the first one that read of it
      visit_(part, received);
    }
    const int64_t both = std::min(sent.bytes - sent.matched_bytes, received.bytes - received.matched_bytes);
    sent.matched_bytes += both;
    received.matched_bytes += both;
    const bool is_sent = sent.matched_bytes >= sent.bytes, is_received = received.matched_bytes >= received.bytes;
    if (is_sent) queues.sent.Drop(1);
    if (is_received) queues.received.Drop(1);
    waiting_ -= static_cast<size_t>(is_sent) + static_cast<size_t>(is_received);
  }
}

/// The rows at the front cannot be one message: that of the other side was lost. Goes on with the nearest that can.
/// @return false: there are none; they are taken for one, since bytes can be counted in different ways
bool MessageMatcher::SkipUnequal(Queues& queues) {
  if (IsTooEarly(queues.received.front(), queues.sent.front())) {
    Drop(queues.received, 1, unmatched_received_);
    return true;
  }
  for (size_t ahead = 1; ahead <= kLookAhead; ++ahead) {
    if (ahead < queues.received.size() && MayBelong(queues.sent.front(), queues.received[ahead])) {
      Drop(queues.received, ahead, unmatched_received_);
      return true;
    }
    if (ahead < queues.sent.size() && MayBelong(queues.sent[ahead], queues.received.front())) {
      Drop(queues.sent, ahead, unmatched_sent_);
      return true;
    }
  }
  return false;
}

void MessageMatcher::Drop(PostedMessages& queue, size_t rows, int64_t& unmatched) {
  queue.Drop(rows);
  waiting_ -= rows;
  unmatched += static_cast<int64_t>(rows);
}

/// First what can be matched is, settled or not; then half of what waits for others in vain is given up.
void MessageMatcher::GiveUpOldest() {
  Sweep(true);
  if (waiting_ <= kMaxWaiting / 2) return;
  for (auto& [key, queues] : queues_) {
    Drop(queues.sent, (queues.sent.size() + 1) / 2, unmatched_sent_);
    Drop(queues.received, (queues.received.size() + 1) / 2, unmatched_received_);
  }
}

Status VisitMessagePairs(model::Source& source,
                         const std::function<bool(const Message& sent, const Message& received)>& visit) {
  bool go_on = true;
  MessageMatcher matcher(
      [&](const CompletedMessage& sent, const CompletedMessage& received) { go_on = go_on && visit(sent, received); });
  ATTUNE_CHECK_OK(source.ReadTable(model::Message::kTable, [&](const model::Batch& batch) {
    for (const Message& row : model::RowsFrom<model::Message>(batch)) matcher.Add(row);
    return go_on;
  }));
  if (go_on) matcher.Finish();
  return {};
}

// ---- collectives

void CollectiveMatcher::Add(const Collective& row) {
  const Key key(row.communicator, row.sequence);
  // A part of which the number is not known belongs to nothing.
  if (row.sequence <= 0 || row.communicator == 0) {
    visit_(std::span(&row, 1));
    ++incomplete_;
    return;
  }
  const int64_t ranks = RanksOf(row);
  auto group = groups_.find(key);
  if (group != groups_.end() && group->second.ranks.contains(row.rank)) {
    Give(group);  // foreign: a rank takes part once
    group = groups_.end();
  }
  if (group == groups_.end()) {
    group = groups_.try_emplace(key).first;
    order_.push_back(key);
  }
  group->second.parts.push_back(row);
  group->second.ranks.insert(row.rank);
  ++waiting_;
  if (static_cast<int64_t>(group->second.parts.size()) == ranks) Give(group);
  while (waiting_ > kMaxWaiting || order_.size() > kMaxWaiting) {
    const auto oldest = groups_.find(order_.front());
    order_.pop_front();
    if (oldest != groups_.end()) Give(oldest);
  }
}

void CollectiveMatcher::Finish() {
  while (!groups_.empty()) Give(groups_.begin());
  order_.clear();
}

/// How many take part in the operations on a row's communicator, as far as is known by now.
int64_t CollectiveMatcher::RanksOf(const Collective& row) {
  if (row.communicator_size == kAbsent || row.communicator_rank == kAbsent) return row.communicator_size;
  if (known_ranks_ >= kMaxWaiting && !communicators_.contains(row.communicator)) return row.communicator_size;
  Communicator& known = communicators_[row.communicator];
  if (known.size == 0) known.size = row.communicator_size;
  bool is_other = row.communicator_size != known.size;
  if (known_ranks_ < kMaxWaiting && known.other_size == 0) {
    const auto [at, is_new] = known.rank_at.try_emplace(row.communicator_rank, row.rank);
    if (is_new) ++known_ranks_;
    is_other = is_other || at->second != row.rank;
  }
  if (is_other && known.other_size == 0) known.other_size = row.communicator_size;
  return known.size > INT64_MAX - known.other_size ? INT64_MAX : known.size + known.other_size;
}

void CollectiveMatcher::Give(std::map<Key, Group>::iterator group) {
  const std::vector<Collective> parts = std::move(group->second.parts);
  groups_.erase(group);
  waiting_ -= parts.size();
  if (static_cast<int64_t>(parts.size()) != RanksOf(parts.front())) ++incomplete_;
  visit_(parts);
}

CollectivePattern PatternOf(std::string_view function) {
  constexpr std::string_view kPrefix = "MPI_";
  if (function.starts_with(kPrefix)) function.remove_prefix(kPrefix.size());
  std::string name;
  for (const char c : function) name += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  constexpr std::array<std::string_view, 3> kFromRoot{"bcast", "scatter", "scatterv"};
  constexpr std::array<std::string_view, 3> kToRoot{"reduce", "gather", "gatherv"};
  constexpr std::array<std::string_view, 2> kScans{"scan", "exscan"};
  const auto is_one_of = [&name](const auto& names) {
    return std::ranges::any_of(names, [&name](std::string_view each) {
      return name == each || (name.size() == each.size() + 1 && name[0] == 'i' && name.ends_with(each));
    });
  };
  if (is_one_of(kFromRoot)) return CollectivePattern::kFromRoot;
  if (is_one_of(kToRoot)) return CollectivePattern::kToRoot;
  if (is_one_of(kScans)) return CollectivePattern::kPrefix;
  if (name.starts_with("neighbor_") || name.starts_with("ineighbor_")) return CollectivePattern::kNeighbours;
  return CollectivePattern::kAll;
}

namespace {

using Parts = std::span<const Collective>;

const Collective* Later(const Collective* one, const Collective* other) {
  return one == nullptr || other->post_ns > one->post_ns ? other : one;
}

/// Two groups have different sizes, or a number twice.
bool IsBetweenGroups(Parts parts) {
  std::unordered_set<int64_t> numbers;
  return std::ranges::any_of(parts, [&](const Collective& part) {
    return part.communicator_size != parts.front().communicator_size ||
           (part.communicator_rank != kAbsent && !numbers.insert(part.communicator_rank).second);
  });
}

/// The root of each part.
std::vector<const Collective*> Roots(Parts parts) {
  std::unordered_map<int64_t, const Collective*> at;
  for (const Collective& part : parts) at.try_emplace(part.communicator_rank, &part);
  std::vector<const Collective*> roots(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto root = at.find(parts[i].root);
    if (parts[i].root != kAbsent && root != at.end()) roots[i] = root->second;
  }
  return roots;
}

/// The latest of those before each part.
std::vector<const Collective*> LatestBefore(Parts parts) {
  std::vector<size_t> order;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].communicator_rank != kAbsent) order.push_back(i);
  }
  std::ranges::sort(order, {}, [&](size_t i) { return parts[i].communicator_rank; });
  std::vector<const Collective*> before(parts.size());
  const Collective* latest = nullptr;
  for (const size_t i : order) {
    before[i] = latest;
    latest = Later(latest, &parts[i]);
  }
  return before;
}

/// By part: the part its rank may have had to wait for the longest; itself: it waited for none of the others.
std::vector<const Collective*> LatestOfEach(Parts parts, CollectivePattern pattern) {
  const Collective* last = nullptr;
  for (const Collective& part : parts) last = Later(last, &part);
  std::vector<const Collective*> latest(parts.size());
  switch (pattern) {
    case CollectivePattern::kAll: std::ranges::fill(latest, last); break;
    case CollectivePattern::kFromRoot: return Roots(parts);
    case CollectivePattern::kToRoot:
      for (size_t i = 0; i < parts.size(); ++i) {
        if (parts[i].root != kAbsent && parts[i].communicator_rank == parts[i].root) latest[i] = last;
      }
      break;
    case CollectivePattern::kPrefix: return LatestBefore(parts);
    case CollectivePattern::kNeighbours: break;
  }
  return latest;
}

}  // namespace

std::vector<RankWait> WaitsAtCollective(Parts parts, CollectivePattern pattern) {
  std::vector<RankWait> waits(parts.size());
  if (IsBetweenGroups(parts)) return waits;
  const std::vector<const Collective*> latest = LatestOfEach(parts, pattern);
  for (size_t i = 0; i < parts.size(); ++i) {
    const Collective& part = parts[i];
    const Collective* late = latest[i];
    if (part.wait_ns == kAbsent || late == nullptr || late == &part) continue;
    const int64_t end_ns = std::min(part.t_ns, late->post_ns);
    if (end_ns > part.wait_ns) waits[i] = {part.wait_ns, end_ns, late};
  }
  return waits;
}

namespace {

/// To wake up who waits takes up to so long: a shorter call on a channel has waited for the message, not for its
/// sender.
constexpr int64_t kLeastChannelWaitNs = 100'000;
/// A call that sends copies: so long at most for a byte.
constexpr int64_t kCopiedByteNs = 2;

int64_t EmptyChannelNs(const Message& sent, const Message& received) {
  if (sent.t_ns <= received.wait_ns) return 0;  // it lay there
  // Between a call that waits for any channel (poll) and the one that receives, something else may have been done.
  const bool is_one_call = received.wait_site == received.site;
  const int64_t end_ns = is_one_call ? received.t_ns : std::min(received.t_ns, sent.t_ns);
  return end_ns - received.wait_ns >= kLeastChannelWaitNs ? end_ns - received.wait_ns : 0;
}

int64_t FullChannelNs(const Message& sent, const Message& received) {
  // The channel was empty where the receiver waited already: the sender lost its CPU in the call, or copied.
  if (received.post_ns <= sent.wait_ns && sent.bytes <= received.bytes) return 0;
  const int64_t ns = sent.t_ns - sent.wait_ns;
  const int64_t copying_ns = sent.bytes > INT64_MAX / (2 * kCopiedByteNs) ? INT64_MAX / 2 : sent.bytes * kCopiedByteNs;
  return ns >= kLeastChannelWaitNs + copying_ns ? ns : 0;
}

}  // namespace

int64_t LateSenderNs(const Message& sent, const Message& received, Carrier carrier) {
  if (received.wait_ns == kAbsent) return 0;
  if (carrier == Carrier::kChannel) return EmptyChannelNs(sent, received);
  return std::max<int64_t>(0, std::min(received.t_ns, sent.post_ns) - received.wait_ns);
}

int64_t LateReceiverNs(const Message& sent, const Message& received, Carrier carrier) {
  if (sent.wait_ns == kAbsent) return 0;
  if (carrier == Carrier::kChannel) return FullChannelNs(sent, received);
  if (sent.t_ns < received.post_ns)
    return 0;  // before the receive was posted the send was over: it did not wait for it
  return std::max<int64_t>(0, received.post_ns - sent.wait_ns);
}

}  // namespace attune::analysis
