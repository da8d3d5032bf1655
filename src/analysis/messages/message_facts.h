#pragma once
/// What the findings about messages are computed from.

#include <cstdint>

#include "analysis/messages/message_waits.h"
#include "analysis/messages/task_graph.h"

namespace attune::analysis {

struct MessageFacts {
  explicit MessageFacts(const SiteNames& names) : waits(names) {}

  MessageWaits waits;
  TaskGraph graph;
  int64_t ranks_ns = 0;  ///< lives of all ranks that were seen, added up
};

/// Reads all tables of messages, where there are any.
Status ReadMessageFacts(model::Source& source, const model::Metadata& meta, const SiteNames& names,
                        MessageFacts& facts);

}  // namespace attune::analysis
