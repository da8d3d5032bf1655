#pragma once
/// Samples the CPU time and the first touches of memory of programs, by the kernel's software events, and whatever else
/// can be counted. Only events of hardware need hardware counters; nothing is loaded into the program.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/cpu_set.h"
#include "base/result.h"
#include "base/thread_safety.h"
#include "base/time_namespace.h"
#include "base/unique_fd.h"
#include "counter/event.h"
#include "profile/perf_record.h"

namespace attune::profile {

struct CpuSamplerOptions {
  int64_t period_ns = 4'000'000;  ///< CPU time of a thread between two samples
  uint32_t faults_a_sample = 0;   ///< one page fault in so many is recorded; 0: none
  /// Also sampled, with call paths; those without a period about as often as CPU time.
  std::vector<counter::SampledEvent> events = {};
  CpuSet cpus;  ///< that are online
  /// Copied of the program's stack with each sample; a multiple of 8, below 64 KiB. Of `events` at most 8 KiB.
  uint32_t stack_bytes = 0;
  /// An eBPF program that lets through samples of the programs to be followed: then an event a CPU takes them, which
  /// threads that are switched do not pay for. -1: an event a thread.
  int filter_fd = -1;
};

/// Samples followed programs, with all threads and processes that they start afterwards. @thread one at a time
class CpuSampler {
 public:
  /// @return kPermission: the kernel refuses, with a hint what to do
  static Result<std::unique_ptr<CpuSampler>> Create(const CpuSamplerOptions& options);
  ~CpuSampler();

  /// Whether time in the kernel is sampled too.
  bool sees_kernel() const { return sees_kernel_; }
  /// Events that the kernel does not sample, with the reason: nothing is recorded of these. @thread any
  std::map<std::string, Error> Refused() const;

  /// Follows a process from its next exec on.
  Status FollowFromExec(pid_t pid);
  /// Follows a running process with its present threads.
  Status FollowRunning(pid_t pid);

  /// Returns when a ring is half full, when `stop_fd` can be read, or after the time.
  void Wait(int stop_fd, std::chrono::milliseconds limit);
  /// Delivers the records of the rings, in order of time. @cost 0.3 us a record
  void Read(const std::function<void(PerfRecord&)>& visit);

 private:
  /// The ring of one CPU and kind of event, for all programs.
  struct Ring {
    PerfEvent event = PerfEvent::kCpuTime;
    int cpu = 0;
    UniqueFd fd;  ///< a dummy event, to whose ring the other events write; or the event of the CPU
    void* memory = nullptr;
    size_t data_bytes = 0;
    bool is_over = false;  ///< its event's thread has ended: nobody is woken by it any more
  };

  explicit CpuSampler(const CpuSamplerOptions& options) : options_(options) {}
  Status AddRing(PerfEvent event, int cpu);
  static PerfEvent KindOf(const counter::SampledEvent& sampled) {
    return sampled.period > 0 ? PerfEvent::kOfPeriod : PerfEvent::kOfRate;
  }
  bool IsOfCpus(PerfEvent event) const { return event == PerfEvent::kCpuTime && options_.filter_fd >= 0; }
  perf_event_attr Attributes(PerfEvent event, bool from_exec) const;
  perf_event_attr EventAttributes(const counter::SampledEvent& sampled, const counter::Event& part,
                                  bool from_exec) const;
  Status FollowThread(pid_t tid, bool from_exec);
  Status FollowEvents(const Ring& ring, pid_t tid, bool from_exec);
  Status Redirect(UniqueFd fd, const Ring& ring);
  void ReadRing(Ring& ring, std::vector<PerfRecord>& records);
  void NameEvent(EventSample& sample) const;
  void CorrectCounts(std::vector<PerfRecord>& records);
  std::map<std::string, double> Totals() const;

  const CpuSamplerOptions options_;
  const int64_t to_monotonic_ns_ = KernelToMonotonicNs(HostRoot());
  bool sees_kernel_ = true;
  std::vector<Ring> rings_;
  std::vector<UniqueFd> events_;
  struct Opened {
    const counter::SampledEvent* sampled = nullptr;
    pid_t tid = 0;
    int fd = -1;  ///< of `events_`
  };
  mutable Mutex names_mutex_;
  std::map<uint64_t, Opened> opened_ ATTUNE_GUARDED_BY(names_mutex_);     ///< by the kernel's id
  std::map<std::string, Error> refused_ ATTUNE_GUARDED_BY(names_mutex_);  ///< by the event's name
  std::map<std::string, double> told_;                                    ///< counts of all samples, by event
  std::vector<std::byte> wrapped_;  ///< a record that goes over the end of its ring
};

}  // namespace attune::profile
