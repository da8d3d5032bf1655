#include "analysis/findings/process_sums.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

namespace attune::analysis {

using model::ElementId;

std::map<ElementId, ObjectGroup> MergeByProcess(const FindingInput& input,
                                                const std::map<ElementId, ObjectSums>& objects,
                                                bool (*wanted)(wire::SyncKind)) {
  std::map<ElementId, ObjectGroup> processes;
  std::map<ElementId, int64_t> most_ns;
  for (const auto& [id, object] : objects) {
    const model::Element* element = input.meta.FindElement(id);
    if (element == nullptr || !wanted(object.kind) || object.total.waits <= 0) continue;
    ObjectGroup& group = processes[element->parent];
    group.objects.push_back(id);
    if (object.total.wait_ns > most_ns[element->parent]) {
      most_ns[element->parent] = object.total.wait_ns;
      std::swap(group.objects.front(), group.objects.back());
    }
    group.sums.kind = object.kind;
    group.sums.total.Add(object.total);
    for (const auto& [place, threads] : object.places) {
      for (const auto& [thread, counts] : threads) group.sums.places[place][thread].Add(counts);
    }
  }
  return processes;
}

Activity ActivityOf(const FindingInput& input) {
  Activity activity;
  for (const ThreadAccount& thread : input.account.threads) {
    activity.Add(thread.thread, thread.running_ns, thread.queued_ns);
    activity.Add(thread.process, thread.running_ns, thread.queued_ns);
  }
  return activity;
}

int64_t LifeOf(const FindingInput& input, ElementId process) {
  int64_t start_ns = INT64_MAX;
  int64_t end_ns = 0;
  for (const ThreadLife& life : input.waits.lives) {
    if (life.process != process) continue;
    start_ns = std::min(start_ns, life.start_ns);
    end_ns = std::max(end_ns, life.end_ns);
  }
  return start_ns < end_ns ? end_ns - start_ns : 0;
}

Finding AboutBusiest(const FindingInput& input, FindingClass kind, const ObjectGroup& group) {
  Finding finding = input.About(kind, group);
  if (!finding.waiters.empty()) finding.site = finding.waiters.front();
  finding.figures["waits"] = static_cast<double>(group.sums.total.waits);
  return finding;
}

std::string TimesText(int64_t times) { return times == 1 ? "once" : fmt::format("{} times", times); }

std::string TimesText(int64_t times, int64_t ns) {
  if (times == 1) return fmt::format("once, for {}", FormatDuration(ns));
  return fmt::format("{} times, {} on average", times, FormatDuration(ns / std::max<int64_t>(1, times)));
}

}  // namespace attune::analysis
