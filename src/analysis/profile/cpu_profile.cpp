#include "analysis/profile/cpu_profile.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "analysis/waits/sync_sums.h"

namespace attune::analysis {
namespace {

using model::ElementId;

/// More than any program has; a damaged file may say anything.
constexpr int64_t kMaxStackId = 1 << 24;

/// Functions by what tells them apart, and each site's.
class Functions {
 public:
  explicit Functions(const SiteNames& names) : names_(names) {}

  size_t Of(ElementId site) {
    const auto [found, is_new] = by_site_.try_emplace(site, 0);
    if (!is_new) return found->second;
    CodePlace place = names_.PlaceOf(site);
    const auto key =
        place.function.empty() ? std::pair(std::string(), place.name) : std::pair(place.module, place.function);
    const auto [known, is_new_function] = by_name_.try_emplace(key, all.size());
    if (is_new_function) all.push_back({.place = std::move(place)});
    return found->second = known->second;
  }

  std::vector<HotFunction> all;

 private:
  const SiteNames& names_;
  std::unordered_map<ElementId, size_t> by_site_;
  std::map<std::pair<std::string, std::string>, size_t> by_name_;
};

/// @return whether the rows are of stacks
bool AddStacks(const model::Batch& batch, std::vector<model::Stack>& stacks) {
  if (batch.table != model::Stack::kTable) return false;
  for (const model::Stack& row : model::RowsFrom<model::Stack>(batch)) {
    if (row.id > kMaxStackId) continue;
    const auto at = static_cast<size_t>(row.id - 1);
    if (stacks.size() <= at) stacks.resize(at + 1);
    stacks[at] = row;
  }
  return true;
}

template <class Row>
void AddSample(const Row& row, int64_t weight, const std::optional<model::TimeRange>& range, SampleSums& samples) {
  ++samples.samples_in_all;
  if (range && (row.t_ns < range->t0_ns || row.t_ns >= range->t1_ns)) return;
  AddTo(samples.weights[{row.thread, row.stack}], weight);
  AddTo(samples.by_site[row.site], weight);
  const auto [times, is_new] = samples.times.try_emplace({row.thread, row.stack}, model::TimeRange{row.t_ns, row.t_ns});
  if (!is_new) times->second = {std::min(times->second.t0_ns, row.t_ns), std::max(times->second.t1_ns, row.t_ns)};
  AddTo(samples.total, weight);
  ++samples.samples;
}

}  // namespace

std::vector<ElementId> SampleSums::PathOf(int64_t stack) const {
  std::vector<ElementId> path;
  // A parent's id is smaller (StacksFrom), so that this ends.
  while (stack > 0 && stack <= static_cast<int64_t>(stacks.size())) {
    const model::Stack& row = stacks[static_cast<size_t>(stack - 1)];
    if (row.id == 0) break;
    path.push_back(row.site);
    stack = row.parent;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

void CpuSamplesOperator::AddRows(const model::Batch& batch) {
  if (AddStacks(batch, samples_.stacks)) return;
  for (const model::CpuSample& row : model::RowsFrom<model::CpuSample>(batch))
    AddSample(row, row.weight_ns, range_, samples_);
}

Result<SampleSums> ReadCpuSamples(model::Source& source, const std::optional<model::TimeRange>& range) {
  CpuSamplesOperator samples(range);
  Operator* const only[] = {&samples};
  ATTUNE_CHECK_OK(FeedRows(source, only));
  return std::move(samples.samples());
}

Result<std::map<std::string, SampleSums>> ReadEventSamples(model::Source& source,
                                                           const std::optional<model::TimeRange>& range) {
  std::map<std::string, SampleSums> events;
  ATTUNE_CHECK_OK(model::ReadRows(source, model::EventSample::kTable, [&](const model::Batch& batch) {
    for (const model::EventSample& row : model::RowsFrom<model::EventSample>(batch))
      AddSample(row, row.count, range, events[row.event]);
    return true;
  }));
  if (events.empty()) return events;
  std::vector<model::Stack> stacks;
  ATTUNE_CHECK_OK(model::ReadRows(source, model::Stack::kTable, [&](const model::Batch& batch) {
    AddStacks(batch, stacks);
    return true;
  }));
  for (auto& [event, samples] : events) samples.stacks = stacks;
  return events;
}

CpuProfile SummariseCpu(const SampleSums& samples, const SiteNames& names) {
  CpuProfile profile{.sampled_ns = samples.total, .samples = samples.samples};
  Functions functions(names);
  std::unordered_map<size_t, int64_t> most_ns;  // largest time of one place, by function
  for (const auto& [site, ns] : samples.by_site) {
    const size_t function = functions.Of(site);
    AddTo(functions.all[function].self_ns, ns);
    if (ns <= most_ns[function]) continue;
    most_ns[function] = ns;
    functions.all[function].place = names.PlaceOf(site);
  }
  std::unordered_map<int64_t, int64_t> by_stack;
  for (const auto& [key, ns] : samples.weights) AddTo(by_stack[key.second], ns);
  for (const auto& [stack, ns] : by_stack) {
    std::set<size_t> once;  // however often it called itself
    for (const ElementId site : samples.PathOf(stack)) once.insert(functions.Of(site));
    for (const size_t function : once) AddTo(functions.all[function].total_ns, ns);
  }
  profile.functions = std::move(functions.all);
  for (HotFunction& function : profile.functions) {
    function.total_ns = std::max(function.total_ns, function.self_ns);
    function.share = PartOf(function.self_ns, profile.sampled_ns);
  }
  std::erase_if(profile.functions, [](const HotFunction& function) { return function.self_ns == 0; });
  std::stable_sort(profile.functions.begin(), profile.functions.end(),
                   [](const auto& a, const auto& b) { return a.self_ns > b.self_ns; });
  if (profile.functions.size() > CpuProfile::kMaxFunctions) profile.functions.resize(CpuProfile::kMaxFunctions);
  return profile;
}

}  // namespace attune::analysis
