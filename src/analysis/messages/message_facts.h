#pragma once
/// Facts from which the findings about messages are computed.

#include <cstdint>
#include <memory>
#include <vector>

#include "analysis/messages/message_waits.h"
#include "analysis/messages/rank_waits.h"
#include "analysis/messages/task_graph.h"
#include "analysis/operators/operator.h"

namespace attune::analysis {

struct MessageFacts {
  explicit MessageFacts(const SiteNames& names) : waits(names), peer_waits(names) {}

  MessageWaits waits;       ///< waits of ranks for each other
  MessageWaits peer_waits;  ///< through pipes, sockets and queues
  TaskGraph graph;
  int64_t ranks_ns = 0;  ///< lives of all ranks that were seen, added up
};

/// Takes all tables of messages. @cost about 1 us a message; memory as MessageMatcher
class MessageFactsOperator final : public Operator {
 public:
  /// @param names must outlive this and what it gives
  explicit MessageFactsOperator(const SiteNames& names) : names_(names), facts_(names) {}

  void Learn(const std::shared_ptr<const model::Metadata>& meta) override { builder_.Learn(meta); }
  std::vector<model::Table> Tables() const override { return builder_.Tables(); }
  void AddRows(const model::Batch& batch) override { builder_.AddRows(batch); }
  /// Call once, after the last row. Where ranks waited for others it looks for what these did meanwhile.
  Result<MessageFacts> Finish(model::Source& source, const model::Metadata& meta);

 private:
  const SiteNames& names_;
  MessageFacts facts_;
  RankWaits path_;
  TaskGraphBuilder builder_{TaskGraphBuilder::Takers{&facts_.waits, &facts_.peer_waits, &path_}};
};

}  // namespace attune::analysis
