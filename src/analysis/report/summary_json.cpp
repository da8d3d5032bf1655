#include <nlohmann/json.hpp>

#include "analysis/findings/finding_json.h"
#include "analysis/messages/task_graph_json.h"
#include "analysis/report/summary.h"
#include "analysis/waits/critical_path_json.h"
#include "analysis/waits/wait_json.h"

namespace attune::analysis {
namespace {

using Json = nlohmann::ordered_json;

Json Known(int64_t value) { return value == model::kAbsent ? Json(nullptr) : Json(value); }

Json InfoJson(const Summary& summary) {
  Json info = Json::object();
  for (const auto& [key, value] : summary.info) info[key] = value;
  return info;
}

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
  std::apply([&](const auto&... column) { (add(column), ...); }, Row::Columns());
  return json;
}

Json ProcessesJson(const Summary& summary) {
  Json rows = Json::array();
  for (const ProcessSummary& row : summary.processes) {
    Json json = RowJson(row.process);
    json["depth"] = row.depth;
    json["threads"] = row.threads;
    rows.push_back(std::move(json));
  }
  return rows;
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

Json RegionsJson(const ProgramSummary& program) {
  Json rows = Json::array();
  for (const RegionSummary& region : program.regions) {
    rows.push_back({{"name", region.name},
                    {"processes", region.processes},
                    {"threads", region.threads},
                    {"count", region.count},
                    {"total_ns", region.total_ns},
                    {"self_ns", region.self_ns},
                    {"mean_ns", region.mean_ns},
                    {"p50_ns", region.p50_ns},
                    {"p99_ns", region.p99_ns},
                    {"max_ns", region.max_ns},
                    {"begins_without_end", region.begins_without_end},
                    {"ends_without_begin", region.ends_without_begin}});
  }
  return rows;
}

Json CpuProfileJson(const CpuProfile& profile) {
  Json functions = Json::array();
  for (const HotFunction& row : profile.functions) {
    functions.push_back(
        {{"site", PlaceJson(row.place)}, {"self_ns", row.self_ns}, {"total_ns", row.total_ns}, {"share", row.share}});
  }
  return {{"sampled_ns", profile.sampled_ns}, {"samples", profile.samples}, {"functions", std::move(functions)}};
}

Json ProgramJson(const ProgramSummary& program) {
  Json instants = Json::array();
  for (const InstantSummary& row : program.instants) instants.push_back({{"name", row.name}, {"count", row.count}});
  Json channels = Json::array();
  for (const ChannelSummary& row : program.channels) {
    channels.push_back({{"name", row.name},
                        {"sent", row.sent},
                        {"sent_bytes", row.sent_bytes},
                        {"received", row.received},
                        {"received_bytes", row.received_bytes}});
  }
  Json counters = Json::array();
  for (const CounterSummary& row : program.counters) {
    counters.push_back({{"name", row.name},
                        {"process", row.process},
                        {"updates", row.updates},
                        {"first", row.first},
                        {"last", row.last},
                        {"low", row.low},
                        {"high", row.high},
                        {"mean", row.mean}});
  }
  return {{"events", program.events},        {"events_not_counted", program.events_not_counted},
          {"regions", RegionsJson(program)}, {"instants", std::move(instants)},
          {"channels", std::move(channels)}, {"counters", std::move(counters)}};
}

Json SharesJson(const CpuShares& shares) {
  return {{"user", shares.user},
          {"system", shares.system},
          {"idle", shares.idle},
          {"iowait", shares.iowait},
          {"steal", shares.steal}};
}

Json MachineJson(const MachineSummary& machine) {
  Json cpus = Json::array();
  for (const CpuSummary& cpu : machine.cpus) {
    Json row = SharesJson(cpu.shares);
    row["cpu"] = cpu.cpu;
    row["idle_while_others_busy"] = cpu.idle_while_others_busy;
    cpus.push_back(std::move(row));
  }
  Json signals = Json::array();
  for (const MachineSignal& signal : machine.signals) {
    Json row = {{"name", signal.name}, {"unit", signal.unit}, {"kind", signal.is_rate ? "counter" : "gauge"}};
    if (signal.is_rate) {
      row["total"] = signal.total;
      row["per_second"] = {{"mean", signal.mean}, {"low", signal.low}, {"high", signal.high}};
      row["resets"] = signal.resets;
    } else {
      row["level"] = {{"mean", signal.mean}, {"low", signal.low}, {"high", signal.high}};
    }
    signals.push_back(std::move(row));
  }
  return {{"measured_s", machine.measured_s},
          {"all_cpus", machine.cpus.empty() ? Json(nullptr) : SharesJson(machine.all)},
          {"cpus", std::move(cpus)},
          {"signals", std::move(signals)}};
}

Json GapsJson(const Summary& summary) {
  Json rows = Json::array();
  for (const GapSummary& gap : summary.gaps) {
    rows.push_back({{"stream", gap.stream},
                    {"name", gap.name},
                    {"reason", model::ToString(gap.reason)},
                    {"gaps", gap.gaps},
                    {"rows", gap.rows},
                    {"expected_rows", gap.expected_rows == 0 ? Json(nullptr) : Json(gap.expected_rows)},
                    {"duration_ns", gap.duration_ns}});
  }
  return rows;
}

Json SinksJson(const Summary& summary) {
  Json rows = Json::array();
  for (const SinkSummary& sink : summary.sinks) {
    rows.push_back({{"name", sink.name},
                    {"written", sink.written},
                    {"dropped", sink.dropped},
                    {"restarts", sink.restarts},
                    {"problem", sink.problem}});
  }
  return rows;
}

Json AlarmsJson(const Summary& summary) {
  Json rows = Json::array();
  for (const AlarmSpan& span : summary.alarms) {
    const model::Alarm& raised = span.raised;
    const bool is_on = span.cleared_ns == model::kAbsent;
    rows.push_back({{"alarm", raised.alarm},
                    {"severity", model::ToString(raised.severity)},
                    {"element", raised.element},
                    {"raised_ns", raised.t_ns},
                    {"cleared_ns", is_on ? Json(nullptr) : Json(span.cleared_ns)},
                    {"unit", raised.unit},
                    {"text", raised.text},
                    {"advice", raised.advice}});
  }
  return rows;
}

Json EfficienciesJson(const std::vector<Efficiency>& efficiencies) {
  Json rows = Json::array();
  for (const Efficiency& row : efficiencies) {
    rows.push_back({{"id", row.process},
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
                    {"sampled", row.sampled}});
  }
  return rows;
}

Json InfluenceJson(const Influence& influence) {
  const bool is_counted = influence.futex_calls != model::kAbsent;
  Json row = {{"futex_calls", Known(influence.futex_calls)},
              {"mutex_futex_calls", Known(influence.mutex_futex_calls)},
              {"not_counted", influence.not_counted},
              {"waits", influence.waits},
              {"calls_per_wait", is_counted && influence.waits > 0 ? Json(influence.CallsPerWait()) : Json(nullptr)},
              {"not_compared", influence.not_compared},
              {"compared", nullptr}};
  if (!influence.comparison) return row;
  const Influence::Comparison& compared = *influence.comparison;
  const auto known = [&compared](double figure) { return compared.turns > 0 ? Json(figure) : Json(nullptr); };
  row["compared"] = {{"passed", compared.is_of_all ? "calls" : "mutexes"},
                     {"turns", compared.turns},
                     {"ratio", known(compared.ratio)},
                     {"low95", known(compared.low95)},
                     {"high95", known(compared.high95)},
                     {"same_to_same", known(compared.same_to_same)},
                     {"passed_ns", compared.passed_ns}};
  return row;
}

}  // namespace

std::string ToJson(const Summary& summary) {
  Json labels = Json::array();
  for (const model::Label& label : summary.labels) labels.push_back({{"t_ns", label.t_ns}, {"text", label.text}});
  Json observations = Json::array();
  for (const Observation& row : summary.observations)
    observations.push_back({{"id", row.id}, {"text", row.text}, {"figures", row.figures}});
  const Json report = {
      {"report_version", 0},
      {"info", InfoJson(summary)},
      {"start_ns", summary.extent.t0_ns},
      {"end_ns", summary.extent.t1_ns},
      {"duration_ns", summary.DurationNs()},
      {"start_real_ns", summary.start_real_ns},
      {"program_ns", summary.program_ns},
      {"growing", summary.growing},
      {"findings", ToJson(summary.findings)},
      {"efficiencies", EfficienciesJson(summary.efficiencies)},
      {"totals", TotalsJson(summary.totals)},
      {"processes", ProcessesJson(summary)},
      {"program", ProgramJson(summary.program)},
      {"waits", ToJson(summary.waits)},
      {"cpu_profile", CpuProfileJson(summary.cpu_profile)},
      {"critical_path", ToJson(summary.critical_path)},
      {"messages", summary.task_graph.ranks.empty() ? Json(nullptr) : TaskGraphJson(summary.task_graph)},
      {"influence", InfluenceJson(summary.influence)},
      {"machine", MachineJson(summary.machine)},
      {"labels", std::move(labels)},
      {"alarms", AlarmsJson(summary)},
      {"gaps", GapsJson(summary)},
      {"damage", summary.damage},
      {"unseen", summary.unseen},
      {"sinks", SinksJson(summary)},
      {"attune", summary.own_cost ? Json{{"cpu_ns", summary.own_cost->cpu_ns}, {"cores", summary.own_cost->cores}}
                                  : Json(nullptr)},
      {"observations", std::move(observations)}};
  // Names come from programs and may not be UTF-8.
  return report.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace attune::analysis
