#include "session/components/influence.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "model/info_keys.h"
#include "session/tuning/experiment.h"
#include "wire/ring.h"

namespace attune::session {
InfluenceCheck::Reading InfluenceCheck::Read(int64_t now_ns) const {
  const Result<uint64_t> calls = counter_();
  return {now_ns, calls.ok() ? *calls : 0};
}

Collector::Bypass InfluenceCheck::End(Level level, int64_t now_ns) {
  // A trace has no holes, and where nothing is recorded nothing is changed.
  if (!PassesAll() && wire::RingMutexesMayPass(static_cast<uint32_t>(level)) == 0) {
    phase_ = Phase::kPause;
    has_skipped_ = true;
    return Collector::Bypass::kNothing;
  }
  const Reading now = Read(now_ns);
  Turn& turn = last_.at(static_cast<size_t>(phase_));
  turn = {now.t_ns - begin_.t_ns, now.calls - std::min(now.calls, begin_.calls)};
  switch (phase_) {
    case Phase::kPause:
      if (has_begun_) phase_ = Phase::kBefore;
      has_looked_ = true;
      break;
    case Phase::kBefore: phase_ = 2 * turn.calls >= kLeastCalls ? Phase::kPassed : Phase::kPause; break;
    case Phase::kPassed:
      passed_ns_ += now.t_ns - begin_.t_ns;
      phase_ = Phase::kBehind;
      break;
    case Phase::kBehind:
      Compare();
      phase_ = Phase::kPause;
      break;
  }
  return phase_ == Phase::kPassed ? plan_.bypass : Collector::Bypass::kNothing;
}

int64_t InfluenceCheck::Begin(int64_t now_ns) {
  begin_ = Read(now_ns);
  if (!std::exchange(has_begun_, true)) return now_ns + 5 * plan_.turn_ns;
  return now_ns + (phase_ == Phase::kPause ? NextPauseNs() : plan_.turn_ns);
}

int64_t InfluenceCheck::NextPauseNs() {
  random_ = random_ * 1'664'525 + 1'013'904'223;
  const int64_t range_ns = plan_.most_pause_ns - plan_.least_pause_ns;
  return plan_.least_pause_ns + range_ns * random_ / (int64_t{1} << 32);
}

void InfluenceCheck::Compare() {
  const Turn& before = last_.at(static_cast<size_t>(Phase::kBefore));
  const Turn& passed = last_.at(static_cast<size_t>(Phase::kPassed));
  const Turn& behind = last_.at(static_cast<size_t>(Phase::kBehind));
  if (before.calls + passed.calls + behind.calls < kLeastCalls) return;
  if (before.ns <= 0 || passed.ns <= 0 || behind.ns <= 0) return;
  // A half more, so that a turn without a call has a ratio too.
  const auto rate = [](uint64_t calls, int64_t ns) {
    return (static_cast<double>(calls) + 0.5) / static_cast<double>(ns);
  };
  ratios_.push_back(rate(before.calls + behind.calls, before.ns + behind.ns) / rate(passed.calls, passed.ns));
  same_.push_back(rate(before.calls, before.ns) / rate(behind.calls, behind.ns));
}

InfluenceFigures InfluenceCheck::Figures() const {
  InfluenceFigures figures{.turns = static_cast<int64_t>(ratios_.size()), .passed_ns = passed_ns_};
  if (ratios_.empty()) return figures;
  const MedianInterval ratio = MedianWithInterval(ratios_);
  figures.ratio = ratio.median;
  figures.low95 = ratio.low;
  figures.high95 = ratio.high;
  figures.same_to_same = MedianWithInterval(same_).median;
  return figures;
}

namespace {

/// Why nothing is said of a ratio; empty: there was something to look at.
std::string WhyNotCompared(bool counts_mutexes, const InfluenceCheck* check) {
  if (check == nullptr) return "--check-influence was not given";
  if (check->PassesAll()) return "";
  if (!counts_mutexes) return "attune takes none of its mutexes in place (docs/waits.md)";
  return check->HasOnlySkipped() ? "that is done at levels profile and blame" : "";
}

}  // namespace

InfoRows InfluenceRows(const Result<uint64_t>& calls, const std::optional<uint64_t>& mutex_calls,
                       const InfluenceCheck* check) {
  namespace info = model::info;
  InfoRows rows;
  if (calls.ok()) {
    rows.emplace_back(info::kFutexCalls, std::to_string(*calls));
  } else {
    const Error& why = calls.error();
    rows.emplace_back(info::kFutexCallsUnknown, why.message + (why.hint.empty() ? "" : ": " + why.hint));
  }
  if (mutex_calls) rows.emplace_back(info::kMutexFutexCalls, std::to_string(*mutex_calls));
  const auto add = [&rows](std::string_view key, std::string value) {
    rows.emplace_back(fmt::format("{}{}", info::kInfluencePrefix, key), std::move(value));
  };
  if (std::string why = WhyNotCompared(mutex_calls.has_value(), check); !why.empty()) {
    add(info::kInfluenceNotCompared, std::move(why));
    return rows;
  }
  const InfluenceFigures figures = check->Figures();
  add(info::kInfluencePassed,
      std::string(check->PassesAll() ? info::kInfluencePassedAll : info::kInfluencePassedMutexes));
  add(info::kInfluenceTurns, std::to_string(figures.turns));
  add(info::kInfluencePassedNs, std::to_string(figures.passed_ns));
  if (figures.turns == 0) return rows;
  add(info::kInfluenceRatio, fmt::format("{:.4f}", figures.ratio));
  add(info::kInfluenceLow95, fmt::format("{:.4f}", figures.low95));
  add(info::kInfluenceHigh95, fmt::format("{:.4f}", figures.high95));
  add(info::kInfluenceSameToSame, fmt::format("{:.4f}", figures.same_to_same));
  return rows;
}

Collector::Turns* InfluenceComponent::TurnsFor(Collector& collector) {
  collector_ = &collector;
  if (!context_.options.check_influence) return nullptr;
  const model::ProcessWatcher& watcher = following_.watcher();
  if (const auto calls = watcher.FutexCalls(); calls.ok()) {
    check_ = std::make_unique<InfluenceCheck>(InfluenceCheck::kOfAll, [&watcher] { return watcher.FutexCalls(); });
  } else {
    context_.notes.push_back("--check-influence: calls of futex are not counted: " + calls.error().message);
    check_ = std::make_unique<InfluenceCheck>(
        InfluenceCheck::kOfMutexes, [&collector]() -> Result<uint64_t> { return collector.CountMutexFutexCalls(); });
  }
  return check_.get();
}

void InfluenceComponent::Totals(InfoRows& rows) {
  if (!context_.options.follows) return;
  const Collector::Counts counts = collector_->Totals();
  const auto calls = counts.takes_mutexes ? std::optional(counts.mutex_futex_calls) : std::nullopt;
  std::ranges::move(InfluenceRows(following_.watcher().FutexCalls(), calls, check_.get()), std::back_inserter(rows));
}

}  // namespace attune::session
