#include "analysis/report/thread_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/cpu_set.h"
#include "base/text.h"
#include "counter/event.h"
#include "model/info_keys.h"
#include "model/job_keys.h"
#include "model/rows.h"
#include "model/table_ranges.h"

namespace attune::analysis {
namespace {

/// Position of the event in the list; it is appended where it is not there yet.
size_t IndexOf(std::vector<std::string>& events, const std::string& event) {
  const auto found = std::ranges::find(events, event);
  if (found != events.end()) return static_cast<size_t>(found - events.begin());
  events.push_back(event);
  return events.size() - 1;
}

ThreadCountRow RowOf(const model::Metadata& meta, model::ElementId id) {
  ThreadCountRow row{.element = id};
  const model::Element* const element = meta.FindElement(id);
  if (element == nullptr || element->kind != model::ElementKind::kThread) return row;
  row.tid = element->os_id;
  row.name = element->name;
  row.start_ns = element->start_ns;
  row.end_ns = element->end_ns;
  const model::Element* const process = meta.FindElement(element->parent);
  if (process == nullptr) return row;
  row.process = process->id;
  row.pid = process->os_id;
  row.process_name = process->name;
  return row;
}

void AddCounts(std::vector<double>& sums, const std::vector<double>& counts) {
  sums.resize(counts.size());
  for (size_t i = 0; i < counts.size(); ++i) sums[i] += counts[i];
}

/// CPUs by kind of their cores, of each host that has several kinds.
using CoreTypes = std::map<std::string, std::vector<CpuSet>>;

CoreTypes CoreTypesOf(const model::Metadata& meta) {
  const auto info = [&](const std::string& prefix, std::string_view key) -> std::string {
    const auto found = meta.info.find(prefix + std::string(key));
    return found == meta.info.end() ? "" : found->second;
  };
  CoreTypes types;
  const auto add = [&](const std::string& prefix) {
    const std::string text = info(prefix, model::info::kCoreTypes);
    if (text.empty()) return;
    std::vector<CpuSet>& of_host = types[info(prefix, model::info::kHost)];
    for (const std::string_view cpus : Split(text, " ")) of_host.push_back(CpuSet::Parse(cpus).value_or(CpuSet()));
  };
  if (info("", model::info::kMergedHosts).empty()) add("");
  for (size_t i = 1; !info(fmt::format("{}{}.", model::info::kMergedPrefix, i), model::info::kMergedHost).empty(); ++i)
    add(fmt::format("{}{}.", model::info::kMergedPrefix, i));
  return types;
}

/// @return kAbsent: not known; 0 also where all cores of the host are of one kind
int64_t TypeOf(const CoreTypes& types, const CpuCountRow& row) {
  if (row.cpu == model::kAbsent) return model::kAbsent;
  const auto of_host = types.find(row.host);
  if (of_host == types.end()) return 0;
  const auto type = std::ranges::find_if(
      of_host->second, [&](const CpuSet& cpus) { return cpus.Contains(static_cast<CpuId>(row.cpu)); });
  return type == of_host->second.end() ? model::kAbsent : type - of_host->second.begin();
}

/// Sums by thread and CPU.
using Sums = std::map<std::pair<model::ElementId, int64_t>, std::vector<double>>;

void SumByThread(const model::Metadata& meta, const Sums& sums, ThreadCounts& counts) {
  for (const auto& [key, of_both] : sums) {
    const model::ElementId element = key.first;
    if (counts.threads.empty() || counts.threads.back().element != element)
      counts.threads.push_back(RowOf(meta, element));
    AddCounts(counts.threads.back().counts, of_both);
    AddCounts(counts.totals, of_both);
  }
  std::ranges::stable_sort(counts.threads, std::ranges::greater(), &ThreadCountRow::counts);
}

/// Rows of what is not known come last.
void SumByCpu(const model::Metadata& meta, const Sums& sums, ThreadCounts& counts) {
  const auto is_known = [](const auto& sum) { return sum.first.second != model::kAbsent; };
  if (std::ranges::none_of(sums, is_known)) return;
  const CoreTypes types = CoreTypesOf(meta);
  std::map<std::pair<std::string, uint64_t>, CpuCountRow> cpus;
  for (const auto& [key, of_both] : sums) {
    const model::Element* const element = meta.FindElement(key.first);
    const std::string host = element == nullptr ? "" : element->host;
    CpuCountRow& row = cpus[{host, static_cast<uint64_t>(key.second)}];
    row.host = host;
    row.cpu = key.second;
    AddCounts(row.counts, of_both);
  }
  std::map<uint64_t, CoreTypeCountRow> core_types;
  for (auto& [key, row] : cpus) {
    row.type = TypeOf(types, row);
    CoreTypeCountRow& of_type = core_types[static_cast<uint64_t>(row.type)];
    of_type.type = row.type;
    of_type.cpus += row.cpu == model::kAbsent ? 0 : 1;
    AddCounts(of_type.counts, row.counts);
    counts.cpus.push_back(std::move(row));
  }
  if (types.empty()) return;
  for (auto& [type, row] : core_types) counts.core_types.push_back(std::move(row));
}

}  // namespace

Result<ThreadCounts> SumThreadCounts(model::Source& source, const std::optional<model::TimeRange>& range) {
  ThreadCounts counts;
  Sums sums;
  const auto add = [&](const model::Batch& batch) {
    for (const model::ThreadCount& row : model::RowsFrom<model::ThreadCount>(batch)) {
      if (range && (row.t_ns < range->t0_ns || row.t_ns >= range->t1_ns)) continue;
      const size_t event = IndexOf(counts.events, row.event);
      counts.is_scaled.resize(counts.events.size());
      if (row.counted_ppm < 999'999) counts.is_scaled[event] = true;
      std::vector<double>& of_both = sums[{row.element, row.cpu < 0 ? model::kAbsent : row.cpu}];
      if (of_both.size() <= event) of_both.resize(event + 1);
      of_both[event] += static_cast<double>(row.count);
    }
    return true;
  };
  ATTUNE_CHECK_OK(range ? model::ReadTableWithin(source, model::ThreadCount::kTable, *range, add)
                        : model::ReadRows(source, model::ThreadCount::kTable, add));
  for (auto& [key, of_both] : sums) of_both.resize(counts.events.size());
  counts.totals.resize(counts.events.size());
  const std::shared_ptr<const model::Metadata> meta = source.Meta();
  SumByThread(*meta, sums, counts);
  SumByCpu(*meta, sums, counts);
  return counts;
}

Json CountedEventsJson(const ThreadCounts& counts) {
  Json events = Json::array();
  for (size_t i = 0; i < counts.events.size(); ++i)
    events.push_back({{"event", counts.events[i]},
                      {"unit", counter::UnitOf(counts.events[i])},
                      {"count", counts.totals[i]},
                      {"scaled", static_cast<bool>(counts.is_scaled[i])}});
  return events;
}

void AddCpuCounts(const ThreadCounts& counts, Json& json) {
  json["cpus"] = JsonRows(counts.cpus, [](const CpuCountRow& row) -> Json {
    return {{"host", row.host}, {"cpu", Known(row.cpu)}, {"core_type", Known(row.type)}, {"counts", row.counts}};
  });
  json["core_types"] = JsonRows(counts.core_types, [](const CoreTypeCountRow& row) -> Json {
    return {{"core_type", Known(row.type)}, {"cpus", row.cpus}, {"counts", row.counts}};
  });
}

Json ThreadCountsJson(const ThreadCounts& counts) {
  if (counts.events.empty()) return nullptr;
  const auto thread = [](const ThreadCountRow& row) -> Json {
    return {{"pid", Known(row.pid)}, {"tid", Known(row.tid)}, {"thread", row.name}, {"counts", row.counts}};
  };
  Json json{{"events", CountedEventsJson(counts)}, {"threads", JsonRows(counts.threads, thread)}};
  AddCpuCounts(counts, json);
  return json;
}

}  // namespace attune::analysis
