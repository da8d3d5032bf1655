#include "analysis/waits/wait_summary.h"

#include <algorithm>
#include <map>
#include <set>

namespace attune::analysis {
namespace {

using model::ElementId;
using wire::SyncKind;

/// Call sites of the threads that made others wait, with the waits and the wait time each caused; most time first.
std::vector<WaitSite> Holders(const SiteNames& names, const std::vector<Blame>& blames) {
  struct Place {
    int64_t waits = 0;
    int64_t wait_ns = 0;
    std::set<ElementId> threads;
  };
  std::map<ElementId, Place> places;
  for (const Blame& blame : blames) {
    Place& place = places[blame.site];
    place.threads.insert(blame.thread);
    AddTo(place.waits, blame.waits);
    AddTo(place.wait_ns, blame.wait_ns);
  }
  std::vector<WaitSite> holders;
  for (const auto& [site, place] : places) {
    WaitSite& holder = holders.emplace_back(WaitSite{names.PlaceOf(site)});
    holder.threads = static_cast<int64_t>(place.threads.size());
    holder.waits = place.waits;
    holder.wait_ns = place.wait_ns;
  }
  std::stable_sort(holders.begin(), holders.end(), [](const auto& a, const auto& b) { return a.wait_ns > b.wait_ns; });
  return holders;
}

WaitObject Finish(const model::Metadata& meta, const WaitTables& tables, const SiteNames& names, ElementId id,
                  const ObjectSums& object) {
  WaitObject result{.id = id, .kind = KindName(object.kind)};
  if (const model::Element* element = meta.FindElement(id); element != nullptr) {
    result.name = element->name;
    const model::Element* process = meta.FindElement(element->parent);
    if (process != nullptr) result.pid = process->os_id;
  }
  result.threads = static_cast<int64_t>(object.ByThread().size());
  result.count = object.total.count;
  result.waits = object.total.waits;
  result.wait_ns = object.total.wait_ns;
  result.share = PartOf(result.wait_ns, tables.thread_ns);
  result.contended = std::min(1.0, PartOf(result.waits, object.total.calls));
  result.holds = object.total.holds;
  const double held_ns = object.EstimatedHoldNs();
  result.held_ns = result.holds <= 0 ? model::kAbsent : held_ns >= 9e18 ? INT64_MAX : static_cast<int64_t>(held_ns);
  result.sites = WaitingSites(object, names);
  if (const auto blames = tables.blames.find(id); blames != tables.blames.end())
    result.holders = Holders(names, blames->second);
  return result;
}

}  // namespace

std::vector<WaitSite> WaitingSites(const ObjectSums& object, const SiteNames& names) {
  std::vector<WaitSite> sites;
  for (const auto& [place, threads] : object.places) {
    if (place.second == SyncKind::kWake) continue;
    SyncCounts sums;
    for (const auto& [thread, counts] : threads) sums.Add(counts);
    if (sums.waits == 0) continue;
    WaitSite& site = sites.emplace_back(WaitSite{names.PlaceOf(place.first)});
    site.kind = place.second;
    site.threads = static_cast<int64_t>(threads.size());
    site.count = sums.count;
    site.waits = sums.waits;
    site.wait_ns = sums.wait_ns;
  }
  std::stable_sort(sites.begin(), sites.end(), [](const auto& a, const auto& b) { return a.wait_ns > b.wait_ns; });
  return sites;
}

void WaitTablesOperator::AddRows(const model::Batch& batch) { AddSyncRows(batch, tables_.sums); }

void WaitTablesOperator::AddEvents(const model::EventBlock& block) {
  order_.Add(block);
  // Below level blame nobody is known who had what was waited for.
  if (!order_.has_hand_overs()) return order_.DropMany();
  order_.ReleaseMany([this](const model::Event& event) { blame_.Add(event); });
}

const WaitTables& WaitTablesOperator::Update(const model::Metadata& meta, int64_t now_ns, int64_t events_until_ns) {
  if (order_.has_hand_overs())
    order_.Release(events_until_ns, [this](const model::Event& event) { blame_.Add(event); });
  tables_.lives = FindThreadLives(meta, now_ns, tables_.sums.waited_by_thread);
  tables_.thread_ns = TotalNs(tables_.lives);
  tables_.blames = blame_.Blames();
  return tables_;
}

Result<WaitTables> ReadWaitTables(model::Source& source) {
  WaitTablesOperator waits;
  Operator* const only[] = {&waits};
  ATTUNE_CHECK_OK(FeedRows(source, only));
  ATTUNE_CHECK_OK(FeedEvents(source, only));
  waits.Update(*source.Meta(), source.Extent().t1_ns, INT64_MAX);
  return waits.Take();
}

WaitSummary SummariseWaits(const model::Metadata& meta, const WaitTables& tables, const SiteNames& names) {
  WaitSummary summary;
  if (tables.sums.objects.empty() && tables.sums.files.empty()) return summary;
  summary.thread_ns = tables.thread_ns;
  for (const auto& [id, object] : tables.sums.objects) {
    AddTo(summary.wait_ns, object.total.wait_ns);
    if (IsLock(object.kind)) AddTo(summary.acquisitions, object.total.count);
    if (object.total.waits == 0) continue;
    (IsLock(object.kind) ? summary.locks : summary.others).push_back(Finish(meta, tables, names, id, object));
  }
  for (const auto& [id, files] : tables.sums.files) {
    AddTo(summary.wait_ns, files.total.wait_ns);
    if (files.total.waits > 0) summary.others.push_back(Finish(meta, tables, names, id, files));
  }
  for (auto* list : {&summary.locks, &summary.others}) {
    std::stable_sort(list->begin(), list->end(), [](const auto& a, const auto& b) { return a.wait_ns > b.wait_ns; });
  }
  return summary;
}

Result<WaitSummary> SummariseWaits(model::Source& source, std::span<const model::Site> names) {
  ATTUNE_TRY(const WaitTables tables, ReadWaitTables(source));
  const auto meta = source.Meta();
  return SummariseWaits(*meta, tables, SiteNames(*meta, names));
}

}  // namespace attune::analysis
