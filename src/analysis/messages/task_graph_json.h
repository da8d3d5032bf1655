#pragma once
/// The task graph as JSON, to be put into other documents.

#include <nlohmann/json_fwd.hpp>

#include "analysis/messages/task_graph.h"

namespace attune::analysis {

nlohmann::ordered_json TaskGraphJson(const TaskGraph& graph);

}  // namespace attune::analysis
