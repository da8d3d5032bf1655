#include <unordered_set>

#include "analysis/page/page_document.h"
#include "analysis/page/page_json.h"
#include "analysis/waits/sync_graph.h"

namespace attune::analysis {
namespace {

/// Keeps the most important rows. @return how many there were of each
Json CutGraph(SyncGraph& graph) {
  Json all = {{"threads_in_all", CutRows(graph.threads, kMaxPageThreads)},
              {"events_in_all", CutRows(graph.objects, kMaxPageObjects)},
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
  CutRows(graph.links, kMaxPageLinks);
  CutRows(graph.hand_overs, kMaxPageLinks);
  return all;
}

/// docs/sync-graph.md, with the threads, events, links and hand-overs of most waiting; `threads_in_all` and so on are
/// the full counts. Links and hand-overs are those of the threads and events that are kept. @cost as BuildSyncGraph
Result<std::string> GraphJson(const PageRequest& request) {
  ATTUNE_TRY(SyncGraph graph, BuildSyncGraph(request.source, request.names));
  Json all = CutGraph(graph);
  Json json = JsonOf(DocumentOf(graph));
  json.update(all);
  return JsonText(json);
}

}  // namespace

PageDocument MakeSyncGraphDocument() { return {.name = "sync-graph", .make = GraphJson}; }

}  // namespace attune::analysis
