#pragma once
/// Input of the classes of findings (finding.h).

#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/account/account.h"
#include "analysis/account/affinities.h"
#include "analysis/account/counted_events.h"
#include "analysis/account/cpu_use.h"
#include "analysis/account/lone_times.h"
#include "analysis/account/memory_pressure.h"
#include "analysis/account/own_use.h"
#include "analysis/account/quota_times.h"
#include "analysis/account/socket_times.h"
#include "analysis/account/woken_sleeps.h"
#include "analysis/findings/finding.h"
#include "analysis/messages/message_facts.h"
#include "analysis/profile/cpu_profile.h"
#include "analysis/profile/memory_use.h"
#include "analysis/waits/barrier_rounds.h"
#include "analysis/waits/call_sums.h"
#include "analysis/waits/concurrency.h"
#include "analysis/waits/critical_path.h"
#include "analysis/waits/futile_wakes.h"
#include "analysis/waits/lock_order.h"
#include "analysis/waits/lock_relief.h"
#include "analysis/waits/object_group.h"
#include "analysis/waits/start_order.h"
#include "analysis/waits/stuck_waits.h"
#include "analysis/waits/thread_times.h"
#include "analysis/work/work_graph.h"
#include "model/source.h"

namespace attune::analysis {

/// The operators that classes of findings ask themselves (FindingInput::Of). One that a new class needs is a row here.
using AskedOperators =
    std::tuple<AffinitiesOperator, BarrierWaits, CallSums, CountedEvents, CpuUseOperator, FutileWakes, LockOrders,
               LockWaits, LoneTimesOperator, MemoryPressure, OwnUseOperator, QuotaTimesOperator, SocketTimesOperator,
               StartOrder, StuckWaits, WokenSleeps, WorkSums>;

struct FindingInput {
  FindingInput(const model::Metadata& the_meta, const WaitTables& the_waits, const SiteNames& the_names,
               const AskedOperators& the_asked)
      : meta(the_meta), waits(the_waits), names(the_names), asked(the_asked), messages(the_names) {
    for (const auto& object : waits.sums.objects) {
      if (const model::Element* element = meta.FindElement(object.first); element != nullptr)
        objects_[element->parent].emplace_back(object.first, &object.second);
    }
  }

  const model::Metadata& meta;
  const WaitTables& waits;
  const SiteNames& names;
  const AskedOperators& asked;
  bool is_over = true;  ///< everything has come; else sums are up to a second old
  ThreadTimes times;
  Account account;
  int64_t queued_for_others_ns = 0;  ///< of all threads
  CriticalPath critical_path;        ///< not while the program runs
  MemoryUse memory;
  const SampleSums* cpu_samples = nullptr;  ///< with their stacks; nullptr: none were taken
  MessageFacts messages;
  std::map<model::ElementId, Concurrency> concurrency;  ///< by process

  template <class Operator>
  const Operator& Of() const {
    return std::get<Operator>(asked);
  }
  /// Objects that the threads of a process waited for or woke.
  std::span<const std::pair<model::ElementId, const ObjectSums*>> ObjectsOf(model::ElementId process) const {
    const auto found = objects_.find(process);
    if (found == objects_.end()) return {};
    return found->second;
  }
  /// Whether so much is worth a finding. Where other programs had the CPUs the threads' time is longer, and their loss
  /// is not.
  bool IsEnough(int64_t lost_ns, double least_share = kLeastShare) const {
    return lost_ns >= kLeastLostNs && PartOf(lost_ns, waits.thread_ns - queued_for_others_ns) >= least_share;
  }
  /// A finding about waiting for objects: time, share, object, threads, waiters and how many there are are filled in.
  Finding About(FindingClass kind, const ObjectGroup& group) const;
  /// The objects of a group, by process.
  std::map<model::ElementId, std::vector<model::ElementId>> ByProcess(const ObjectGroup& group) const;
  /// That the program may use; 0: not known.
  size_t Cpus() const;
  /// From the first thread's start to the end of the last one.
  int64_t WallNs() const;
  FindingThread Thread(model::ElementId id, int64_t lost_ns) const;
  /// Those that lost something, most first.
  static void SetThreads(std::vector<FindingThread> threads, Finding& finding);

 private:
  std::map<model::ElementId, std::vector<std::pair<model::ElementId, const ObjectSums*>>> objects_;  ///< by process
};

/// "4711 (worker)", or its number alone.
std::string ThreadText(const FindingThread& thread);

/// Adds the findings of one class. Each file of findings/classes defines one, named as the file (classes/locks.cpp:
/// FindLocks).
using FindFunction = void (*)(const FindingInput& input, std::vector<Finding>& findings);
/// In the order of their files.
std::vector<FindFunction> AllFindingClasses();

}  // namespace attune::analysis
