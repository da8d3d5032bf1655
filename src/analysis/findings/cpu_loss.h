#pragma once
/// CPU time of one kind, added up by thread and by place: common parts of the findings that come from CPU samples.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/findings/finding_input.h"

namespace attune::analysis {

/// A thread's CPU time for some of its samples: a timer that comes late, as on a virtual machine that has no CPU
/// itself, makes one sample where several are due.
int64_t ScaledCpuTime(const FindingInput& input, model::ElementId thread, int64_t sampled_ns);

/// Sets lost_ns, share, threads and `part_of_cpu_time` from sampled time by thread.
void SetCpuLost(const FindingInput& input, const std::map<model::ElementId, int64_t>& threads, Finding& finding);

/// The one with the largest amount; 0: there is none.
model::ElementId MostOf(const std::map<model::ElementId, int64_t>& amounts);

/// Properties of call paths, from the names of their functions and from marks (model/sample_marks.h).
enum class PathPart : uint32_t {
  kFault = 1 << 0,           ///< the kernel gives a page its memory
  kCopy = 1 << 1,            ///< ... by copying another one
  kRelease = 1 << 2,         ///< the kernel takes pages away
  kExit = 1 << 3,            ///< a process ends, or becomes another program
  kRead = 1 << 4,            ///< in a system call that reads, files or messages
  kReadWrite = 1 << 5,       ///< in a system call that reads or writes
  kMessage = 1 << 6,         ///< ... what has no buffer: sockets, events, timers
  kTransfer = 1 << 7,        ///< the kernel copies what is read or written
  kYield = 1 << 8,           ///< gives its CPU away
  kSwitch = 1 << 9,          ///< the kernel puts threads to sleep, or wakes them
  kAllocate = 1 << 10,       ///< in the C library's allocator
  kLockOfLibrary = 1 << 11,  ///< in the C library's own locks
  kLibc = 1 << 12,           ///< in the C library, or in the probe
  kParallel = 1 << 18,       ///< in a runtime whose waits are recorded call by call: OpenMP, TBB, MPI
  kIoCall = 1 << 20,         ///< in the C library's read, write, pread or pwrite
  kPreempted = 1 << 21,      ///< on the way back to the program it lost its CPU: that is no part of the call
  kChannel = 1 << 19,        ///< reads a pipe, a socket or the like
  kSpinning = 1 << 13,       ///< as the mark of that name says, as those below
  kAtomic = 1 << 14,
  kNoWait = 1 << 15,
  kSmall = 1 << 16,
  kKernel = 1 << 17,  ///< in the kernel
};

/// Facts about the program's innermost own function, and about its callees in libraries and in the kernel.
struct PathFacts {
  uint32_t parts = 0;      ///< PathPart
  int64_t most_bytes = 0;  ///< size of a small read or write

  bool Has(PathPart part) const { return (parts & static_cast<uint32_t>(part)) != 0; }
};

/// The facts of call paths, each place's looked up once. @cost a step for each place of a path
class PathReader {
 public:
  /// @param samples and names must outlive this
  PathReader(const SampleSums& samples, const SiteNames& names) : samples_(samples), names_(names) {}

  /// Facts of the path that ends at this node.
  const PathFacts& Of(int64_t stack);

 private:
  struct Site {
    uint32_t parts = 0;
    int64_t most_bytes = 0;
    bool is_own = false;  ///< code of the program, and of no library of the system's
  };
  const model::Stack* Node(int64_t stack) const;
  const Site& Look(model::ElementId site);

  const SampleSums& samples_;
  const SiteNames& names_;
  std::unordered_map<model::ElementId, Site> sites_;
  std::unordered_map<int64_t, PathFacts> paths_;
};

/// Whether reads of pipes, sockets and the like never find anything: where something is there a tenth of their time or
/// more is for copying, and what belongs to that.
/// @param channels_ns CPU time of reads in which nothing is copied  @param receives_ns in which something is
bool FindNothing(int64_t channels_ns, int64_t receives_ns);

/// CPU time of one kind of a process.
struct ProcessLoss {
  struct Function {
    int64_t ns = 0;
    std::map<model::ElementId, int64_t> sites;  ///< ns, by the program's own place (OwnPlaceOf)
  };
  std::map<model::ElementId, int64_t> threads;                        ///< ns as sampled
  std::map<std::pair<std::string, std::string>, Function> functions;  ///< by module and name
};

class CpuLoss {
 public:
  /// @param input, whose cpu_samples are known, must outlive this
  explicit CpuLoss(const FindingInput& input) : input_(input) {}

  void Add(model::ElementId thread, int64_t stack, int64_t ns);
  const std::map<model::ElementId, ProcessLoss>& by_process() const { return by_process_; }

 private:
  model::ElementId OwnOf(int64_t stack);

  const FindingInput& input_;
  std::unordered_map<int64_t, model::ElementId> own_;  ///< by stack
  std::map<model::ElementId, ProcessLoss> by_process_;
};

/// Fills in times, threads, the place with most of it, and other functions with at least a tenth. The cause is
/// estimated from samples: medium confidence.
Finding CpuFinding(const FindingInput& input, const FindingClass& kind, const ProcessLoss& loss);

/// All CPU time of some threads of one process, as a finding: its places are those at which they compute.
/// @param threads a map or set by thread  @return nullopt: none of them was sampled
template <class Threads>
std::optional<Finding> ComputingFinding(const FindingInput& input, const FindingClass& kind, const Threads& threads) {
  if (input.cpu_samples == nullptr) return std::nullopt;
  CpuLoss computing(input);
  for (const auto& [key, ns] : input.cpu_samples->weights) {
    if (threads.contains(key.first)) computing.Add(key.first, key.second, ns);
  }
  if (computing.by_process().empty()) return std::nullopt;
  return CpuFinding(input, kind, computing.by_process().begin()->second);
}

}  // namespace attune::analysis
