#pragma once
/// Counts of each thread of a program, whoever takes them.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "counter/counter_set.h"

namespace attune::counter {

/// Reason for a row of a thread's counts.
enum class Moment : uint8_t {
  kLives,        ///< it was looked at
  kEnded,        ///< nothing is added any more
  kSampled,      ///< an event has occurred as often as was asked for
  kMigrated,     ///< to the row's CPU
  kStarted,      ///< with what the kernel accounts alone, as the following ones
  kExec,         ///< it has become another program
  kSwitchedIn,   ///< it got its CPU
  kSwitchedOut,  ///< it left its CPU
  kSelf,         ///< it has taken a sample of itself (include/attune/counters.h)
};

/// Counts of one thread since it was followed.
struct ThreadCounts {
  pid_t pid = 0;
  /// That it began with, which is the same in all its rows; 0: what threads counted while they were not seen.
  pid_t tid = 0;
  pid_t last_tid = 0;  ///< that it has: one that calls exec gets its process's
  std::string name;    ///< of the thread, as the kernel knows it
  Moment moment = Moment::kLives;
  int cpu = -1;          ///< that it is on, or was on last; -1: not known
  int ran_on = -1;       ///< CPU of what it counted last: that before `cpu`, where it has just migrated
  int64_t start_ns = 0;  ///< CLOCK_MONOTONIC; where it was followed from its middle on: that moment
  int64_t end_ns = 0;    ///< now, while it lives
  std::vector<EventCount> counts;

  bool HasEnded() const { return moment == Moment::kEnded; }
};

/// @return empty: there is no such process
std::vector<pid_t> ThreadsOf(const HostRoot& host, pid_t pid);

/// @thread one at a time
class ThreadCounting {
 public:
  using Visit = std::function<void(const ThreadCounts&)>;

  virtual ~ThreadCounting() = default;
  /// Follows the process with all threads and processes that it starts from now on.
  /// @param from_exec it is a child that waits to be let go: from its exec on
  virtual Status Follow(pid_t pid, bool from_exec) = 0;
  /// To call as soon as a child that was followed from its exec has become the program.
  virtual void HasBegun() {}
  /// Interval between two calls of Read() in which no row is lost.
  virtual int64_t PeriodNs() const = 0;
  /// Samples, and threads that have ended, since the last call; then those that live, if wanted.
  virtual Status Read(bool with_living, const Visit& visit) = 0;
  /// Whether each thread that was followed has been handed over as ended.
  virtual bool HaveAllEnded() const = 0;
  /// The last call: all that was not handed over as ended yet.
  virtual Status End(const Visit& visit) = 0;
  /// Events that could not be counted, and why.
  virtual std::vector<EventNote> Notes() const = 0;
};

/// End(), once what ends now has been handed over whole: the kernel frees a thread some time after it was waited for.
/// @cost waits for some 10 ms; for 100 ms where threads live on, or as long as ends are told, up to a second
Status EndWhenAllHaveEnded(ThreadCounting& counting, const ThreadCounting::Visit& visit);

}  // namespace attune::counter
