#include "analysis/report/comparison.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "analysis/documents/json_rows.h"
#include "analysis/findings/finding_json.h"
#include "analysis/places/code_place.h"
#include "analysis/places/place_json.h"
#include "analysis/profile/flame_graphs.h"
#include "analysis/report/decisions.h"
#include "analysis/report/summary.h"
#include "analysis/waits/thread_lives.h"
#include "model/series_values.h"

namespace attune::analysis {
namespace {

constexpr size_t kBlocks = 32;
constexpr size_t kLeastBlocks = 4;
constexpr double kConfidence = 0.95;
constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

using SignalKey = std::tuple<std::string, std::string, std::string>;  // sensor, signal, element

struct Signal {
  std::vector<const model::Series*> series;
  std::vector<double> blocks;  ///< means; blocks without values are left out
};
using Signals = std::map<SignalKey, Signal>;

Signals FindSignals(const model::Metadata& meta, bool discrete) {
  Signals signals;
  for (const model::Series& series : meta.series) {
    const model::Element* element = meta.FindElement(series.element);
    const bool named = discrete && element != nullptr && element->kind != model::ElementKind::kMachine;
    signals[{series.sensor, series.signal, named ? element->name : ""}].series.push_back(&series);
  }
  return signals;
}

double Mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Sum of squares around the mean, by n - 1.
double Variance(const std::vector<double>& values) {
  const double mean = Mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return sum / static_cast<double>(values.size() - 1);
}

/// Means of one series in each block; missing where it has no values.
std::vector<double> BlocksOf(const model::SeriesView& view, model::TimeRange range) {
  std::vector<double> sum(kBlocks), weight(kBlocks);
  const double length = static_cast<double>(range.t1_ns - range.t0_ns) / kBlocks;
  for (size_t i = 0; i < view.t_ns.size(); ++i) {
    if (std::isnan(view.mean[i])) continue;
    const double at = static_cast<double>(view.t_ns[i] - range.t0_ns) / length;
    const auto block = static_cast<size_t>(std::clamp(at, 0.0, double{kBlocks - 1}));
    sum[block] += view.mean[i] * static_cast<double>(view.count[i]);
    weight[block] += static_cast<double>(view.count[i]);
  }
  for (size_t block = 0; block < kBlocks; ++block)
    sum[block] = weight[block] > 0 ? sum[block] / weight[block] : kMissing;
  return sum;
}

bool IsRate(const Signal& signal) { return signal.series.front()->kind == model::SeriesKind::kCounter; }

/// Rates add up over elements; levels are averaged, which is also right for those that do not add up.
Status FillBlocks(model::Source& source, model::TimeRange range, Signal& signal) {
  model::ViewRequest request{.range = range, .pixels = 4 * kBlocks};
  for (const model::Series* series : signal.series) request.series.push_back(series->id);
  ATTUNE_TRY(const std::vector<model::SeriesView> views, source.View(request));
  const model::SumOfElements nothing(IsRate(signal) ? model::SumRule::kSum : model::SumRule::kMean);
  std::vector<model::SumOfElements> sums(kBlocks, nothing);
  for (const model::SeriesView& view : views) {
    const std::vector<double> blocks = BlocksOf(view, range);
    for (size_t block = 0; block < kBlocks; ++block) {
      if (!std::isnan(blocks[block])) sums[block].Add(blocks[block]);
    }
  }
  for (const model::SumOfElements& sum : sums) {
    if (sum.Value()) signal.blocks.push_back(*sum.Value());
  }
  return {};
}

SignalChange Describe(const SignalKey& key, const Signal& before, const Signal& after) {
  SignalChange change;
  std::tie(change.sensor, change.signal, change.element) = key;
  change.unit = before.series.front()->unit;
  change.is_rate = IsRate(before);
  change.before = Mean(before.blocks);
  change.after = Mean(after.blocks);
  change.elements = after.series.size();
  for (const model::Series* series : after.series) {
    if (series->max_per_second <= 0) return change.maximum = 0, change;
    change.maximum += series->LargestRate();
  }
  change.maximum /= static_cast<double>(change.elements);
  return change;
}

void Judge(SignalChange& change, const Signal& before, const Signal& after, double confidence, double threshold) {
  const DifferenceInterval interval = WelchInterval(before.blocks, after.blocks, confidence);
  change.difference_low = interval.low;
  change.difference_high = interval.high;
  change.changed = (interval.low > 0 || interval.high < 0) && std::abs(change.Relative()) >= threshold;
}

std::string NameOf(const SignalKey& key) {
  const auto& [sensor, signal, element] = key;
  return sensor + "." + signal + (element.empty() ? "" : " " + element);
}

void AddRunFigure(std::vector<RunFigure>& run, const char* name, const char* unit, double scale, int64_t before,
                  int64_t after) {
  if (before == model::kAbsent || after == model::kAbsent || (before == 0 && after == 0)) return;
  run.push_back({name, unit, static_cast<double>(before) * scale, static_cast<double>(after) * scale});
}

/// Lives of all threads together.
int64_t ThreadsNs(model::Source& source) { return TotalNs(FindThreadLives(*source.Meta(), source.Extent().t1_ns, {})); }

/// Totals of a run, over all its ranks; of processes that are none over these.
struct MessageTotals {
  int64_t mpi_ns = 0;
  int64_t waited_ns = 0;
  int64_t messages = 0;
  int64_t bytes = 0;
};

std::set<model::ElementId> RanksOf(const TaskGraph& graph) {
  std::set<model::ElementId> ranks;
  for (const TaskRank& rank : graph.ranks) {
    if (rank.rank != model::kAbsent) ranks.insert(rank.id);
  }
  return ranks;
}

/// @param ranks of a job of MPI, whose channels do not count; empty: there is none
MessageTotals TotalsOf(const TaskGraph& graph, const std::set<model::ElementId>& ranks) {
  MessageTotals totals;
  for (const TaskRank& rank : graph.ranks) {
    if (!ranks.contains(rank.id)) continue;
    totals.mpi_ns += rank.mpi_ns;
    totals.waited_ns += rank.WaitedNs();
  }
  for (const TaskPair& pair : graph.pairs) {
    if (!ranks.empty() && !(ranks.contains(pair.source) && ranks.contains(pair.destination))) continue;
    totals.messages += pair.Count();
    totals.bytes += pair.Bytes();
  }
  return totals;
}

Status FillRun(model::Source& before, model::Source& after, Comparison& comparison) {
  ATTUNE_TRY(const Summary a, Summarise(before));
  ATTUNE_TRY(const Summary b, Summarise(after));
  comparison.waits = CompareWaits(a, b);
  comparison.cpus_before = a.account.cpus;
  comparison.cpus_after = b.account.cpus;
  std::vector<RunFigure>& run = comparison.run;
  constexpr double kSeconds = 1e-9;
  if (a.program_ns > 0 && b.program_ns > 0) AddRunFigure(run, "wall_time", "s", kSeconds, a.program_ns, b.program_ns);
  AddRunFigure(run, "user_time", "s", kSeconds, a.totals.user_ns, b.totals.user_ns);
  AddRunFigure(run, "system_time", "s", kSeconds, a.totals.system_ns, b.totals.system_ns);
  if (!run.empty()) AddRunFigure(run, "threads_time", "s", kSeconds, ThreadsNs(before), ThreadsNs(after));
  if (!run.empty() && comparison.waits.waits_seen)
    AddRunFigure(run, "waited", "s", kSeconds, a.waits.wait_ns, b.waits.wait_ns);
  std::ranges::copy(CompareMessages(a.task_graph, b.task_graph), std::back_inserter(run));
  AddRunFigure(run, "largest_resident_set", "bytes", 1, a.totals.max_rss_bytes, b.totals.max_rss_bytes);
  AddRunFigure(run, "minor_faults", "1", 1, a.totals.minor_faults, b.totals.minor_faults);
  AddRunFigure(run, "major_faults", "1", 1, a.totals.major_faults, b.totals.major_faults);
  AddRunFigure(run, "voluntary_switches", "1", 1, a.totals.voluntary_switches, b.totals.voluntary_switches);
  AddRunFigure(run, "involuntary_switches", "1", 1, a.totals.involuntary_switches, b.totals.involuntary_switches);
  return {};
}

Error TooShort() {
  return {Errc::kUnavailable, "the recordings are too short to say what changed",
          "each needs at least some samples: a longer run, or a shorter interval (-i 10ms)"};
}

/// Signals that both have are paired; the others are named.
std::vector<SignalKey> Pair(const Signals& before, const Signals& after, Comparison& comparison) {
  std::vector<SignalKey> both;
  for (const auto& [key, signal] : before) {
    if (after.contains(key)) {
      both.push_back(key);
    } else {
      comparison.only_before.push_back(NameOf(key));
    }
  }
  for (const auto& [key, signal] : after) {
    if (!before.contains(key)) comparison.only_after.push_back(NameOf(key));
  }
  return both;
}

}  // namespace

double SignalChange::Relative() const {
  if (before == after) return 0;
  return before == 0 ? std::copysign(std::numeric_limits<double>::infinity(), after)
                     : (after - before) / std::abs(before);
}

std::vector<RunFigure> CompareMessages(const TaskGraph& before, const TaskGraph& after) {
  const auto ranks_before = RanksOf(before), ranks_after = RanksOf(after);
  // A job of MPI and a program without it have nothing in common.
  if (ranks_before.empty() != ranks_after.empty()) return {};
  const MessageTotals a = TotalsOf(before, ranks_before), b = TotalsOf(after, ranks_after);
  std::vector<RunFigure> run;
  if (!ranks_before.empty()) {
    AddRunFigure(run, "time_in_MPI", "s", 1e-9, a.mpi_ns, b.mpi_ns);
    AddRunFigure(run, "waited_in_MPI", "s", 1e-9, a.waited_ns, b.waited_ns);
  }
  if (a.messages > 0 && b.messages > 0) {
    AddRunFigure(run, "messages", "1", 1, a.messages, b.messages);
    AddRunFigure(run, "bytes_in_messages", "bytes", 1, a.bytes, b.bytes);
  }
  const TaskEfficiency of_a = before.Efficiency(), of_b = after.Efficiency();
  if (!ranks_before.empty() && of_a.ranks > 0 && of_b.ranks > 0)
    run.push_back({"parallel_efficiency", "%", 100 * of_a.Parallel(), 100 * of_b.Parallel()});
  return run;
}

Busier BusierRun(const CpuAccount& before, const CpuAccount& after) {
  constexpr double kClearly = 0.1;
  if (!before.is_divided || !after.is_divided || before.CapacityNs() <= 0 || after.CapacityNs() <= 0)
    return Busier::kNeither;
  const double more = after.others_ns / after.CapacityNs() - before.others_ns / before.CapacityNs();
  return more >= kClearly ? Busier::kAfter : more <= -kClearly ? Busier::kBefore : Busier::kNeither;
}

DifferenceInterval WelchInterval(const std::vector<double>& before, const std::vector<double>& after,
                                 double confidence) {
  const double difference = Mean(after) - Mean(before);
  const double a = Variance(before) / static_cast<double>(before.size());
  const double b = Variance(after) / static_cast<double>(after.size());
  if (a + b == 0) return {difference, difference};
  const double freedom =
      (a + b) * (a + b) /
      (a * a / static_cast<double>(before.size() - 1) + b * b / static_cast<double>(after.size() - 1));
  const double quantile = boost::math::quantile(
      boost::math::complement(boost::math::students_t(std::max(1.0, freedom)), (1 - confidence) / 2));
  const double half = quantile * std::sqrt(a + b);
  return {difference - half, difference + half};
}

Result<Comparison> Compare(model::Source& before, model::Source& after, const ComparisonOptions& options) {
  const auto before_meta = before.Meta();
  const auto after_meta = after.Meta();
  Signals before_signals = FindSignals(*before_meta, options.discrete);
  Signals after_signals = FindSignals(*after_meta, options.discrete);
  Comparison comparison;
  ATTUNE_CHECK_OK(FillRun(before, after, comparison));
  ATTUNE_TRY(comparison.tuned_before, KeptDecisions(before));
  ATTUNE_TRY(comparison.tuned_after, KeptDecisions(after));
  std::vector<SignalKey> both = Pair(before_signals, after_signals, comparison);
  if (both.empty()) {
    return Error{Errc::kUnavailable, "the two recordings have no signal in common",
                 "record both with the same sensors: attune report FILE shows what one holds"};
  }
  for (const SignalKey& key : both) {
    ATTUNE_CHECK_OK(FillBlocks(before, before.Extent(), before_signals[key]));
    ATTUNE_CHECK_OK(FillBlocks(after, after.Extent(), after_signals[key]));
  }
  std::erase_if(both, [&](const SignalKey& key) {
    return std::min(before_signals[key].blocks.size(), after_signals[key].blocks.size()) < kLeastBlocks;
  });
  if (both.empty() && !comparison.run.empty()) {
    comparison.too_short = true;
    return comparison;
  }
  if (both.empty()) return TooShort();
  const double confidence = 1 - (1 - kConfidence) / static_cast<double>(both.size());
  for (const SignalKey& key : both) {
    SignalChange& change = comparison.signals.emplace_back(Describe(key, before_signals[key], after_signals[key]));
    Judge(change, before_signals[key], after_signals[key], confidence, options.threshold);
    if (change.changed) ++comparison.changed;
  }
  std::stable_sort(comparison.signals.begin(), comparison.signals.end(),
                   [](const SignalChange& a, const SignalChange& b) {
                     return std::pair(a.changed, std::abs(a.Relative())) > std::pair(b.changed, std::abs(b.Relative()));
                   });
  return comparison;
}

bool Comparison::AnyChange() const {
  return changed > 0 || std::any_of(waits.findings.begin(), waits.findings.end(),
                                    [](const FindingChange& finding) { return finding.CameOrWent(); });
}

namespace {

Json FigureJson(const RunFigure& figure) {
  return {{"name", figure.name}, {"unit", figure.unit}, {"before", figure.before}, {"after", figure.after}};
}

Json FindingJson(const FindingChange& finding) {
  return {{"class", ToString(finding.kind)},
          {"site", PlaceJson(finding.site)},
          {"before", Seconds(finding.before_ns)},
          {"after", Seconds(finding.after_ns)}};
}

Json WaitJson(const WaitChange& wait) {
  return {{"kind", wait.kind},
          {"site", PlaceJson(wait.site)},
          {"before", Seconds(wait.before_ns)},
          {"after", Seconds(wait.after_ns)},
          {"before_waits", wait.before_waits},
          {"after_waits", wait.after_waits}};
}

/// Shares of the CPUs' time; null where they are not known.
Json CpusJson(const CpuAccount& cpus) {
  if (cpus.CapacityNs() <= 0) return nullptr;
  const auto divided = [&cpus](double ns) { return cpus.is_divided ? Json(ns / cpus.CapacityNs()) : Json(nullptr); };
  return {{"cpus", cpus.cpus},
          {"program", cpus.program_ns / cpus.CapacityNs()},
          {"others", divided(cpus.others_ns)},
          {"idle", divided(cpus.idle_ns)}};
}

Json BusierJson(const Comparison& comparison) {
  const Busier busier = BusierRun(comparison.cpus_before, comparison.cpus_after);
  return busier == Busier::kNeither ? Json(nullptr) : Json(busier == Busier::kAfter ? "after" : "before");
}

Json SignalJson(const SignalChange& change) {
  Json row{{"sensor", change.sensor},
           {"signal", change.signal},
           {"element", change.element},
           {"unit", change.unit},
           {"rate", change.is_rate},
           {"before", change.before},
           {"after", change.after},
           {"relative", change.Relative()},  // null where it is infinite
           {"difference_low", change.difference_low},
           {"difference_high", change.difference_high},
           {"changed", change.changed}};
  if (change.maximum > 0) {
    row["before_percent"] = 100 * change.before / change.maximum;
    row["after_percent"] = 100 * change.after / change.maximum;
    row["most_percent"] = 100 * change.elements;
  }
  return row;
}

/// Everything that `attune compare --json` prints.
Json DocumentOf(const Comparison& comparison) {
  return {{"changed", comparison.changed},
          {"too_short", comparison.too_short},
          {"run", JsonRows(comparison.run, FigureJson)},
          {"cpus", {{"before", CpusJson(comparison.cpus_before)}, {"after", CpusJson(comparison.cpus_after)}}},
          {"busier", BusierJson(comparison)},
          {"tuned_before", JsonRows(comparison.tuned_before, DecisionJson)},
          {"tuned_after", JsonRows(comparison.tuned_after, DecisionJson)},
          {"findings", JsonRows(comparison.waits.findings, FindingJson)},
          {"waits_seen", comparison.waits.waits_seen},
          {"waits", JsonRows(comparison.waits.waits, WaitJson)},
          {"signals", JsonRows(comparison.signals, SignalJson)},
          {"only_before", comparison.only_before},
          {"only_after", comparison.only_after}};
}

Result<Json> FlamesOf(model::Source& source) {
  const auto meta = source.Meta();
  return FlameGraphs(source, *meta, SiteNames(*meta, {}), {}, FlameTrees::kTogether);
}

}  // namespace

std::string ToJson(const Comparison& comparison) { return JsonText(DocumentOf(comparison), 2); }

Result<std::string> CompareToJson(model::Source& before, model::Source& after, bool discrete) {
  ATTUNE_TRY(const Comparison comparison, Compare(before, after, {.discrete = discrete}));
  Json document = DocumentOf(comparison);
  ATTUNE_TRY(Json flames_before, FlamesOf(before));
  ATTUNE_TRY(Json flames_after, FlamesOf(after));
  document["flames"] = {{"before", std::move(flames_before)}, {"after", std::move(flames_after)}};
  return JsonText(document);
}

}  // namespace attune::analysis
