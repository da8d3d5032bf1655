#include "analysis/report/page_documents.h"

#include <nlohmann/json.hpp>
#include <unordered_set>

#include "analysis/findings/finding_json.h"
#include "analysis/findings/judgement.h"
#include "analysis/messages/task_graph_json.h"
#include "analysis/places/code_place.h"
#include "analysis/profile/folded_samples.h"
#include "analysis/profile/folded_waits.h"
#include "analysis/waits/critical_path_json.h"
#include "analysis/waits/sync_graph.h"
#include "analysis/waits/wait_json.h"
#include "analysis/waits/wait_summary.h"

namespace attune::analysis {
namespace {

using Json = nlohmann::ordered_json;

// Names come from programs and may not be UTF-8.
std::string Text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

template <class Row>
size_t Cut(std::vector<Row>& rows, size_t most) {
  const size_t all = rows.size();
  if (all > most) rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(most), rows.end());
  return all;
}

/// How many there were of each.
Json CutGraph(SyncGraph& graph) {
  Json all = {{"threads_in_all", Cut(graph.threads, kMaxPageThreads)},
              {"events_in_all", Cut(graph.objects, kMaxPageObjects)},
              {"links_in_all", graph.links.size()},
              {"handovers_in_all", graph.hand_overs.size()}};
  std::unordered_set<model::ElementId> shown;
  for (const SyncThread& thread : graph.threads) shown.insert(thread.id);
  for (const SyncObject& object : graph.objects) shown.insert(object.id);
  std::erase_if(graph.links, [&shown](const SyncLink& link) {
    return !shown.contains(link.thread) || !shown.contains(link.object);
  });
  std::erase_if(graph.hand_overs, [&shown](const SyncHandOver& one) {
    return !shown.contains(one.holder) || !shown.contains(one.waiter) || !shown.contains(one.object);
  });
  Cut(graph.links, kMaxPageLinks);
  Cut(graph.hand_overs, kMaxPageLinks);
  return all;
}

/// By column; of the root frame and parent are -1.
Json FlameTreeJson(const FlameTree& tree) {
  const auto index = [](uint32_t i) { return i == FlameTree::kNone ? int64_t{-1} : int64_t{i}; };
  Json frame = Json::array(), parent = Json::array(), time = Json::array(), left_out = Json::array(),
       site = Json::array();
  for (const FlameTree::Node& node : tree.nodes) {
    frame.push_back(index(node.frame));
    parent.push_back(index(node.parent));
    time.push_back(node.time_ns);
    left_out.push_back(node.left_out_ns);
    site.push_back(node.site);
  }
  return {{"nodes_in_all", tree.nodes_in_all}, {"frame", std::move(frame)},          {"parent", std::move(parent)},
          {"time_ns", std::move(time)},        {"left_out_ns", std::move(left_out)}, {"site", std::move(site)}};
}

/// Of the frames those that a tree has are sent.
Json FlamesJson(const FoldedStacks& stacks) {
  FlameTree together = BuildFlameTree(stacks, FlameThreads::kTogether, kMaxPageFlames);
  FlameTree each = BuildFlameTree(stacks, FlameThreads::kEach, kMaxPageFlames);
  std::vector<uint32_t> sent(stacks.frames().size(), FlameTree::kNone);
  Json frames = Json::array();
  for (FlameTree* tree : {&together, &each}) {
    for (FlameTree::Node& node : tree->nodes) {
      if (node.frame == FlameTree::kNone) continue;
      const FlameFrame& frame = stacks.frames()[node.frame];
      uint32_t& index = sent[node.frame];
      if (index == FlameTree::kNone) {
        index = static_cast<uint32_t>(frames.size());
        frames.push_back(
            {{"kind", ToString(frame.kind)}, {"element", frame.element}, {"name", frame.name}, {"group", frame.group}});
      }
      node.frame = index;
    }
  }
  return {{"frames", std::move(frames)}, {"together", FlameTreeJson(together)}, {"each", FlameTreeJson(each)}};
}

}  // namespace

Result<std::string> WaitsDocument(model::Source& source, std::span<const model::Site> names) {
  ATTUNE_TRY(Judgement judgement, JudgeProgram(source, names));
  const auto meta = source.Meta();
  WaitSummary waits = SummariseWaits(*meta, judgement.waits, SiteNames(*meta, names));
  const size_t locks = Cut(waits.locks, kMaxPageObjects);
  const size_t others = Cut(waits.others, kMaxPageObjects);
  Json waits_json = ToJson(waits);
  waits_json["locks_in_all"] = locks;
  waits_json["others_in_all"] = others;
  CriticalPath& path = judgement.critical_path;
  Cut(path.threads, kMaxPageThreads);
  Cut(path.objects, kMaxPageObjects);
  return Text(
      {{"findings", ToJson(judgement.findings)}, {"waits", std::move(waits_json)}, {"critical_path", ToJson(path)}});
}

Result<std::string> SyncGraphDocument(model::Source& source, std::span<const model::Site> names) {
  ATTUNE_TRY(SyncGraph graph, BuildSyncGraph(source, names));
  Json all = CutGraph(graph);
  Json json = Json::parse(ToJson(graph));
  json.update(all);
  return Text(json);
}

Result<std::string> MessagesDocument(model::Source& source, std::span<const model::Site> names) {
  ATTUNE_TRY(TaskGraph graph, BuildTaskGraph(source, names));
  const size_t ranks = Cut(graph.ranks, kMaxPageRanks), pairs = Cut(graph.pairs, kMaxPagePairs);
  const size_t links = Cut(graph.links, kMaxPageLinks), collectives = Cut(graph.collectives, kMaxPageCollectives);
  Json json = TaskGraphJson(graph);
  json.update(Json{
      {"ranks_in_all", ranks}, {"pairs_in_all", pairs}, {"links_in_all", links}, {"collectives_in_all", collectives}});
  return Text(json);
}

Result<std::string> SitesDocument(model::Source& source, std::span<const model::Site> names) {
  const auto meta = source.Meta();
  const SiteNames site_names(*meta, names);
  Json sites = Json::array();
  std::unordered_set<model::ElementId> seen;
  for (const model::Site& site : meta->sites) {
    if (seen.size() == kMaxPageSites || !seen.insert(site.id).second) continue;
    const CodePlace place = site_names.PlaceOf(site.id);
    sites.push_back({{"id", place.id},
                     {"name", place.name},
                     {"function", place.function},
                     {"file", place.file},
                     {"line", place.line == model::kAbsent ? Json(nullptr) : Json(place.line)}});
  }
  return Text({{"sites", std::move(sites)}});
}

Result<std::string> FlamesDocument(model::Source& source, std::span<const model::Site> names,
                                   const std::optional<model::TimeRange>& range) {
  const auto meta = source.Meta();
  const SiteNames site_names(*meta, names);
  ATTUNE_TRY(const FoldedStacks waits,
             range ? FoldWaitsWithin(source, *meta, site_names, *range) : FoldWaits(source, *meta, site_names));
  ATTUNE_TRY(const CpuSamples samples, ReadCpuSamples(source, range));
  Json flames{{"waiting", FlamesJson(waits)}};
  // Without samples nothing is known of it, which is not the same as that nothing ran.
  if (samples.samples_in_all > 0) flames["computing"] = FlamesJson(FoldSamples(samples, *meta, site_names));
  return Text(flames);
}

}  // namespace attune::analysis
