#pragma once
/// Messages whose events were lost, because they came faster than they were read: their calls are counted all the same.

#include "analysis/messages/task_graph.h"
#include "base/result.h"
#include "model/source.h"

namespace attune::analysis {

/// Corrects the graph for dropped events: MPI calls at each place are counted exactly even then (table sync). Links of
/// functions that send or receive one message a call get as many messages as there were calls, at most so many as
/// events were dropped; bytes and times grow in proportion, also those of pairs, ranks and sizes. Without dropped
/// events nothing is read. @cost a row of `sync` about 0.2 us; memory for each process, place and function
Status CountLostMessages(model::Source& source, const model::Metadata& meta, TaskGraph& graph);

}  // namespace attune::analysis
