#include "analysis/messages/message_waits.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "analysis/waits/sync_sums.h"

namespace attune::analysis {

using model::ElementId;
using model::Message;

void MessageWaits::Add(const Message& sent, const Message& received, Carrier carrier) {
  if (const int64_t ns = LateSenderNs(sent, received, carrier); ns > 0) {
    Add({.begin_ns = received.wait_ns,
         .end_ns = received.wait_ns + ns,
         .kind = MessageWaitKind::kLateSender,
         .thread = received.thread,
         .site = received.wait_site,
         .function = received.function,
         .late_thread = sent.thread,
         .late_site = sent.site,
         .late_function = sent.function});
  }
  if (const int64_t ns = LateReceiverNs(sent, received, carrier); ns > 0) {
    Add({.begin_ns = sent.wait_ns,
         .end_ns = sent.wait_ns + ns,
         .kind = MessageWaitKind::kLateReceiver,
         .thread = sent.thread,
         .site = sent.wait_site,
         .function = sent.function,
         .late_thread = received.thread,
         .late_site = received.site,
         .late_function = received.function});
  }
}

void MessageWaits::Add(std::span<const model::Collective> parts, std::span<const RankWait> waits) {
  for (size_t i = 0; i < parts.size(); ++i) {
    if (waits[i].late == nullptr || waits[i].LengthNs() <= 0) continue;
    Add({.begin_ns = waits[i].begin_ns,
         .end_ns = waits[i].end_ns,
         .kind = MessageWaitKind::kCollective,
         .thread = parts[i].thread,
         .site = parts[i].site,
         .function = parts[i].function,
         .late_thread = waits[i].late->thread,
         .late_site = waits[i].late->site,
         .late_function = waits[i].late->function});
  }
}

void MessageWaits::Add(Wait wait) {
  wait.site = places_.Of(wait.site);
  wait.late_site = places_.Of(wait.late_site);
  if (waits_.size() < kMax) {
    waits_.push_back(wait);
  } else {
    Count(wait, {wait.late_thread, wait.late_site, wait.late_function}, wait.end_ns - wait.begin_ns, false);
  }
}

void MessageWaits::Count(const Wait& wait, const Late& late, int64_t ns, bool is_indirect) {
  MessageWaitSums& sums = sums_[{wait.kind, late.site}];
  ++sums.waits;
  AddTo(sums.wait_ns, ns);
  if (is_indirect) AddTo(sums.indirect_ns, ns);
  sums.longest_ns = std::max(sums.longest_ns, ns);
  AddTo(sums.by_thread[wait.thread], ns);
  AddTo(sums.by_function[wait.function], ns);
  AddTo(sums.by_late_function[late.function], ns);
  MessageWaiter& waiter = sums.waiters[wait.site];
  ++waiter.waits;
  AddTo(waiter.wait_ns, ns);
  AddTo(waiter.by_thread[wait.thread], ns);
  LateRank& rank = sums.caused_by[late.thread];
  ++rank.times;
  AddTo(rank.caused_ns, ns);
}

void MessageWaits::KeepOneOfACall() {
  std::ranges::stable_sort(waits_, [](const Wait& a, const Wait& b) {
    return std::tuple(a.thread, a.begin_ns, -a.end_ns) < std::tuple(b.thread, b.begin_ns, -b.end_ns);
  });
  // A call that sends and receives waits for the data: its own message is under way meanwhile.
  constexpr double kAsLong = 0.9;
  const auto is_same_call = [](const Wait& a, const Wait& b) {
    return a.thread == b.thread && a.begin_ns == b.begin_ns;
  };
  for (auto first = waits_.begin(); first != waits_.end();) {
    const auto next =
        std::find_if_not(first, waits_.end(), [&](const Wait& wait) { return is_same_call(*first, wait); });
    const auto for_data = std::find_if(first, next, [first](const Wait& wait) {
      return wait.kind == MessageWaitKind::kLateSender &&
             static_cast<double>(wait.end_ns - wait.begin_ns) >=
                 kAsLong * static_cast<double>(first->end_ns - first->begin_ns);
    });
    if (for_data != next) std::iter_swap(first, for_data);
    first = next;
  }
  const auto rest = std::ranges::unique(waits_, is_same_call);
  waits_.erase(rest.begin(), rest.end());
}

/// In the order in which they ended: what a late one had waited for before is known when it is its turn.
void MessageWaits::Finish() {
  struct Known {
    int64_t begin_ns, end_ns;
    Late late;  ///< that most of it is put down to
  };
  // Limit of one thread's waits within one wait of another one; only a file that no session wrote has more.
  constexpr size_t kMostMeanwhile = 256;
  std::unordered_map<ElementId, std::vector<Known>> by_thread;
  KeepOneOfACall();
  std::ranges::stable_sort(waits_, {}, &Wait::end_ns);
  for (const Wait& wait : waits_) {
    Late most{wait.late_thread, wait.late_site, wait.late_function};
    const Late direct = most;
    int64_t left_ns = wait.end_ns - wait.begin_ns;
    int64_t most_ns = 0;
    const std::vector<Known>& before = by_thread[wait.late_thread];
    const size_t looked_at = std::min(before.size(), kMostMeanwhile);
    for (auto known = before.rbegin();
         known != before.rbegin() + static_cast<ptrdiff_t>(looked_at) && known->end_ns > wait.begin_ns && left_ns > 0;
         ++known) {
      const int64_t shared_ns =
          std::min(left_ns, std::min(known->end_ns, wait.end_ns) - std::max(known->begin_ns, wait.begin_ns));
      if (shared_ns <= 0 || known->late.thread == wait.thread) continue;
      Count(wait, known->late, shared_ns, true);
      left_ns -= shared_ns;
      if (shared_ns > most_ns) {
        most_ns = shared_ns;
        most = known->late;
      }
    }
    if (left_ns > 0) {
      Count(wait, direct, left_ns, false);
      spans_[direct.thread].push_back({wait.begin_ns, wait.end_ns, {wait.kind, direct.site}});
    }
    if (left_ns >= most_ns) most = direct;
    by_thread[wait.thread].push_back({wait.begin_ns, wait.end_ns, most});
  }
  waits_.clear();
  for (auto& [thread, spans] : spans_) std::ranges::stable_sort(spans, {}, &Span::begin_ns);
  FindLateBefore();
}

/// A rank that goes on without waiting for messages of a slow one meets it in the next collective operation: what
/// others waited for its messages until then is in that wait as well.
void MessageWaits::FindLateBefore() {
  size_t left = 4 * kMax;  // spans to look at: nobody looks at all of them for each
  for (const auto& [thread, spans] : spans_) {
    for (size_t i = 0; i < spans.size(); ++i) {
      const Span& span = spans[i];
      if (span.cause.first != MessageWaitKind::kCollective) continue;
      int64_t until_ns = span.begin_ns;
      for (size_t next = i + 1; next < spans.size() && spans[next].begin_ns < span.end_ns && left > 0; ++next, --left) {
        const Span& inner = spans[next];
        if (inner.cause.first == MessageWaitKind::kCollective || inner.end_ns >= span.end_ns) continue;
        AddTo(sums_[span.cause].late_before_ns,
              std::max<int64_t>(0, inner.end_ns - std::max(inner.begin_ns, until_ns)));
        until_ns = std::max(until_ns, inner.end_ns);
      }
    }
  }
}

void MessageWaits::AddSample(const model::CpuSample& sample) {
  // Several ranks wait for the same one: of spans that overlap one of the last that began is taken.
  constexpr int kMostOverlapping = 16;
  const auto found = spans_.find(sample.thread);
  if (found == spans_.end()) return;
  const std::vector<Span>& spans = found->second;
  auto at = std::ranges::upper_bound(spans, sample.t_ns, {}, &Span::begin_ns);
  for (int looked = 0; at != spans.begin() && looked < kMostOverlapping; ++looked) {
    --at;
    if (at->end_ns <= sample.t_ns) continue;
    AddTo(sums_[at->cause].busy_ns[places_.Of(sample.site)], sample.weight_ns);
    return;
  }
}

}  // namespace attune::analysis
