#include "analysis/messages/message_facts.h"

#include "analysis/messages/rank_waits.h"
#include "analysis/waits/critical_path.h"
#include "base/saturating.h"
#include "model/rows.h"

namespace attune::analysis {

Status ReadMessageFacts(model::Source& source, const model::Metadata& meta, const SiteNames& names,
                        MessageFacts& facts) {
  RankWaits path;
  TaskGraphBuilder builder(&facts.waits, &path);
  ATTUNE_CHECK_OK(ReadMessages(source, meta, builder));
  facts.waits.Finish();
  ATTUNE_CHECK_OK(source.ReadTable(model::CpuSample::kTable, [&](const model::Batch& batch) {
    if (facts.waits.ByCause().empty()) return false;
    for (const model::CpuSample& sample : model::RowsFrom<model::CpuSample>(batch)) facts.waits.AddSample(sample);
    return true;
  }));
  facts.graph = builder.Build(meta, source.Extent(), names);
  for (const TaskRank& rank : facts.graph.ranks) AddTo(facts.ranks_ns, rank.life_ns);
  constexpr int64_t kWorthAWhatIf = 100;
  facts.graph.critical_path =
      JudgeCriticalPath(meta, path.Finish(meta, source.Extent().t1_ns), facts.ranks_ns / kWorthAWhatIf);
  return {};
}

}  // namespace attune::analysis
