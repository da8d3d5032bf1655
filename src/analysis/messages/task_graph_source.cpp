/// The task graph of a whole recording.

#include "analysis/messages/lost_messages.h"
#include "analysis/messages/task_graph.h"

namespace attune::analysis {

Result<TaskGraph> BuildTaskGraph(model::Source& source, std::span<const model::Site> names) {
  TaskGraphBuilder builder;
  Operator* const only[] = {&builder};
  ATTUNE_CHECK_OK(FeedRows(source, only));
  builder.Finish();
  const auto meta = source.Meta();
  TaskGraph graph = builder.Build(*meta, source.Extent(), SiteNames(*meta, names));
  ATTUNE_CHECK_OK(CountLostMessages(source, *meta, graph));
  return graph;
}

}  // namespace attune::analysis
