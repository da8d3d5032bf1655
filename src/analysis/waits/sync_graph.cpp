#include "analysis/waits/sync_graph.h"

#include <algorithm>
#include <set>

#include "analysis/places/code_place.h"
#include "analysis/waits/wait_summary.h"
#include "wire/event.h"

namespace attune::analysis {
namespace {

using model::ElementId;
using model::ElementKind;
using model::kAbsent;
using wire::EventKind;
using wire::SyncKind;

void Include(SyncFigures& sum, const SyncFigures& part) {
  AddTo(sum.occurrences, part.occurrences);
  AddTo(sum.waits, part.waits);
  AddTo(sum.wait_ns, part.wait_ns);
  AddTo(sum.hold_ns, part.hold_ns);
  AddTo(sum.holds, part.holds);
  if (part.min_ns != kAbsent) sum.min_ns = sum.min_ns == kAbsent ? part.min_ns : std::min(sum.min_ns, part.min_ns);
  if (part.max_ns != kAbsent) sum.max_ns = std::max(sum.max_ns, part.max_ns);
}

template <class Row>
void SortByWaiting(std::vector<Row>& rows, const SyncFigures Row::* figures) {
  std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    return std::pair((a.*figures).wait_ns, (a.*figures).occurrences) >
           std::pair((b.*figures).wait_ns, (b.*figures).occurrences);
  });
}

/// Rank of a process: its element hangs below that of the rank.
int64_t RankOf(const model::Metadata& meta, const model::Element& process) {
  const model::Element* parent = meta.FindElement(process.parent);
  return parent != nullptr && parent->kind == ElementKind::kRank ? parent->os_id : kAbsent;
}

SyncThread MakeThread(const model::Metadata& meta, ElementId id) {
  SyncThread thread{.id = id, .name = {}, .all = {}};
  const model::Element* element = meta.FindElement(id);
  if (element == nullptr) return thread;
  thread.name = element->name;
  thread.tid = element->os_id;
  const model::Element* process = meta.FindElement(element->parent);
  if (process == nullptr) return thread;
  thread.pid = process->os_id;
  thread.rank = RankOf(meta, *process);
  if (thread.name.empty()) {  // a process's name is its whole command
    const std::string program = process->name.substr(0, process->name.find(' '));
    thread.name = program.substr(program.rfind('/') + 1);
  }
  return thread;
}

SyncObject MakeObject(const model::Metadata& meta, ElementId id) {
  SyncObject object{.id = id, .name = {}, .kind = {}, .all = {}};
  const model::Element* element = meta.FindElement(id);
  if (element == nullptr) return object;
  object.name = element->name;
  if (const model::Element* process = meta.FindElement(element->parent); process != nullptr)
    object.pid = process->os_id;
  return object;
}

void NameLink(const SiteNames& names, ElementId site, SyncLink& link) {
  const CodePlace place = names.PlaceOf(site);
  link.site_id = site;
  link.site = place.name;
  link.function = place.function;
  link.file = place.file;
  link.line = place.line;
}

}  // namespace

SyncGraphBuilder::Link& SyncGraphBuilder::LinkOf(const Key& key) {
  const auto found = links_.find(key);
  if (found != links_.end()) return found->second;
  return links_.size() < kMaxLinks ? links_[key] : links_[{std::get<0>(key), 0, 0, std::get<3>(key)}];
}

void SyncGraphBuilder::Add(const model::Sync& row) {
  SyncFigures& figures = LinkOf({row.thread, row.object, row.site, row.kind}).figures;
  // A wait whose time was up is no acquisition, but it did occur.
  AddTo(figures.occurrences, std::max(row.count, row.contended));
  AddTo(figures.waits, row.contended);
  AddTo(figures.wait_ns, row.wait_ns);
  AddTo(figures.hold_ns, row.hold_ns);
  AddTo(figures.holds, row.holds);
}

void SyncGraphBuilder::Add(const model::Event& event) {
  blame_.Add(event);
  if (!wire::IsWait(static_cast<int64_t>(event.kind))) return;
  const int64_t end_ns = event.t_ns;
  const int64_t wait_ns = std::max<int64_t>(0, event.a);
  Link& link = LinkOf({event.thread, event.object, event.site, static_cast<SyncKind>(event.b)});
  if (event.kind == EventKind::kShortWaits) {
    link.last_end_ns = end_ns;  // how long each of them was, and what lay between, is not known
    return;
  }
  SyncFigures& figures = link.figures;
  figures.min_ns = figures.min_ns == kAbsent ? wait_ns : std::min(figures.min_ns, wait_ns);
  figures.max_ns = std::max(figures.max_ns, wait_ns);
  int64_t between_ns = 0;
  if (link.last_end_ns != kAbsent &&
      !__builtin_sub_overflow(end_ns - std::min(end_ns, wait_ns), link.last_end_ns, &between_ns)) {
    AddTo(link.between_sum_ns, std::max<int64_t>(0, between_ns));
    ++link.betweens;
  }
  link.last_end_ns = end_ns;
}

SyncGraph SyncGraphBuilder::Build(const model::Metadata& meta, model::TimeRange range,
                                  std::span<const model::Site> names) const {
  SyncGraph graph{.range = range, .tsc_hz = tsc_.Hz(), .threads = {}, .objects = {}, .links = {}, .hand_overs = {}};
  const SiteNames site_names(meta, names);
  std::map<ElementId, SyncThread> threads;
  std::map<ElementId, SyncObject> objects;
  std::map<ElementId, std::set<ElementId>> threads_of;
  for (const auto& [key, link] : links_) {
    const auto& [thread_id, object_id, site, kind] = key;
    SyncLink& made = graph.links.emplace_back();
    made.thread = thread_id;
    made.object = object_id;
    made.kind = kind;
    made.figures = link.figures;
    if (link.betweens > 0) made.figures.between_ns = link.between_sum_ns / link.betweens;
    NameLink(site_names, site, made);
    SyncThread& thread = threads.try_emplace(thread_id, MakeThread(meta, thread_id)).first->second;
    SyncObject& object = objects.try_emplace(object_id, MakeObject(meta, object_id)).first->second;
    Include(thread.all, link.figures);
    Include(object.all, link.figures);
    // Whoever only wakes others up says "wake" of a condition or a semaphore.
    if (kind != SyncKind::kWake || object.kind.empty()) object.kind = KindName(kind);
    threads_of[object_id].insert(thread_id);
  }
  for (auto& [id, thread] : threads) graph.threads.push_back(std::move(thread));
  for (auto& [id, object] : objects) {
    object.threads = static_cast<int64_t>(threads_of[id].size());
    graph.objects.push_back(std::move(object));
  }
  std::map<std::tuple<ElementId, ElementId, ElementId>, SyncHandOver> hand_overs;
  for (const auto& [object, blames] : blame_.Blames()) {
    for (const Blame& blame : blames) {
      SyncHandOver& sum = hand_overs[{blame.thread, blame.waiter, object}];
      sum.holder = blame.thread;
      sum.waiter = blame.waiter;
      sum.object = object;
      AddTo(sum.waits, blame.waits);
      AddTo(sum.wait_ns, blame.wait_ns);
    }
  }
  for (const auto& [key, hand_over] : hand_overs) graph.hand_overs.push_back(hand_over);
  SortByWaiting(graph.threads, &SyncThread::all);
  SortByWaiting(graph.objects, &SyncObject::all);
  SortByWaiting(graph.links, &SyncLink::figures);
  std::stable_sort(graph.hand_overs.begin(), graph.hand_overs.end(),
                   [](const auto& a, const auto& b) { return a.wait_ns > b.wait_ns; });
  return graph;
}

Result<SyncGraph> BuildSyncGraph(model::Source& source, std::span<const model::Site> names) {
  SyncGraphBuilder builder;
  ATTUNE_CHECK_OK(source.ReadTable(model::ClockReading::kTable, [&](const model::Batch& batch) {
    builder.AddClock(batch);
    return true;
  }));
  ATTUNE_CHECK_OK(source.ReadTable(model::Sync::kTable, [&](const model::Batch& batch) {
    for (const model::Sync& row : model::RowsFrom<model::Sync>(batch)) builder.Add(row);
    return true;
  }));
  ATTUNE_CHECK_OK(VisitWaits(source, [&](const model::Event& event) { builder.Add(event); }));
  return builder.Build(*source.Meta(), source.Extent(), names);
}

}  // namespace attune::analysis
