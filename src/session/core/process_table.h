#pragma once
/// Processes and threads that were seen: their elements, and their rows in `processes`.
///
/// Facts arrive from several sides (the launcher, the process watcher, the rings) and in any order; each fills in what
/// it knows. A reused pid is a new element.

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/thread_safety.h"
#include "model/process_watcher.h"
#include "model/schema.h"
#include "session/core/pipeline.h"
#include "session/core/registry.h"

namespace attune::session {

class ProcessTable {
 public:
  ProcessTable(Registry& registry, Pipeline& pipeline) : registry_(registry), pipeline_(pipeline) {}

  /// Applies a watcher's report. @thread any, as all of these
  void Apply(const model::ProcessEvent& event);
  /// The element of a process or thread; made if it is not known yet.
  model::ElementId Process(pid_t pid);
  model::ElementId Thread(pid_t pid, pid_t tid);
  /// The rank of a process in its job, from its environment (shown as the parent of its element).
  void SetRank(pid_t pid, int64_t rank);
  /// The same, as it said itself. @param rank its element
  void SetOwnRank(pid_t pid, model::ElementId rank);
  /// Totals so far of a process that runs.
  void SetUsage(pid_t pid, const model::ProcessUsage& usage);

  bool Knows(pid_t pid) const;
  /// Processes that have not ended, as far as is known.
  std::vector<pid_t> Running() const;
  size_t Count() const;

 private:
  struct ThreadEntry {
    model::Element element;
    bool ended = false;
  };
  struct Entry {
    model::Process row;
    model::Element element;
    std::map<pid_t, ThreadEntry> threads;
    bool ended = false;
    bool told_rank = false;  ///< by itself, which is better than its environment
  };

  Entry& Find(pid_t pid) ATTUNE_REQUIRES(mutex_);
  Entry& AddLocked(pid_t pid, pid_t parent, int64_t start_ns) ATTUNE_REQUIRES(mutex_);
  void PutBelow(Entry& entry, model::ElementId rank) ATTUNE_REQUIRES(mutex_);
  void PublishRow(const Entry& entry) ATTUNE_REQUIRES(mutex_);
  ThreadEntry& ThreadLocked(Entry& entry, pid_t tid, int64_t start_ns) ATTUNE_REQUIRES(mutex_);
  void Exit(Entry& entry, const model::ProcessEvent& event) ATTUNE_REQUIRES(mutex_);

  Registry& registry_;
  Pipeline& pipeline_;
  mutable Mutex mutex_;
  std::map<pid_t, Entry> latest_ ATTUNE_GUARDED_BY(mutex_);  ///< the latest process of each pid
  size_t count_ ATTUNE_GUARDED_BY(mutex_) = 0;
};

}  // namespace attune::session
