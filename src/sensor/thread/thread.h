#pragma once
/// Sensor "thread": what the scheduler did with each thread of the observed program, and the memory of its processes.

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "sensor/catalog.h"
#include "sensor/text/number_file.h"

namespace attune::sensor {

/// The processes that a session observes, as of now. Must be callable from any thread.
using ObservedPids = std::function<std::vector<int64_t>()>;

/// Bounded: of a program with very many threads the first ones are sampled, the others are counted (`left_out`). A
/// thread that ended is absent. @cost 21 us a thread, 2 us a process
class ThreadSensor final : public OfCatalog<"thread"> {
 public:
  /// @param observed nullptr: unavailable  @param max_threads 0: what the limit of open files allows, at most 1024
  explicit ThreadSensor(ObservedPids observed, size_t max_threads = 0)
      : observed_(std::move(observed)), max_threads_(max_threads) {}

  Result<std::vector<model::SignalSpec>> Prepare(const HostRoot& host) override;
  bool Sample(std::span<int64_t> out) override;
  /// nullptr as long as the program's threads are those that were prepared.
  std::unique_ptr<model::Sensor> Fresh() const override;

 private:
  struct ThreadId {
    int64_t pid = 0;
    int64_t tid = 0;
    bool operator==(const ThreadId&) const = default;
  };
  struct Found {
    std::vector<int64_t> pids;
    std::vector<ThreadId> threads;  // at most max_threads_
    int64_t total = 0;
  };
  struct Thread {
    UniqueFd schedstat, stat, status;
  };
  struct Process {
    UniqueFd statm;
  };

  Found Find(const HostRoot& host) const;
  bool AddThread(const HostRoot& host, const ThreadId& id, std::vector<model::SignalSpec>& specs);
  void AddProcess(const HostRoot& host, int64_t pid, std::vector<model::SignalSpec>& specs);
  std::string_view Read(const UniqueFd& file);
  void SampleThread(const Thread& thread, std::span<int64_t> out);

  const ObservedPids observed_;
  const size_t max_threads_;
  std::optional<HostRoot> host_;  // once prepared
  bool has_io_wait_ = false;      // the kernel accounts for it (kernel.task_delayacct)
  Found prepared_for_;
  std::vector<Thread> threads_;
  std::vector<Process> processes_;
  mutable std::atomic<int64_t> total_{0};  // kept up to date by Fresh()
  std::vector<char> buffer_;
};

inline constexpr size_t kSchedstatValues = 3;  ///< run, wait, slices
inline constexpr size_t kFaultValues = 2;      ///< minor, major
inline constexpr size_t kSwitchValues = 2;     ///< voluntary, involuntary
// The texts of /proc/PID/task/TID/{schedstat,stat,status}, foreign bytes; kAbsent where there is no number.
void ParseSchedstat(std::string_view text, std::span<int64_t, kSchedstatValues> out);
void ParseFaults(std::string_view stat, std::span<int64_t, kFaultValues> out);
/// Ticks that the thread waited for a block device; 0 where the kernel does not account for it. @param stat as above
int64_t ParseBlockTicks(std::string_view stat);
void ParseSwitches(std::string_view status, std::span<int64_t, kSwitchValues> out);

}  // namespace attune::sensor
