#include <string>
#include <tuple>
#include <type_traits>

#include "analysis/account/account_json.h"
#include "analysis/documents/json_rows.h"
#include "analysis/findings/finding_json.h"
#include "analysis/places/place_json.h"
#include "analysis/report/decisions.h"
#include "analysis/report/regions.h"
#include "analysis/report/summary.h"
#include "analysis/waits/wait_json.h"
#include "analysis/work/work_json.h"

namespace attune::analysis {
namespace {

/// All columns of a row by their names; null: not known.
template <class Row>
Json RowJson(const Row& row) {
  Json json;
  const auto add = [&](const auto& column) {
    const auto& value = row.*column.member;
    if constexpr (std::is_same_v<decltype(value), const int64_t&>)
      json[std::string(column.schema.name)] = Known(value);
    else
      json[std::string(column.schema.name)] = value;
  };
  Row::Columns([&](const auto&... column) { (add(column), ...); });
  return json;
}

Json ProcessJson(const ProcessSummary& row) {
  Json json = RowJson(row.process);
  json["depth"] = row.depth;
  json["threads"] = row.threads;
  return json;
}

Json TotalsJson(const ProcessTotals& totals) {
  return {{"processes", totals.processes},
          {"threads", totals.threads},
          {"failed", totals.failed},
          {"user_ns", Known(totals.user_ns)},
          {"system_ns", Known(totals.system_ns)},
          {"voluntary_switches", Known(totals.voluntary_switches)},
          {"involuntary_switches", Known(totals.involuntary_switches)},
          {"minor_faults", Known(totals.minor_faults)},
          {"major_faults", Known(totals.major_faults)},
          {"max_rss_bytes", Known(totals.max_rss_bytes)}};
}

Json FunctionJson(const HotFunction& row) {
  return {{"site", PlaceJson(row.place)}, {"self_ns", row.self_ns}, {"total_ns", row.total_ns}, {"share", row.share}};
}

Json CpuProfileJson(const CpuProfile& profile) {
  return {{"sampled_ns", profile.sampled_ns},
          {"samples", profile.samples},
          {"functions", JsonRows(profile.functions, FunctionJson)}};
}

Json InstantJson(const InstantSummary& row) { return {{"name", row.name}, {"count", row.count}}; }

Json ChannelJson(const ChannelSummary& row) {
  return {{"name", row.name},
          {"sent", row.sent},
          {"sent_bytes", row.sent_bytes},
          {"received", row.received},
          {"received_bytes", row.received_bytes}};
}

Json CounterJson(const CounterSummary& row) {
  return {{"name", row.name}, {"process", row.process}, {"updates", row.updates}, {"first", row.first},
          {"last", row.last}, {"low", row.low},         {"high", row.high},       {"mean", row.mean}};
}

Json ProgramJson(const ProgramSummary& program) {
  return {{"events", program.events},
          {"events_not_counted", program.events_not_counted},
          {"regions", JsonRows(program.regions, RegionJson)},
          {"instants", JsonRows(program.instants, InstantJson)},
          {"channels", JsonRows(program.channels, ChannelJson)},
          {"counters", JsonRows(program.counters, CounterJson)}};
}

Json SharesJson(const CpuShares& shares) {
  return {{"user", shares.user},
          {"system", shares.system},
          {"idle", shares.idle},
          {"iowait", shares.iowait},
          {"steal", shares.steal}};
}

Json CpuJson(const CpuSummary& cpu) {
  Json json = SharesJson(cpu.shares);
  json["cpu"] = cpu.cpu;
  json["idle_while_others_busy"] = cpu.idle_while_others_busy;
  return json;
}

Json SignalJson(const MachineSignal& signal) {
  Json json = {{"name", signal.name}, {"unit", signal.unit}, {"kind", signal.is_rate ? "counter" : "gauge"}};
  if (signal.is_rate) json["total"] = signal.total;
  json[signal.is_rate ? "per_second" : "level"] = {{"mean", signal.mean}, {"low", signal.low}, {"high", signal.high}};
  if (signal.is_rate) json["resets"] = signal.resets;
  return json;
}

Json MachineJson(const MachineSummary& machine) {
  return {{"measured_s", machine.measured_s},
          {"all_cpus", machine.cpus.empty() ? Json(nullptr) : SharesJson(machine.all)},
          {"cpus", JsonRows(machine.cpus, CpuJson)},
          {"signals", JsonRows(machine.signals, SignalJson)}};
}

Json GapJson(const GapSummary& gap) {
  return {{"stream", gap.stream},
          {"name", gap.name},
          {"reason", model::ToString(gap.reason)},
          {"gaps", gap.gaps},
          {"rows", gap.rows},
          {"expected_rows", gap.expected_rows == 0 ? Json(nullptr) : Json(gap.expected_rows)},
          {"duration_ns", gap.duration_ns}};
}

Json SinkJson(const SinkSummary& sink) {
  return {{"name", sink.name},
          {"written", sink.written},
          {"dropped", sink.dropped},
          {"restarts", sink.restarts},
          {"problem", sink.problem}};
}

Json AlarmJson(const AlarmSpan& span) {
  const model::Alarm& raised = span.raised;
  return {{"alarm", raised.alarm},
          {"severity", model::ToString(raised.severity)},
          {"element", raised.element},
          {"raised_ns", raised.t_ns},
          {"cleared_ns", Known(span.cleared_ns)},
          {"unit", raised.unit},
          {"text", raised.text},
          {"advice", raised.advice}};
}

Json EfficiencyJson(const Efficiency& row) {
  return {{"id", row.process},
          {"pid", Known(row.pid)},
          {"name", row.name},
          {"threads", row.threads},
          {"runtime_seconds", row.runtime_ns * 1e-9},
          {"useful_seconds", row.useful_ns * 1e-9},
          {"parallel", row.Parallel()},
          {"load_balance", row.load_balance},
          {"synchronisation", row.synchronisation},
          {"waiting", row.waiting},
          {"queueing", row.queueing},
          {"sampled", row.sampled}};
}

Json InfluenceJson(const Influence& influence) {
  const bool is_counted = influence.futex_calls != model::kAbsent;
  Json json = {{"futex_calls", Known(influence.futex_calls)},
               {"mutex_futex_calls", Known(influence.mutex_futex_calls)},
               {"not_counted", influence.not_counted},
               {"waits", influence.waits},
               {"calls_per_wait", is_counted && influence.waits > 0 ? Json(influence.CallsPerWait()) : Json(nullptr)},
               {"not_compared", influence.not_compared},
               {"compared", nullptr}};
  if (!influence.comparison) return json;
  const Influence::Comparison& compared = *influence.comparison;
  const auto known = [&compared](double figure) { return compared.turns > 0 ? Json(figure) : Json(nullptr); };
  json["compared"] = {{"passed", compared.is_of_all ? "calls" : "mutexes"},
                      {"turns", compared.turns},
                      {"ratio", known(compared.ratio)},
                      {"low95", known(compared.low95)},
                      {"high95", known(compared.high95)},
                      {"same_to_same", known(compared.same_to_same)},
                      {"passed_ns", compared.passed_ns}};
  return json;
}

Json ObservationJson(const Observation& row) { return {{"id", row.id}, {"text", row.text}, {"figures", row.figures}}; }

}  // namespace

std::string ToJson(const Summary& summary) {
  const auto label = [](const model::Label& row) -> Json { return {{"t_ns", row.t_ns}, {"text", row.text}}; };
  const Json report = {
      {"report_version", 0},
      {"info", summary.info},
      {"start_ns", summary.extent.t0_ns},
      {"end_ns", summary.extent.t1_ns},
      {"duration_ns", summary.DurationNs()},
      {"start_real_ns", summary.start_real_ns},
      {"program_ns", summary.program_ns},
      {"growing", summary.growing},
      {"verdict", ToJson(summary.verdict)},
      {"findings", ToJson(summary.findings)},
      {"account", ToJson(summary.account)},
      {"work", WorkJson(summary.work)},
      {"thread_counts", ThreadCountsJson(summary.thread_counts)},
      {"efficiencies", JsonRows(summary.efficiencies, EfficiencyJson)},
      {"totals", TotalsJson(summary.totals)},
      {"processes", JsonRows(summary.processes, ProcessJson)},
      {"program", ProgramJson(summary.program)},
      {"waits", ToJson(summary.waits)},
      {"cpu_profile", CpuProfileJson(summary.cpu_profile)},
      {"hot_lines", summary.hot_lines.columns.empty() ? Json(nullptr) : HotLinesJson(summary.hot_lines, kMaxHotLines)},
      {"critical_path", ToJson(summary.critical_path)},
      {"messages", summary.task_graph.ranks.empty() ? Json(nullptr) : JsonOf(DocumentOf(summary.task_graph))},
      {"influence", InfluenceJson(summary.influence)},
      {"machine", MachineJson(summary.machine)},
      {"labels", JsonRows(summary.labels, label)},
      {"alarms", JsonRows(summary.alarms, AlarmJson)},
      {"decisions", JsonRows(summary.decisions, DecisionJson)},
      {"gaps", JsonRows(summary.gaps, GapJson)},
      {"damage", summary.damage},
      {"unseen", summary.unseen},
      {"sinks", JsonRows(summary.sinks, SinkJson)},
      {"attune", summary.own_cost ? Json{{"cpu_ns", summary.own_cost->cpu_ns}, {"cores", summary.own_cost->cores}}
                                  : Json(nullptr)},
      {"observations", JsonRows(summary.observations, ObservationJson)}};
  return JsonText(report, 2);
}

}  // namespace attune::analysis
