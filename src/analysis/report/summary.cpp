#include "analysis/report/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <unordered_map>

#include "analysis/findings/judgement.h"
#include "analysis/report/decisions.h"
#include "analysis/report/regions.h"
#include "base/saturating.h"
#include "base/units.h"
#include "model/info_keys.h"

namespace attune::analysis {
namespace {

using model::kAbsent;

void AddKnown(int64_t& sum, int64_t value) {
  if (value < 0) return;  // as kAbsent is
  if (sum == kAbsent) sum = 0;
  AddTo(sum, value);
}

std::vector<ProcessSummary> OrderAsTree(const model::Metadata& meta) {
  std::unordered_map<model::ElementId, size_t> index_of;
  for (size_t i = 0; i < meta.processes.size(); ++i) index_of[meta.processes[i].id] = i;
  std::unordered_map<model::ElementId, int64_t> threads_of;
  for (const model::Element& element : meta.elements) {
    if (element.kind == model::ElementKind::kThread) ++threads_of[element.parent];
  }
  std::vector<std::vector<size_t>> children(meta.processes.size());
  std::vector<size_t> roots;
  for (size_t i = 0; i < meta.processes.size(); ++i) {
    const auto parent = index_of.find(meta.processes[i].parent);
    (parent == index_of.end() || parent->second == i ? roots : children[parent->second]).push_back(i);
  }
  const auto by_start = [&](size_t a, size_t b) {
    const model::Process& first = meta.processes[a];
    const model::Process& second = meta.processes[b];
    return first.start_ns != second.start_ns ? first.start_ns < second.start_ns : first.id < second.id;
  };
  std::sort(roots.begin(), roots.end(), by_start);
  for (auto& siblings : children) std::sort(siblings.begin(), siblings.end(), by_start);

  std::vector<ProcessSummary> ordered;
  std::vector<bool> placed(meta.processes.size());
  std::vector<std::pair<size_t, int>> pending;
  const auto place_from = [&](size_t root) {
    pending.emplace_back(root, 0);
    while (!pending.empty()) {
      const auto [i, depth] = pending.back();
      pending.pop_back();
      if (placed[i]) continue;
      placed[i] = true;
      ordered.push_back({meta.processes[i], depth, threads_of[meta.processes[i].id]});
      for (auto child = children[i].rbegin(); child != children[i].rend(); ++child)
        pending.emplace_back(*child, depth + 1);
    }
  };
  for (const size_t root : roots) place_from(root);
  // A damaged file may hold processes that are each other's parents: they are roots, too.
  for (size_t i = 0; i < placed.size(); ++i) {
    if (!placed[i]) place_from(i);
  }
  return ordered;
}

ProcessTotals SumProcesses(const std::vector<ProcessSummary>& processes) {
  ProcessTotals totals;
  totals.processes = static_cast<int64_t>(processes.size());
  for (const ProcessSummary& row : processes) {
    const model::Process& process = row.process;
    totals.threads += row.threads;
    const bool by_signal = process.exit_signal != kAbsent && process.exit_signal != 0;
    const bool by_code = process.exit_code != kAbsent && process.exit_code != 0;
    totals.failed += by_signal || by_code ? 1 : 0;
    AddKnown(totals.user_ns, process.user_ns);
    AddKnown(totals.system_ns, process.system_ns);
    AddKnown(totals.minor_faults, process.minor_faults);
    AddKnown(totals.major_faults, process.major_faults);
    AddKnown(totals.voluntary_switches, process.voluntary_switches);
    AddKnown(totals.involuntary_switches, process.involuntary_switches);
    totals.max_rss_bytes = std::max(totals.max_rss_bytes, process.max_rss_bytes);
  }
  return totals;
}

/// The kernel's totals from the launchers (model/info_keys.h) include processes that the watcher missed; the watcher's
/// include those that nobody waited for. Each total becomes the larger of the two.
void RaiseToWaited(const std::map<std::string, std::string>& info, ProcessTotals& totals) {
  const auto raise = [&](std::string_view key, int64_t& total) {
    const auto row = info.find(std::string(key));
    int64_t waited = kAbsent;
    if (row != info.end()) std::from_chars(row->second.data(), row->second.data() + row->second.size(), waited);
    total = std::max(total, waited);
  };
  raise(model::info::kTotalUserNs, totals.user_ns);
  raise(model::info::kTotalSystemNs, totals.system_ns);
  raise(model::info::kTotalMinorFaults, totals.minor_faults);
  raise(model::info::kTotalMajorFaults, totals.major_faults);
  raise(model::info::kTotalVoluntarySwitches, totals.voluntary_switches);
  raise(model::info::kTotalInvoluntarySwitches, totals.involuntary_switches);
  raise(model::info::kTotalMaxRssBytes, totals.max_rss_bytes);
}

/// "vmstat every 100 ms"; "cpu" where samples are irregular; "events" for a stream without series.
std::string StreamName(const model::Metadata& meta, const model::Stream* stream) {
  if (stream == nullptr || stream->series.empty()) return "events";
  const model::Series* series = meta.FindSeries(stream->series.front());
  const std::string sensor = series != nullptr ? series->sensor : "stream " + std::to_string(stream->id);
  return stream->interval_ns > 0 ? sensor + " every " + FormatDuration(stream->interval_ns) : sensor;
}

std::vector<GapSummary> GroupGaps(const model::Metadata& meta, int64_t duration_ns) {
  std::map<std::pair<model::StreamId, model::GapReason>, GapSummary> groups;
  for (const model::Gap& gap : meta.gaps) {
    GapSummary& group = groups[{gap.stream, gap.reason}];
    ++group.gaps;
    AddKnown(group.rows, gap.count);
    int64_t length = 0;
    if (!__builtin_sub_overflow(gap.t1_ns, gap.t0_ns, &length)) AddKnown(group.duration_ns, length);
  }
  std::vector<GapSummary> rows;
  for (auto& [key, group] : groups) {
    const auto stream = std::find_if(meta.streams.begin(), meta.streams.end(),
                                     [&](const model::Stream& candidate) { return candidate.id == key.first; });
    const model::Stream* found = stream == meta.streams.end() ? nullptr : &*stream;
    group.stream = key.first;
    group.reason = key.second;
    group.name = key.first == 0 ? "all" : StreamName(meta, found);
    if (found != nullptr && found->interval_ns > 0) group.expected_rows = duration_ns / found->interval_ns + 1;
    rows.push_back(std::move(group));
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.rows > b.rows; });
  return rows;
}

/// From the first start to the last end; what still runs, or whose end was not seen, lasts until `now_ns`.
model::TimeRange LifeOf(const std::vector<model::Process>& processes, int64_t now_ns) {
  model::TimeRange life{INT64_MAX, INT64_MIN};
  for (const model::Process& process : processes) {
    if (process.start_ns == kAbsent) continue;
    life.t0_ns = std::min(life.t0_ns, process.start_ns);
    const int64_t end = process.end_ns == kAbsent ? std::max(now_ns, process.start_ns) : process.end_ns;
    life.t1_ns = std::max(life.t1_ns, end);
  }
  return life;
}

/// 0 for what is backwards or longer than int64.
int64_t Length(model::TimeRange range) {
  int64_t length = 0;
  if (range.t1_ns <= range.t0_ns || __builtin_sub_overflow(range.t1_ns, range.t0_ns, &length)) return 0;
  return length;
}

/// The first sample comes a moment after the program's start, and the last one before its end. A process that was there
/// long before the recording does not make that longer.
model::TimeRange WithProcesses(model::TimeRange extent, model::TimeRange life) {
  constexpr int64_t kStartUpNs = 5'000'000'000;
  if (Length(extent) == 0) extent = life;
  int64_t earliest = 0;
  if (__builtin_sub_overflow(extent.t0_ns, kStartUpNs, &earliest)) earliest = INT64_MIN;
  if (life.t0_ns >= earliest) extent.t0_ns = std::min(extent.t0_ns, life.t0_ns);
  extent.t1_ns = std::max(extent.t1_ns, life.t1_ns);
  return Length(extent) == 0 ? model::TimeRange{} : extent;
}

/// While the session lived: it reads the clocks when it starts and each second.
Result<model::TimeRange> ClockExtent(model::Source& source) {
  model::TimeRange extent{INT64_MAX, INT64_MIN};
  ATTUNE_CHECK_OK(source.ReadTable(model::ClockReading::kTable, [&](const model::Batch& batch) {
    if (batch.rows == 0 || batch.ints.size() < 2) return true;
    const auto [first, last] = std::ranges::minmax(batch.ints[1]);
    extent = {std::min(extent.t0_ns, first), std::max(extent.t1_ns, last)};
    return true;
  }));
  return extent.t0_ns <= extent.t1_ns ? extent : model::TimeRange{};
}

int64_t CountOf(const std::string& text) {
  int64_t count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

/// attune's own signals are not what the machine did.
std::optional<OwnCost> TakeOwnCost(MachineSummary& machine) {
  const MachineSignal* signal = machine.Find("attune.session_cpu");
  if (signal == nullptr) return std::nullopt;
  const OwnCost cost{static_cast<int64_t>(signal->total), signal->mean * 1e-9};
  std::erase_if(machine.signals, [](const MachineSignal& row) { return row.name.starts_with("attune."); });
  return cost;
}

}  // namespace

int64_t ProcessTotals::CpuNs() const {
  int64_t sum = kAbsent;
  AddKnown(sum, user_ns);
  AddKnown(sum, system_ns);
  return sum;
}

double CpuTimeOf(const model::Metadata& meta) {
  ProcessTotals totals = SumProcesses(OrderAsTree(meta));
  RaiseToWaited(meta.info, totals);
  return totals.CpuNs() == kAbsent ? -1 : static_cast<double>(totals.CpuNs());
}

std::vector<SinkSummary> FindSinks(const std::map<std::string, std::string>& info) {
  std::map<std::string, SinkSummary> sinks;
  for (const auto& [key, value] : info) {
    if (!key.starts_with(model::info::kSinkPrefix)) continue;
    const size_t dot = key.rfind('.');
    if (dot < model::info::kSinkPrefix.size()) continue;
    const std::string name = key.substr(model::info::kSinkPrefix.size(), dot - model::info::kSinkPrefix.size());
    const std::string_view what = std::string_view(key).substr(dot + 1);
    SinkSummary& sink = sinks[name];
    sink.name = name;
    if (what == model::info::kSinkWritten) sink.written = CountOf(value);
    if (what == model::info::kSinkDropped) sink.dropped = CountOf(value);
    if (what == model::info::kSinkRestarts) sink.restarts = CountOf(value);
    if (what == model::info::kSinkProblem) sink.problem = value;
  }
  std::vector<SinkSummary> rows;
  for (auto& [name, sink] : sinks) rows.push_back(std::move(sink));
  return rows;
}

Result<Summary> Summarise(model::Source& source, std::span<const model::Site> names) {
  const std::shared_ptr<const model::Metadata> meta = source.Meta();
  Summary summary;
  summary.info = meta->info;
  const model::TimeRange sampled = source.Extent();
  const model::TimeRange life = LifeOf(meta->processes, sampled.t1_ns);
  summary.program_ns = Length(life);
  summary.extent = WithProcesses(sampled, life);
  if (Length(summary.extent) == 0) {
    ATTUNE_TRY(summary.extent, ClockExtent(source));
  }
  summary.start_real_ns = summary.extent.t0_ns + meta->real_minus_monotonic_ns;
  summary.growing = source.Growing();
  summary.damage = meta->damage;
  summary.sinks = FindSinks(meta->info);
  for (const auto& [key, value] : meta->info) {
    if (key.starts_with(model::info::kUnseenPrefix)) summary.unseen.push_back(value);
  }
  summary.labels = meta->labels;
  summary.alarms = PairAlarms(meta->alarms);
  ATTUNE_TRY(summary.decisions, LastDecisions(source));
  ATTUNE_TRY(summary.thread_counts, SumThreadCounts(source));
  summary.processes = OrderAsTree(*meta);
  summary.totals = SumProcesses(summary.processes);
  RaiseToWaited(summary.info, summary.totals);
  summary.gaps = GroupGaps(*meta, summary.DurationNs());

  EventCounter events(*meta);
  const std::unique_ptr<MachineOperator> machine = MakeMachineOperator();
  WorkSums work(kWholeRun);
  Operator* const also[] = {&events, machine.get(), &work};
  ATTUNE_TRY(Judgement judgement, JudgeProgram(source, names, also));
  const SiteNames site_names(*meta, names);
  summary.waits = SummariseWaits(*meta, judgement.waits, site_names);
  summary.influence = InfluenceOf(meta->info, judgement.waits);
  summary.program = events.Finish();
  AddMetrics(summary.program.regions);
  summary.work = work.Graph();
  summary.account = std::move(judgement.account);
  summary.findings = std::move(judgement.findings);
  summary.task_graph = std::move(judgement.task_graph);
  summary.critical_path = std::move(judgement.critical_path);
  summary.efficiencies = std::move(judgement.efficiencies);
  summary.cpu_profile = SummariseCpu(judgement.cpu_samples, site_names);
  ATTUNE_TRY(const auto event_samples, ReadEventSamples(source));
  if (!event_samples.empty()) summary.hot_lines = SumByLine(judgement.cpu_samples, event_samples, site_names);
  summary.verdict = FindVerdict(summary.account, FindHotSpot(judgement.cpu_samples, site_names), CpuTimeOf(*meta));
  summary.machine = machine->Finish();
  summary.own_cost = TakeOwnCost(summary.machine);
  summary.observations = FindObservations(summary);
  return summary;
}

}  // namespace attune::analysis
