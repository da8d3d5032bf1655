#include "analysis/waits/call_sums.h"

#include "model/rows.h"

namespace attune::analysis {

using wire::SyncKind;

void CallSums::AddRows(const model::Batch& batch) {
  for (const model::Sync& row : model::RowsFrom<model::Sync>(batch)) {
    if (row.kind == SyncKind::kMpi) AddTo(mpi_ns_[row.thread], row.wait_ns);
    if (IsLock(row.kind) || row.kind == SyncKind::kFile || row.kind == SyncKind::kMpi) continue;
    if (wire::IsCall(row.kind)) {
      ObjectSums& calls = calls_[row.object];
      calls.kind = row.kind;
      calls.total.Add(row);
      calls.places[{row.site, row.kind}][row.thread].Add(row);
    }
    // Most waits are always served: they take no room.
    const Key key(row.thread, row.object, row.site, row.kind);
    const auto known = unserved_.find(key);
    if (known == unserved_.end() && row.holds <= 0) continue;
    UnservedWaits& waits = known != unserved_.end() ? known->second : unserved_[key];
    AddTo(waits.waits, row.contended);
    AddTo(waits.unserved, row.holds);
    AddTo(waits.unserved_ns, row.hold_ns);
  }
}

}  // namespace attune::analysis
