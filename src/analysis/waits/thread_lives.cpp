#include "analysis/waits/thread_lives.h"

#include <algorithm>
#include <unordered_set>

#include "analysis/waits/sync_sums.h"

namespace attune::analysis {
namespace {

using model::ElementId;
using model::kAbsent;

constexpr int64_t kLatest = INT64_MAX / 4;

ThreadLife Life(ElementId thread, ElementId process, int64_t from_ns, int64_t to_ns, int64_t now_ns, int64_t waited) {
  if (to_ns == kAbsent) to_ns = now_ns;
  const int64_t end = std::clamp<int64_t>(to_ns, 0, kLatest);
  const int64_t start = from_ns == kAbsent ? end : std::clamp<int64_t>(from_ns, 0, end);
  return {thread, process, std::min(start, end - std::clamp<int64_t>(waited, 0, kLatest)), end};
}

}  // namespace

std::vector<ThreadLife> FindThreadLives(const model::Metadata& meta, int64_t now_ns,
                                        const std::unordered_map<ElementId, int64_t>& waited_by_thread) {
  std::unordered_map<ElementId, const model::Process*> process_of;
  for (const model::Process& process : meta.processes) process_of[process.id] = &process;
  std::vector<ThreadLife> lives;
  std::unordered_set<ElementId> has_main_thread;
  for (const model::Element& element : meta.elements) {
    if (element.kind != model::ElementKind::kThread) continue;
    const auto found = waited_by_thread.find(element.id);
    const int64_t waited = found == waited_by_thread.end() ? 0 : found->second;
    const auto process = process_of.find(element.parent);
    if (process != process_of.end() && process->second->pid == element.os_id) {
      has_main_thread.insert(element.parent);
      lives.push_back(
          Life(element.id, element.parent, process->second->start_ns, process->second->end_ns, now_ns, waited));
    } else {
      lives.push_back(Life(element.id, element.parent, element.start_ns, element.end_ns, now_ns, waited));
    }
  }
  for (const model::Process& process : meta.processes) {
    if (!has_main_thread.contains(process.id))
      lives.push_back(Life(0, process.id, process.start_ns, process.end_ns, now_ns, 0));
  }
  return lives;
}

int64_t TotalNs(const std::vector<ThreadLife>& lives) {
  int64_t sum = 0;
  for (const ThreadLife& life : lives) AddTo(sum, life.LengthNs());
  return sum;
}

}  // namespace attune::analysis
