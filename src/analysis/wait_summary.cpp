#include "analysis/wait_summary.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "analysis/blame.h"

namespace attune::analysis {
namespace {

using model::ElementId;
using model::ElementKind;
using model::kAbsent;
using wire::SyncKind;

void Add(int64_t& sum, int64_t value) {
  if (__builtin_add_overflow(sum, value, &sum)) sum = INT64_MAX;
}

std::string KindName(SyncKind kind) {
  const bool is_rwlock = kind == SyncKind::kReadLock || kind == SyncKind::kWriteLock;
  return is_rwlock ? "rwlock" : std::string(model::ToString(kind));
}

bool IsLock(SyncKind kind) {
  return kind == SyncKind::kMutex || kind == SyncKind::kReadLock || kind == SyncKind::kWriteLock ||
         kind == SyncKind::kSpinLock;
}

/// Sums of one object, before names are looked up.
struct Object {
  struct Place {
    WaitSite sums;
    std::set<ElementId> threads;
  };
  WaitObject sums;
  SyncKind kind = SyncKind::kNone;  ///< of what waited; wake-ups are the same object's
  int64_t calls = 0;                ///< that might have waited
  std::set<ElementId> threads;
  std::map<std::pair<ElementId, SyncKind>, Place> places;
};

void AddRow(const model::Sync& row, Object& object) {
  if (row.kind == SyncKind::kWake) return;
  object.kind = row.kind;
  object.threads.insert(row.thread);
  Add(object.sums.count, row.count);
  Add(object.sums.waits, row.contended);
  Add(object.sums.wait_ns, row.wait_ns);
  Add(object.sums.hold_ns, row.hold_ns);
  Add(object.sums.holds, row.holds);
  // A wait whose time was up is no acquisition.
  Add(object.calls, std::max(row.count, row.contended));
  Object::Place& place = object.places[{row.site, row.kind}];
  place.threads.insert(row.thread);
  place.sums.kind = row.kind;
  Add(place.sums.count, row.count);
  Add(place.sums.waits, row.contended);
  Add(place.sums.wait_ns, row.wait_ns);
}

/// Rows of `sites` by id, the innermost frame first.
using Frames = std::unordered_map<ElementId, std::vector<model::Site>>;

void NameSite(const model::Metadata& meta, const Frames& frames, ElementId id, WaitSite& site) {
  if (const model::Element* element = meta.FindElement(id); element != nullptr) site.name = element->name;
  const auto found = frames.find(id);
  const model::Site* frame = found == frames.end() ? nullptr : ShownFrame(found->second);
  if (frame == nullptr) return;
  site.function = frame->function;
  site.file = frame->file;
  site.line = frame->line;
  site.module = frame->module;
}

WaitObject Finish(const model::Metadata& meta, const Frames& frames, ElementId id, Object& object, int64_t thread_ns) {
  WaitObject result = object.sums;
  result.id = id;
  result.kind = KindName(object.kind);
  result.threads = static_cast<int64_t>(object.threads.size());
  if (const model::Element* element = meta.FindElement(id); element != nullptr) {
    result.name = element->name;
    const model::Element* process = meta.FindElement(element->parent);
    if (process != nullptr) result.pid = process->os_id;
  }
  const auto part = [](int64_t of, int64_t whole) {
    return whole <= 0 ? 0.0 : static_cast<double>(of) / static_cast<double>(whole);
  };
  result.share = part(result.wait_ns, thread_ns);
  result.contended = std::min(1.0, part(result.waits, object.calls));
  for (auto& [key, place] : object.places) {
    if (place.sums.waits == 0) continue;
    place.sums.threads = static_cast<int64_t>(place.threads.size());
    NameSite(meta, frames, key.first, place.sums);
    result.sites.push_back(std::move(place.sums));
  }
  std::stable_sort(result.sites.begin(), result.sites.end(),
                   [](const auto& a, const auto& b) { return a.wait_ns > b.wait_ns; });
  return result;
}

/// Of an object, by place.
std::vector<WaitSite> Holders(const model::Metadata& meta, const Frames& frames, const std::vector<Blame>& blames) {
  std::map<ElementId, Object::Place> places;
  for (const Blame& blame : blames) {
    Object::Place& place = places[blame.site];
    place.threads.insert(blame.thread);
    Add(place.sums.waits, blame.waits);
    Add(place.sums.wait_ns, blame.wait_ns);
  }
  std::vector<WaitSite> holders;
  for (auto& [site, place] : places) {
    place.sums.threads = static_cast<int64_t>(place.threads.size());
    NameSite(meta, frames, site, place.sums);
    holders.push_back(std::move(place.sums));
  }
  std::stable_sort(holders.begin(), holders.end(), [](const auto& a, const auto& b) { return a.wait_ns > b.wait_ns; });
  return holders;
}

/// Lives of all threads. Of a thread whose start or end was not seen it is at least the time that it waited; a process
/// of whose threads none was seen has one.
int64_t ThreadTime(const model::Metadata& meta, int64_t end_ns,
                   const std::unordered_map<ElementId, int64_t>& waited_by_thread) {
  std::unordered_map<ElementId, const model::Process*> process_of;
  for (const model::Process& process : meta.processes) process_of[process.id] = &process;
  int64_t sum = 0;
  const auto add_life = [&](int64_t from_ns, int64_t to_ns, int64_t at_least_ns) {
    int64_t life = 0;
    if (to_ns == kAbsent) to_ns = end_ns;
    if (from_ns == kAbsent || __builtin_sub_overflow(to_ns, from_ns, &life)) life = 0;
    Add(sum, std::max({life, at_least_ns, int64_t{0}}));
  };
  std::unordered_set<ElementId> has_main_thread;
  for (const model::Element& element : meta.elements) {
    if (element.kind != ElementKind::kThread) continue;
    const auto waited = waited_by_thread.find(element.id);
    const int64_t at_least = waited == waited_by_thread.end() ? 0 : waited->second;
    const auto process = process_of.find(element.parent);
    if (process != process_of.end() && process->second->pid == element.os_id) {
      has_main_thread.insert(element.parent);
      add_life(process->second->start_ns, process->second->end_ns, at_least);
    } else {
      add_life(element.start_ns, element.end_ns, at_least);
    }
  }
  for (const model::Process& process : meta.processes) {
    if (!has_main_thread.contains(process.id)) add_life(process.start_ns, process.end_ns, 0);
  }
  return sum;
}

bool IsSystemHeader(std::string_view file) {
  constexpr std::array<std::string_view, 4> kFolders = {"/usr/include/", "/usr/lib/gcc/", "/usr/lib/llvm",
                                                        "/usr/local/include/"};
  return std::any_of(kFolders.begin(), kFolders.end(), [&](auto folder) { return file.starts_with(folder); });
}

}  // namespace

int64_t WaitObject::EstimatedHoldNs() const {
  if (holds <= 0) return kAbsent;
  const double estimate = static_cast<double>(hold_ns) / static_cast<double>(holds) * static_cast<double>(count);
  return estimate >= 9e18 ? INT64_MAX : static_cast<int64_t>(estimate);
}

const model::Site* ShownFrame(std::span<const model::Site> frames) {
  for (const model::Site& frame : frames) {
    if (!frame.file.empty() && !IsSystemHeader(frame.file)) return &frame;
  }
  return frames.empty() ? nullptr : &frames.back();
}

Result<WaitSummary> SummariseWaits(model::Source& source, std::span<const model::Site> names) {
  std::map<ElementId, Object> objects;
  std::unordered_map<ElementId, int64_t> waited_by_thread;
  ATTUNE_CHECK_OK(source.ReadTable(model::Table::kSync, [&](const model::Batch& batch) {
    for (const model::Sync& row : model::SyncFrom(batch)) {
      AddRow(row, objects[row.object]);
      Add(waited_by_thread[row.thread], row.wait_ns);
    }
    return true;
  }));
  WaitSummary summary;
  if (objects.empty()) return summary;
  const auto meta = source.Meta();
  Frames frames;
  for (const model::Site& site : meta->sites) frames[site.id].push_back(site);
  std::unordered_set<ElementId> named_now;
  for (const model::Site& site : names) {
    if (named_now.insert(site.id).second) frames[site.id].clear();
    frames[site.id].push_back(site);
  }
  ATTUNE_TRY(const BlameByObject blames, BlameHolders(source));
  summary.thread_ns = ThreadTime(*meta, source.Extent().t1_ns, waited_by_thread);
  for (auto& [id, object] : objects) {
    Add(summary.wait_ns, object.sums.wait_ns);
    if (IsLock(object.kind)) Add(summary.acquisitions, object.sums.count);
    if (object.sums.waits == 0) continue;
    WaitObject finished = Finish(*meta, frames, id, object, summary.thread_ns);
    if (const auto found = blames.find(id); found != blames.end())
      finished.holders = Holders(*meta, frames, found->second);
    (IsLock(object.kind) ? summary.locks : summary.others).push_back(std::move(finished));
  }
  for (auto* list : {&summary.locks, &summary.others}) {
    std::stable_sort(list->begin(), list->end(), [](const auto& a, const auto& b) { return a.wait_ns > b.wait_ns; });
  }
  return summary;
}

}  // namespace attune::analysis
