#include "analysis/work/work_graph.h"

#include <algorithm>
#include <functional>

#include "base/text.h"
#include "model/program_series.h"

namespace attune::analysis {
namespace {

constexpr std::string_view kPrefix = "work/";

/// "work/KERNEL/WHAT" or "work/KERNEL/WHAT/FIELD".
struct Name {
  std::string kernel, what, other;
};
Name NameOf(std::string_view counter) {
  const std::vector<std::string_view> parts = Split(counter.substr(kPrefix.size()), "/");
  const auto part = [&](size_t i) { return i < parts.size() ? std::string(parts[i]) : std::string(); };
  return {part(0), part(1), part(2)};
}

void AddTo(WorkKernel& kernel, const Name& name, int64_t grown, int64_t last) {
  if (name.what == "instances") kernel.instances += grown;
  if (name.what == "ages") kernel.ages += grown;
  if (name.what == "dispatch_ns") kernel.dispatch_ns += static_cast<double>(grown);
  if (name.what == "body_ns") kernel.body_ns += static_cast<double>(grown);
  if (name.what == "grain") kernel.grain = std::max(kernel.grain, last);
  if (name.what == "behind" && last != 0) kernel.runs_behind = name.other;
}

}  // namespace

bool IsWork(std::string_view counter) { return counter.starts_with(kPrefix); }

std::vector<uint32_t> WorkSums::Columns(const model::Metadata& meta, const model::Stream& stream) {
  std::vector<uint32_t> wanted;
  std::vector<Counter*>& counters = counters_of_[stream.id];
  counters.clear();
  for (uint32_t column = 0; column < stream.series.size(); ++column) {
    const model::Series* series = meta.FindSeries(stream.series[column]);
    if (series == nullptr || series->sensor != model::kProgramSensor || !IsWork(series->signal)) continue;
    Counter& counter = counters_[series->id];
    counter.name = series->signal;
    counters.push_back(&counter);
    wanted.push_back(column);
  }
  return wanted;
}

void WorkSums::AddSamples(const model::Stream& stream, const model::SampleBlock& block) {
  const std::vector<Counter*>& counters = counters_of_[stream.id];
  for (size_t column = 0; column < counters.size(); ++column) {
    for (size_t row = 0; row < block.t_ns.size(); ++row) {
      const int64_t value = block.columns[column][row];
      if (value == model::kAbsent || block.t_ns[row] > range_.t1_ns) continue;
      counters[column]->last = value;
      if (block.t_ns[row] <= range_.t0_ns) counters[column]->before = value;
    }
  }
}

WorkGraph WorkSums::Graph() const {
  std::map<std::string, WorkKernel> kernels;
  std::map<std::string, WorkData> data;
  for (const auto& [id, counter] : counters_) {
    const Name name = NameOf(counter.name);
    if (name.kernel.empty() || name.what.empty()) continue;
    const int64_t grown = std::max<int64_t>(0, counter.last - counter.before);
    WorkKernel& kernel = kernels[name.kernel];
    kernel.name = name.kernel;
    AddTo(kernel, name, grown, counter.last);
    if (name.what != "fetch" && name.what != "store") continue;
    WorkData& row = data[counter.name];
    row = {name.kernel, name.other, name.what == "store", row.bytes + static_cast<double>(grown)};
  }
  WorkGraph graph;
  for (auto& [name, kernel] : kernels) graph.kernels.push_back(std::move(kernel));
  for (auto& [name, row] : data) graph.data.push_back(std::move(row));
  std::ranges::stable_sort(graph.kernels, std::greater(), &WorkKernel::all_ns);
  return graph;
}

Json WorkGraphJson(const WorkGraph& graph) {
  const auto kernel = [](const WorkKernel& row) -> Json {
    return {{"kernel", row.name},
            {"instances", row.instances},
            {"ages", row.ages},
            {"grain", row.grain},
            {"body_ns", row.body_ns},
            {"dispatch_ns", row.dispatch_ns},
            {"runs_behind", row.runs_behind}};
  };
  const auto data = [](const WorkData& row) -> Json {
    return {{"kernel", row.kernel}, {"field", row.field}, {"stores", row.is_store}, {"bytes", row.bytes}};
  };
  return {{"kernels", JsonRows(graph.kernels, kernel)}, {"data", JsonRows(graph.data, data)}};
}

}  // namespace attune::analysis
