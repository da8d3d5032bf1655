#pragma once
/// Rows of threads' counts, as a monitoring module is told of them (include/attune/module.h).

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "counter/core_types.h"
#include "counter/thread_counting.h"
#include "module/module_process.h"

namespace attune::session {

/// @thread one at a time
class ModuleFeed {
 public:
  struct Thread {
    pid_t pid = 0;
    int64_t start_ns = 0;
    int64_t sampled_ns = 0;                   ///< when its counts were told last
    int64_t ended_ns = 0;                     ///< 0: it lives
    bool is_told = false;                     ///< its start, to this process of the module
    std::vector<counter::EventCount> counts;  ///< at sampled_ns
  };

  ModuleFeed(const counter::CoreTypes& core_types, const modules::ModuleHello& hello)
      : core_types_(core_types), hello_(hello) {}

  /// True where the module needs rows of threads.
  static bool IsOfThreads(const modules::ModuleHello& hello);
  /// Events of each thread that it needs: its counters, then CPU time.
  static std::vector<std::string> EventsOf(const modules::ModuleHello& hello);
  /// Moments at which it needs rows (BpfThreads::Create).
  static unsigned TellsOf(const modules::ModuleHello& hello);

  /// @param counts of EventsOf(), in their order
  void Take(const counter::ThreadCounts& counts, modules::ModuleProcess& process);
  /// The module's process is another one: it is told of all threads anew.
  void BeginAnew();
  /// nullptr: the module was not told of it
  const Thread* Find(pid_t tid) const;
  size_t size() const { return threads_.size(); }
  /// Leaves out threads that ended before. @param before_ns CLOCK_MONOTONIC
  void Forget(int64_t before_ns);

 private:
  void TellSample(Thread& thread, const counter::ThreadCounts& counts, modules::NoticeKind kind,
                  modules::ModuleProcess& process);
  modules::Notice NoticeOf(const counter::ThreadCounts& counts, modules::NoticeKind kind) const;

  const counter::CoreTypes& core_types_;
  const modules::ModuleHello hello_;
  std::map<pid_t, Thread> threads_;
};

}  // namespace attune::session
