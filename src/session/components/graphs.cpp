#include "session/components/graphs.h"

#include <fmt/format.h>

namespace attune::session {

GraphComponent::~GraphComponent() {
  if (graph_ == nullptr) return;
  recording_.pipeline().Exchange([this](std::vector<model::Sink*>& sinks) { std::erase(sinks, graph_.get()); });
}

Status GraphComponent::Start() {
  if (context_.options.graph.folder.empty()) return {};
  ATTUNE_TRY(graph_, GraphWriter::Start(context_.options.graph, recording_.writer()));
  recording_.pipeline().Exchange([this](std::vector<model::Sink*>& sinks) { sinks.push_back(graph_.get()); });
  return {};
}

void GraphComponent::Stop() {
  if (graph_ == nullptr) return;
  const Status written = graph_->Finish();
  if (!written.ok()) recording_.AddUnseen("graphs: " + written.error().message);
  if (graph_->LeftOut() > 0)
    recording_.AddUnseen(fmt::format("graphs: {} events and messages, which came too fast for it", graph_->LeftOut()));
}

}  // namespace attune::session
