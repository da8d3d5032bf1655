#pragma once
/// All that findings about programs are computed from, added up in one pass, or while the programs run.

#include <memory>
#include <tuple>
#include <vector>

#include "analysis/findings/finding_input.h"
#include "analysis/operators/operator.h"
#include "analysis/operators/time_grid.h"
#include "analysis/profile/cpu_profile.h"

namespace attune::analysis {

class ProgramOperators {
 public:
  /// @param grid for sums over time: of a range that is known, or of one that is not
  explicit ProgramOperators(TimeGrid grid = {}) : concurrency(grid), times(grid) {}

  std::vector<Operator*> All() {
    std::vector<Operator*> all{&waits};
    std::apply([&all](auto&... operators) { (all.push_back(&operators), ...); }, asked);
    all.insert(all.end(), {&concurrency, &times, &account, &cpu_samples, &memory});
    return all;
  }
  /// Everything that is known by now. @param meta and names must outlive the result, as this must
  /// @param now_ns until when what still runs has lasted  @param events_until_ns those before that time have all come
  FindingInput Snapshot(const model::Metadata& meta, const SiteNames& names, int64_t now_ns, int64_t events_until_ns) {
    std::get<LockOrders>(asked).Settle(events_until_ns);
    const WaitTables& tables = waits.Update(meta, now_ns, events_until_ns);
    FindingInput input(meta, tables, names, asked);
    input.is_over = events_until_ns == INT64_MAX;
    input.times = times.Snapshot(tables.lives);
    input.account = account.Snapshot(meta, tables.lives, input.times, static_cast<int64_t>(input.Cpus()));
    input.queued_for_others_ns = static_cast<int64_t>(QueuedForOthersNs(input.account));
    if (!input.account.is_exact) DivideRest(std::get<CpuUseOperator>(asked).IdlePart(meta), input.account.cpus);
    input.concurrency = concurrency.Snapshot(tables.sums, tables.lives);
    input.memory = memory.Snapshot(cpu_samples.samples());
    input.cpu_samples = &cpu_samples.samples();
    return input;
  }

  WaitTablesOperator waits;
  AskedOperators asked;
  ConcurrencyOperator concurrency;
  ThreadTimesOperator times;
  AccountOperator account;
  CpuSamplesOperator cpu_samples;
  MemoryUseOperator memory;
};

}  // namespace attune::analysis
