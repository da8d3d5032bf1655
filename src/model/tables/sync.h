#pragma once
#include "model/table.h"
#include "wire/sync.h"

namespace attune::model {

template <>
struct Words<wire::SyncKind> {
  static constexpr std::array<std::string_view, 24> kAll{"?",
                                                         "mutex",
                                                         "read lock",
                                                         "write lock",
                                                         "spin lock",
                                                         "condition",
                                                         "barrier",
                                                         "semaphore",
                                                         "join",
                                                         "wake",
                                                         "futex",
                                                         "OpenMP critical",
                                                         "OpenMP barrier",
                                                         "OpenMP task wait",
                                                         "OpenMP ordered",
                                                         "once",
                                                         "file",
                                                         "MPI",
                                                         "thread creation",
                                                         "child",
                                                         "sleep",
                                                         "poll",
                                                         "future",
                                                         "no work"};
  static_assert(kAll.size() == static_cast<size_t>(wire::kLastSyncKind) + 1);
};

/// One thread's use of one object at one site since its row before. All values are sums over the time in between.
struct Sync {
  int64_t t_ns = 0;
  ElementId thread = 0;
  ElementId object = 0;
  ElementId site = 0;
  wire::SyncKind kind = wire::SyncKind::kNone;
  int64_t count = 0;
  int64_t contended = 0;
  int64_t wait_ns = 0;
  int64_t hold_ns = 0;
  int64_t holds = 0;

  bool operator==(const Sync&) const = default;

  static constexpr Table kTable{18};
  static constexpr TableText kText{
      .name = "sync",
      .about = "what a thread did with a lock at a place in the code since its row before (waits.md)",
      .storage = Storage::kTimed,
      .time = "t_ns"};
  template <class Visit>
  static constexpr auto Columns(const Visit& visit) {
    return visit(Col(&Sync::t_ns, "t_ns", Role::kTime, "ns", "when it was read"),
                 Col(&Sync::thread, "thread", Role::kElement, "", "who"),
                 Col(&Sync::object, "object", Role::kElement, "", "the lock, condition, barrier"),
                 Col(&Sync::site, "site", Role::kElement, "", "place of the call"),
                 Col(&Sync::kind, "kind", Role::kCode, "", "what the object is used as"),
                 Col(&Sync::count, "count", Role::kAmount, "",
                     "acquisitions, or waits that ended because what was waited for came"),
                 Col(&Sync::contended, "contended", Role::kAmount, "", "calls that had to wait"),
                 Col(&Sync::wait_ns, "wait_ns", Role::kAmount, "ns", "by these"),
                 Col(&Sync::hold_ns, "hold_ns", Role::kAmount, "ns",
                     "from acquisition to release, of as many acquisitions as `holds`; of what is no lock: "
                     "waiting time of `holds`"),
                 Col(&Sync::holds, "holds", Role::kAmount, "",
                     "acquisitions of which the hold time was taken; of what is no lock: waits that ended "
                     "without what was waited for"));
  }
};

}  // namespace attune::model
