#pragma once
/// The kernels of a task runtime in JSON, for the page and the report.

#include "analysis/documents/json_rows.h"
#include "analysis/work/work_graph.h"

namespace attune::analysis {

/// `kernels`, `data` and `forecast` (null: there is none).
Json WorkJson(const WorkGraph& graph);

}  // namespace attune::analysis
