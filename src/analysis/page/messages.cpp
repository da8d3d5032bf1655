#include "analysis/messages/task_graph.h"
#include "analysis/page/page_document.h"
#include "analysis/page/page_json.h"

namespace attune::analysis {
namespace {

constexpr size_t kMaxRanks = 4096;
constexpr size_t kMaxPairs = 8192;
constexpr size_t kMaxCollectives = 2000;

/// The task graph as in docs/task-graph.md, with the kMaxPairs pairs of most bytes and the kMaxPageLinks places of most
/// time. @cost as BuildTaskGraph
Result<std::string> Messages(const PageRequest& request) {
  ATTUNE_TRY(TaskGraph graph, BuildTaskGraph(request.source, request.names));
  const size_t ranks = CutRows(graph.ranks, kMaxRanks), pairs = CutRows(graph.pairs, kMaxPairs);
  const size_t links = CutRows(graph.links, kMaxPageLinks), collectives = CutRows(graph.collectives, kMaxCollectives);
  Json json = JsonOf(DocumentOf(graph));
  json.update(Json{
      {"ranks_in_all", ranks}, {"pairs_in_all", pairs}, {"links_in_all", links}, {"collectives_in_all", collectives}});
  return JsonText(json);
}

}  // namespace

PageDocument MakeMessagesDocument() { return {.name = "messages", .make = Messages}; }

}  // namespace attune::analysis
