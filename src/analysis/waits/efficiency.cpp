#include "analysis/waits/efficiency.h"

#include <algorithm>
#include <map>

namespace attune::analysis {
namespace {

using model::ElementId;

/// Part of the threads' lives that samples cover. Less of it says nothing.
constexpr double kLeastSampled = 0.5;

struct Sums {
  int64_t threads = 0;
  int64_t start_ns = INT64_MAX;
  int64_t end_ns = 0;
  double useful_ns = 0;
  double most_ns = 0;  ///< useful, of one thread
  double waited_ns = 0;
  double queue_ns = 0;
  double life_ns = 0;
  double sampled_ns = 0;
};

void Add(const ThreadLife& life, int64_t waited_ns, const ThreadTimes& times, Sums& sums) {
  ++sums.threads;
  sums.start_ns = std::min(sums.start_ns, life.start_ns);
  sums.end_ns = std::max(sums.end_ns, life.end_ns);
  const auto life_ns = static_cast<double>(life.LengthNs());
  sums.life_ns += life_ns;
  sums.waited_ns += static_cast<double>(std::clamp<int64_t>(waited_ns, 0, life.LengthNs()));
  const auto found = times.by_thread.find(life.thread);
  if (found == times.by_thread.end()) return;
  const double useful_ns = std::min(found->second.run_ns, life_ns);
  sums.useful_ns += useful_ns;
  sums.most_ns = std::max(sums.most_ns, useful_ns);
  sums.queue_ns += std::min(found->second.queue_ns, life_ns);
  sums.sampled_ns += found->second.sampled * life_ns;
}

}  // namespace

std::vector<Efficiency> Efficiencies(const model::Metadata& meta, const WaitTables& waits, const ThreadTimes& times) {
  std::map<ElementId, Sums> by_process;
  for (const ThreadLife& life : waits.lives) {
    if (life.thread == 0 || life.LengthNs() <= 0) continue;
    const auto found = waits.sums.waited_by_thread.find(life.thread);
    const int64_t waited_ns = found == waits.sums.waited_by_thread.end() ? 0 : found->second;
    if (PartOf(life.LengthNs() - waited_ns, life.LengthNs()) < kLeastActive) continue;
    Add(life, waited_ns, times, by_process[life.process]);
  }
  std::vector<Efficiency> rows;
  for (const auto& [process, sums] : by_process) {
    if (sums.threads < 2 || sums.most_ns <= 0 || sums.sampled_ns < kLeastSampled * sums.life_ns) continue;
    Efficiency& row = rows.emplace_back(Efficiency{.process = process, .threads = sums.threads});
    if (const model::Element* element = meta.FindElement(process); element != nullptr) {
      row.pid = element->os_id;
      row.name = element->name;
    }
    const auto threads = static_cast<double>(sums.threads);
    row.runtime_ns = static_cast<double>(sums.end_ns - sums.start_ns);
    row.useful_ns = sums.useful_ns;
    row.load_balance = sums.useful_ns / threads / sums.most_ns;
    row.synchronisation = sums.most_ns / row.runtime_ns;
    row.waiting = sums.waited_ns / (threads * row.runtime_ns);
    row.queueing = sums.queue_ns / (threads * row.runtime_ns);
    row.sampled = sums.sampled_ns / sums.life_ns;
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Efficiency& a, const Efficiency& b) {
    return a.runtime_ns * static_cast<double>(a.threads) > b.runtime_ns * static_cast<double>(b.threads);
  });
  return rows;
}

}  // namespace attune::analysis
