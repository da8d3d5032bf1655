#include "analysis/messages/message_facts.h"

#include <utility>

#include "analysis/messages/lost_messages.h"
#include "analysis/waits/critical_path.h"
#include "base/saturating.h"
#include "model/rows.h"

namespace attune::analysis {

Result<MessageFacts> MessageFactsOperator::Finish(model::Source& source, const model::Metadata& meta) {
  builder_.Finish();
  facts_.waits.Finish();
  facts_.peer_waits.Finish();
  ATTUNE_CHECK_OK(source.ReadTable(model::CpuSample::kTable, [&](const model::Batch& batch) {
    if (facts_.waits.ByCause().empty() && facts_.peer_waits.ByCause().empty()) return false;
    for (const model::CpuSample& sample : model::RowsFrom<model::CpuSample>(batch)) {
      facts_.waits.AddSample(sample);
      facts_.peer_waits.AddSample(sample);
    }
    return true;
  }));
  facts_.graph = builder_.Build(meta, source.Extent(), names_);
  ATTUNE_CHECK_OK(CountLostMessages(source, meta, facts_.graph));
  for (const TaskRank& rank : facts_.graph.ranks) AddTo(facts_.ranks_ns, rank.life_ns);
  constexpr int64_t kWorthAWhatIf = 100;
  facts_.graph.critical_path =
      JudgeCriticalPath(meta, path_.Finish(meta, source.Extent().t1_ns), facts_.ranks_ns / kWorthAWhatIf);
  return std::move(facts_);
}

}  // namespace attune::analysis
