#include "session/tuning/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <ctime>
#include <optional>

#include "base/clock.h"
#include "model/tables/event.h"
#include "model/tables/sync.h"
#include "wire/event.h"

namespace attune::session {
namespace {

using wire::SyncKind;

/// Fewer in a window say nothing: one more or less is a fifth.
constexpr double kLeastInWindow = 5;
/// Noise of a candidate beyond which nothing can be told.
constexpr double kMostNoise = 0.35;
/// Noise below which a better kind is preferred to a steadier one.
constexpr double kSteady = 0.05;

bool IsByThread(ProgressKind kind) { return kind == ProgressKind::kRegions; }

/// nullopt: it says nothing about work that is done.
std::optional<ProgressKind> KindOf(SyncKind kind) {
  switch (kind) {
    case SyncKind::kTeamBarrier: return ProgressKind::kRegions;
    case SyncKind::kMpi: return ProgressKind::kMpi;
    case SyncKind::kMutex:
    case SyncKind::kReadLock:
    case SyncKind::kWriteLock:
    case SyncKind::kSpinLock:
    case SyncKind::kCondition:
    case SyncKind::kBarrier:
    case SyncKind::kSemaphore:
    case SyncKind::kWake:
    case SyncKind::kCritical: return ProgressKind::kSync;
    default: return std::nullopt;
  }
}

/// The number behind a name in text of lines "name: number".
double NumberAfter(std::string_view text, std::string_view name) {
  const size_t at = text.find(name);
  if (at == std::string_view::npos) return 0;
  const std::string_view rest = text.substr(at + name.size());
  uint64_t number = 0;
  std::from_chars(rest.data() + std::min(rest.size(), rest.find_first_not_of(' ')), rest.data() + rest.size(), number);
  return static_cast<double>(number);
}

/// User and system time of a process, by its clock: to the nanosecond, where /proc/PID/stat has ticks of 10 ms.
double CpuMs(pid_t pid) {
  clockid_t clock = 0;
  if (clock_getcpuclockid(pid, &clock) != 0) return 0;
  timespec time{};
  if (clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

}  // namespace

double RateOf(const Candidate& candidate, const ProgressReading& begin, const ProgressReading& end) {
  const auto before = begin.counts.find(candidate), after = end.counts.find(candidate);
  if (after == end.counts.end() || end.t_ns <= begin.t_ns) return 0;
  const double from = before == begin.counts.end() ? 0 : before->second;
  return std::max(0.0, after->second - from) * 1e9 / static_cast<double>(end.t_ns - begin.t_ns);
}

ProgressWatch::ProgressWatch(HostRoot host, std::function<std::vector<pid_t>()> running,
                             std::optional<analysis::Formula> formula)
    : host_(std::move(host)), running_(std::move(running)) {
  if (formula) formula_.emplace(*std::move(formula));
}

void ProgressWatch::Consume(const model::BatchPtr& batch) {
  if (batch->table == model::Sync::kTable) TakeSync(*batch);
  if (batch->table == model::Event::kTable) TakeEvents(*batch);
  const MutexLock lock(mutex_);
  if (formula_) formula_->feed.Add(*batch);
}

void ProgressWatch::TakeSync(const model::Batch& batch) {
  const auto rows = model::RowsFrom<model::Sync>(batch);
  const MutexLock lock(mutex_);
  for (const model::Sync& row : rows) {
    const auto kind = KindOf(row.kind);
    if (!kind) continue;
    const int64_t object = *kind == ProgressKind::kMpi ? 0 : row.site;
    counts_[{*kind, object, IsByThread(*kind) ? row.thread : 0}] += static_cast<double>(row.count);
  }
}

void ProgressWatch::TakeEvents(const model::Batch& batch) {
  const auto rows = model::RowsFrom<model::Event>(batch);
  const MutexLock lock(mutex_);
  for (const model::Event& row : rows) {
    const auto kind = static_cast<wire::EventKind>(row.kind);
    if (kind == wire::EventKind::kInstant || kind == wire::EventKind::kRegionEnd)
      counts_[{ProgressKind::kMarker, row.object, 0}] += 1;
  }
}

ProgressReading ProgressWatch::Read() {
  for (const pid_t pid : running_()) {
    OfProcess& process = processes_[pid];
    if (const auto io = host_.ReadFile(fmt::format("/proc/{}/io", pid)); io.ok())
      process.bytes = std::max(process.bytes, NumberAfter(*io, "rchar:") + NumberAfter(*io, "wchar:"));
    process.cpu_ms = std::max(process.cpu_ms, CpuMs(pid));
  }
  ProgressReading reading{.t_ns = MonotonicNs(), .counts = {}};
  for (const auto& [pid, process] : processes_) {
    reading.counts[{ProgressKind::kBytes, 0}] += process.bytes;
    reading.counts[{ProgressKind::kCpu, 0}] += process.cpu_ms;
  }
  const MutexLock lock(mutex_);
  for (const auto& [of, count] : counts_) {
    const auto& [kind, object, thread] = of;
    double& sum = reading.counts[{kind, object}];
    sum = IsByThread(kind) ? std::max(sum, count) : sum + count;
  }
  if (formula_) AddFormula(reading);
  return reading;
}

int64_t ProgressWatch::LeastWindowNs() const {
  constexpr int64_t kLeastSamples = 4;
  const MutexLock lock(mutex_);
  return formula_ ? kLeastSamples * formula_->values.LongestIntervalNs() : 0;
}

/// Rates are of the time since the reading before: a value that is not known yet is as it was then.
void ProgressWatch::AddFormula(ProgressReading& reading) {
  FormulaWatch& watch = *formula_;
  const analysis::DerivedValue* of_all = watch.values.Find(watch.formula.series(), 0);
  if (const auto value = of_all == nullptr ? std::nullopt : of_all->At(reading.t_ns)) {
    watch.last_value = value;
    watch.values.Restart();
  }
  if (watch.last_value && watch.read_ns != 0)
    watch.integral += std::max(0.0, *watch.last_value) * static_cast<double>(reading.t_ns - watch.read_ns) * 1e-9;
  watch.read_ns = reading.t_ns;
  if (watch.last_value) reading.counts[{ProgressKind::kFormula, 0}] = watch.integral;
}

std::vector<Objective> RankObjectives(const std::vector<ProgressReading>& readings) {
  std::vector<Objective> objectives;
  if (readings.size() < 3) return objectives;
  for (const auto& [candidate, count] : readings.back().counts) {
    std::vector<double> rates, changes;
    for (size_t i = 1; i < readings.size(); ++i) {
      rates.push_back(RateOf(candidate, readings[i - 1], readings[i]));
      if (i > 1) changes.push_back(std::abs(std::log(std::max(rates[i - 1], 1e-9) / std::max(rates[i - 2], 1e-9))));
    }
    std::ranges::sort(rates);
    std::ranges::sort(changes);
    const double seconds = static_cast<double>(readings.back().t_ns - readings.front().t_ns) * 1e-9 /
                           static_cast<double>(readings.size() - 1);
    Objective objective{candidate, rates[rates.size() / 2], std::expm1(changes[changes.size() / 2])};
    const bool is_count = candidate.kind != ProgressKind::kFormula;
    if ((is_count && objective.rate * seconds < kLeastInWindow) || objective.noise > kMostNoise) continue;
    objectives.push_back(objective);
  }
  // Steady ones by kind, then by noise; then the others by noise.
  const auto rank = [](const Objective& objective) {
    const bool is_steady = objective.noise <= kSteady;
    const bool is_cpu = objective.candidate.kind == ProgressKind::kCpu;
    return std::tuple(is_cpu, !is_steady, is_steady ? objective.candidate.kind : ProgressKind::kMarker,
                      objective.noise);
  };
  std::ranges::sort(objectives, {}, rank);
  return objectives;
}

std::string_view ToString(ProgressKind kind) {
  constexpr std::array<std::string_view, 7> kWords{
      "marker",   "parallel regions", "calls of MPI", "bytes read and written", "locks and conditions",
      "CPU time", "formula"};
  return kWords.at(static_cast<size_t>(kind));
}

std::string_view UnitOf(ProgressKind kind) {
  constexpr std::array<std::string_view, 7> kWords{"events/s", "regions/s", "calls/s", "bytes/s",
                                                   "calls/s",  "ms/s",      ""};
  return kWords.at(static_cast<size_t>(kind));
}

}  // namespace attune::session
