#include "analysis/work/work_graph.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

#include "base/text.h"
#include "model/program_series.h"

namespace attune::analysis {
namespace {

constexpr std::string_view kPrefix = "work/";
// A program may tell anything.
constexpr int64_t kMostThreads = 1 << 16;
constexpr int64_t kMostAge = 1'000'000'000;

/// "work/KERNEL/WHAT" or "work/KERNEL/WHAT/FIELD"; without a kernel: of all together.
struct Name {
  std::string kernel, what, other;
};
Name NameOf(std::string_view counter) {
  const std::vector<std::string_view> parts = Split(counter.substr(kPrefix.size()), "/");
  const auto part = [&](size_t i) { return i < parts.size() ? std::string(parts[i]) : std::string(); };
  return {part(0), part(1), part(2)};
}

void Grow(WorkKernel& kernel, const Name& name, int64_t grown, int64_t last) {
  if (name.what == "instances") kernel.instances += grown;
  if (name.what == "ranges") kernel.ranges += grown;
  if (name.what == "ages") kernel.ages += grown;
  if (name.what == "longest_ns") kernel.longest_ns += static_cast<double>(grown);
  if (name.what == "at_once") kernel.at_once = last;
  if (name.what == "ordered") kernel.is_ordered = kernel.is_ordered || last != 0;
  if (name.what == "dispatch_ns") kernel.dispatch_ns += static_cast<double>(grown);
  if (name.what == "body_ns") kernel.body_ns += static_cast<double>(grown);
  if (name.what == "grain") kernel.grain = std::max(kernel.grain, last);
  if (name.what == "behind" && last != 0) kernel.runs_behind = name.other;
}

struct Values {
  int64_t grown = 0;
  int64_t last = 0;
};

/// Adds to a field that a kernel uses: "fetch/FIELD" has bytes, "fetch_age/FIELD" and "streams/FIELD" say how it is
/// used.
void Grow(WorkData& data, std::string_view what, const Values& values) {
  if (what == "streams") {
    data.is_streamed = values.last != 0;
  } else if (what == "fetch" || what == "store") {
    data.bytes += static_cast<double>(values.grown);
  } else {
    data.has_age = true;
    data.age = std::clamp(values.last, -kMostAge, kMostAge);
    data.is_fixed = what.ends_with("_fixed");
  }
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
  WorkGraph graph;
  std::map<std::string, WorkKernel> kernels;
  std::map<std::tuple<std::string, std::string, bool>, WorkData> data;
  for (const auto& [id, counter] : counters_) {
    const Name name = NameOf(counter.name);
    const Values values{std::max<int64_t>(0, counter.last - counter.before), counter.last};
    if (name.kernel.empty()) {
      if (name.what == "threads") graph.threads = std::clamp(values.last, graph.threads, kMostThreads);
      if (name.what == "wall_ns") graph.wall_ns += static_cast<double>(values.grown);
      continue;
    }
    if (name.what.empty()) continue;
    WorkKernel& kernel = kernels[name.kernel];
    kernel.name = name.kernel;
    Grow(kernel, name, values.grown, values.last);
    const bool is_store = name.what.starts_with("store");
    if (!is_store && !name.what.starts_with("fetch") && name.what != "streams") continue;
    WorkData& row = data[{name.kernel, name.other, is_store}];
    row.kernel = name.kernel;
    row.field = name.other;
    row.is_store = is_store;
    Grow(row, name.what, values);
  }
  for (auto& [name, kernel] : kernels) graph.kernels.push_back(std::move(kernel));
  for (auto& [name, row] : data) graph.data.push_back(std::move(row));
  std::ranges::stable_sort(graph.kernels, std::greater(), &WorkKernel::all_ns);
  return graph;
}

}  // namespace attune::analysis
