#include "analysis/findings/finding_input.h"

#include <fmt/format.h>

#include <algorithm>

namespace attune::analysis {

using model::ElementId;

std::string ThreadText(const FindingThread& thread) {
  const std::string number = thread.tid == model::kAbsent ? "?" : std::to_string(thread.tid);
  return thread.name.empty() ? number : fmt::format("{} ({})", number, thread.name);
}

int64_t FindingInput::WallNs() const {
  if (waits.lives.empty()) return 0;
  const int64_t start_ns = std::ranges::min(waits.lives, {}, &ThreadLife::start_ns).start_ns;
  return std::max<int64_t>(0, std::ranges::max(waits.lives, {}, &ThreadLife::end_ns).end_ns - start_ns);
}

FindingThread FindingInput::Thread(ElementId id, int64_t lost_ns) const {
  FindingThread thread{.id = id, .lost_ns = lost_ns};
  const model::Element* element = meta.FindElement(id);
  if (element == nullptr) return thread;
  thread.tid = element->os_id;
  thread.name = element->name;
  const model::Element* process = meta.FindElement(element->parent);
  if (process != nullptr) thread.pid = process->os_id;
  return thread;
}

void FindingInput::SetThreads(std::vector<FindingThread> threads, Finding& finding) {
  std::erase_if(threads, [](const FindingThread& thread) { return thread.lost_ns <= 0; });
  std::stable_sort(threads.begin(), threads.end(), [](const auto& a, const auto& b) { return a.lost_ns > b.lost_ns; });
  finding.thread_count = static_cast<int64_t>(threads.size());
  if (threads.size() > Finding::kMaxThreads) threads.resize(Finding::kMaxThreads);
  finding.threads = std::move(threads);
}

std::map<ElementId, std::vector<ElementId>> FindingInput::ByProcess(const ObjectGroup& group) const {
  std::map<ElementId, std::vector<ElementId>> processes;
  for (const ElementId id : group.objects) {
    const model::Element* object = meta.FindElement(id);
    processes[object != nullptr ? object->parent : 0].push_back(id);
  }
  return processes;
}

Finding FindingInput::About(FindingClass kind, const ObjectGroup& group) const {
  const ObjectSums& object = group.sums;
  const ElementId id = group.objects.front();
  Finding finding{.kind = kind, .lost_ns = object.total.wait_ns, .object = id};
  finding.share = PartOf(finding.lost_ns, waits.thread_ns);
  finding.object_name = meta.NameOf(id);
  if (group.objects.size() > 1) finding.object_name += fmt::format(" and {} more", group.objects.size() - 1);
  finding.figures["objects"] = static_cast<double>(group.objects.size());
  finding.figures["processes"] = static_cast<double>(ByProcess(group).size());
  std::vector<FindingThread> threads;
  for (const auto& [thread, counts] : object.ByThread()) threads.push_back(Thread(thread, counts.wait_ns));
  SetThreads(std::move(threads), finding);
  finding.waiters = WaitingSites(object, names);
  return finding;
}

}  // namespace attune::analysis
