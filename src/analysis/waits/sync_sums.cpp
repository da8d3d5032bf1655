#include "analysis/waits/sync_sums.h"

#include <algorithm>

namespace attune::analysis {

using wire::SyncKind;

std::string KindName(SyncKind kind) {
  const bool is_rwlock = kind == SyncKind::kReadLock || kind == SyncKind::kWriteLock;
  return is_rwlock ? "rwlock" : std::string(model::ToString(kind));
}

void SyncCounts::Add(const model::Sync& row) {
  AddTo(count, row.count);
  // A wait whose time was up is no acquisition.
  AddTo(calls, std::max(row.count, row.contended));
  AddTo(waits, row.contended);
  AddTo(wait_ns, row.wait_ns);
  if (!IsLock(row.kind)) return;  // else they are waits whose time was up (call_sums.h)
  AddTo(holds, row.holds);
  AddTo(hold_ns, row.hold_ns);
}

void SyncCounts::Add(const SyncCounts& other) {
  AddTo(count, other.count);
  AddTo(calls, other.calls);
  AddTo(waits, other.waits);
  AddTo(wait_ns, other.wait_ns);
  AddTo(holds, other.holds);
  AddTo(hold_ns, other.hold_ns);
}

double SyncCounts::EstimatedHoldNs() const {
  if (holds <= 0) return 0;
  return static_cast<double>(hold_ns) / static_cast<double>(holds) * static_cast<double>(count);
}

double ObjectSums::EstimatedHoldNs() const {
  double held_ns = 0;
  int64_t unsampled = 0;
  for (const auto& [place, threads] : places) {
    if (place.second == SyncKind::kWake) continue;
    for (const auto& [thread, counts] : threads) {
      held_ns += counts.EstimatedHoldNs();
      if (counts.holds <= 0) AddTo(unsampled, counts.count);
    }
  }
  const double mean_ns = total.holds <= 0 ? 0 : static_cast<double>(total.hold_ns) / static_cast<double>(total.holds);
  return held_ns + mean_ns * static_cast<double>(unsampled);
}

std::map<model::ElementId, SyncCounts> ObjectSums::ByThread() const {
  std::map<model::ElementId, SyncCounts> sums;
  for (const auto& [place, threads] : places) {
    if (place.second == SyncKind::kWake) continue;
    for (const auto& [thread, counts] : threads) sums[thread].Add(counts);
  }
  return sums;
}

void AddSyncRows(const model::Batch& batch, SyncSums& sums) {
  for (const model::Sync& row : model::RowsFrom<model::Sync>(batch)) {
    sums.read_ns = std::max(sums.read_ns, row.t_ns);
    const bool is_file = row.kind == SyncKind::kFile;
    // Waiting within calls of MPI is known to task_graph.h; other calls are in call_sums.h.
    if (wire::IsCall(row.kind) && !is_file) continue;
    ObjectSums& object = (is_file ? sums.files : sums.objects)[row.object];
    object.places[{row.site, row.kind}][row.thread].Add(row);
    if (!is_file) AddTo(sums.waited_by_thread[row.thread], row.wait_ns);
    if (row.kind == SyncKind::kWake) continue;
    object.kind = row.kind;
    object.total.Add(row);
  }
}

Result<SyncSums> ReadSyncSums(model::Source& source) {
  SyncSums sums;
  ATTUNE_CHECK_OK(source.ReadTable(model::Sync::kTable, [&](const model::Batch& batch) {
    AddSyncRows(batch, sums);
    return true;
  }));
  return sums;
}

}  // namespace attune::analysis
