#pragma once
/// Waits of the program's threads by object and call site, with their time: from the table `sync` (docs/waits.md).

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/operators/operator.h"
#include "analysis/places/code_place.h"
#include "analysis/waits/blame.h"
#include "analysis/waits/event_order.h"
#include "analysis/waits/sync_sums.h"
#include "analysis/waits/thread_lives.h"
#include "base/result.h"
#include "model/source.h"
#include "wire/sync.h"

namespace attune::analysis {

/// A place in the code at which an object was acquired or waited for.
struct WaitSite : CodePlace {
  wire::SyncKind kind = wire::SyncKind::kNone;
  int64_t threads = 0;
  int64_t count = 0;
  int64_t waits = 0;
  int64_t wait_ns = 0;
};

/// A mutex, a barrier, ... of one process.
struct WaitObject {
  model::ElementId id = 0;
  std::string name;  ///< "mutex 0x7f5500001040"
  std::string kind;  ///< "mutex", "rwlock", "condition", ...
  int64_t pid = model::kAbsent;
  int64_t threads = 0;          ///< that used it
  int64_t count = 0;            ///< acquisitions; of conditions, barriers and joins: waits that ended well
  int64_t waits = 0;            ///< calls that had to wait
  int64_t wait_ns = 0;          ///< wait time of all threads together
  double share = 0;             ///< wait_ns by WaitSummary::thread_ns
  double contended = 0;         ///< waits by calls, 0 to 1
  int64_t holds = 0;            ///< acquisitions of which the hold time was taken: one in wire::kHoldSampling
  int64_t held_ns = 0;          ///< by all acquisitions, estimated from these; kAbsent: there are none
  std::vector<WaitSite> sites;  ///< most waiting first
  /// Call sites at which holders acquired it, or wakers signalled it: their part of wait_ns, most first.
  /// From level blame on (blame.h)
  std::vector<WaitSite> holders;
};

struct WaitSummary {
  int64_t thread_ns = 0;  ///< lives of all threads together
  int64_t wait_ns = 0;    ///< wait time at all objects
  int64_t acquisitions = 0;
  std::vector<WaitObject> locks;   ///< mutexes, read-write locks, spin locks that somebody waited for; most first
  std::vector<WaitObject> others;  ///< conditions, barriers, semaphores, joins, futexes: often a plan, not a loss
};

/// Input for the judgement of waits, read once.
struct WaitTables {
  SyncSums sums;
  std::vector<ThreadLife> lives;
  int64_t thread_ns = 0;  ///< all lives added up
  BlameByObject blames;   ///< empty below level blame
};
/// Adds up rows of `sync` and blames those who had what was waited for. @cost a row of `sync` about 0.2 us, an event
/// 0.1 us; memory for each thread, object and site, not for rows
class WaitTablesOperator final : public Operator {
 public:
  std::vector<model::Table> Tables() const override { return {model::Sync::kTable}; }
  void AddRows(const model::Batch& batch) override;
  EventKinds Kinds() const override { return kOrderedEvents; }
  void AddEvents(const model::EventBlock& block) override;

  /// @param now_ns until when what still runs has lasted  @param events_until_ns those before that time have all come
  const WaitTables& Update(const model::Metadata& meta, int64_t now_ns, int64_t events_until_ns);
  /// After the last Update().
  WaitTables Take() { return std::move(tables_); }

 private:
  WaitTables tables_;
  EventOrder order_;
  BlameCounter blame_;
};
Result<WaitTables> ReadWaitTables(model::Source& source);

WaitSummary SummariseWaits(const model::Metadata& meta, const WaitTables& tables, const SiteNames& names);
/// Reads and sums up the tables. Names come from `sites`, as far as they were looked up.
/// @param names further rows of `sites` (NameSites), by id
Result<WaitSummary> SummariseWaits(model::Source& source, std::span<const model::Site> names = {});

/// The places where threads had to wait for an object, most waiting first.
std::vector<WaitSite> WaitingSites(const ObjectSums& object, const SiteNames& names);

}  // namespace attune::analysis
