#pragma once
/// The sampled profile of a session's programs: reads what profile::CpuSampler records of them, and publishes it as the
/// tables stacks, cpu_samples and accesses (docs/profile.md).

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/host_root.h"
#include "base/result.h"
#include "base/thread_safety.h"
#include "model/schema.h"
#include "profile/cpu_sampler.h"
#include "profile/operands.h"
#include "profile/page_nodes.h"
#include "session/core/pipeline.h"
#include "session/core/process_table.h"
#include "session/core/registry.h"
#include "session/probes/code_sites.h"

namespace attune::session {

class Profiling {
 public:
  /// @param period_ns of a thread's CPU time, between two samples
  /// @param filter_fd as of CpuSamplerOptions
  Profiling(int64_t period_ns, int filter_fd, ProcessTable& processes, Registry& registry, Pipeline& pipeline);
  ~Profiling();

  /// @return kPermission: the kernel permits no samples, and what to do about it
  Status Start();
  /// Reads what is there, then ends. Idempotent.
  void Stop();

  /// A child that waits to become the program. @thread one at a time, beside the others
  Status FollowFromExec(pid_t pid) { return sampler_->FollowFromExec(pid); }
  /// A process that runs already. @thread as FollowFromExec
  Status FollowRunning(pid_t pid) { return sampler_->FollowRunning(pid); }

  bool started() const { return sampler_ != nullptr; }
  /// @pre started(), as for the two above
  bool sees_kernel() const { return sampler_->sees_kernel(); }

 private:
  /// What is known of the code of a process, until it becomes another program.
  struct Code {
    std::unordered_map<uint64_t, model::ElementId> sites;                  ///< by the address behind the place
    std::unordered_map<uint64_t, std::vector<profile::Operand>> operands;  ///< by where a sample was taken
  };

  void Run();
  void Pass();
  void Take(profile::PerfRecord& record, bool is_again);
  void Add(const profile::CpuSample& sample);
  void Add(const profile::PageFault& fault);
  void Add(const profile::CodeMapped& mapped);
  void Add(const profile::Executed& executed);
  void Add(const profile::Renamed& renamed);
  void Add(const profile::Forked& forked);
  void Add(const profile::Lost& lost);
  void AddAccesses(const profile::CpuSample& sample, model::ElementId thread);
  model::ElementId Site(int32_t pid, uint64_t behind);
  int64_t StackOf(int64_t parent, model::ElementId site);
  const std::vector<profile::Operand>& OperandsAt(int32_t pid, uint64_t ip);
  void FindNodes();
  void Publish();

  const int64_t period_ns_;
  const int filter_fd_;
  ProcessTable& processes_;
  Registry& registry_;
  Pipeline& pipeline_;
  const HostRoot host_;
  std::unique_ptr<profile::CpuSampler> sampler_;
  CodeSites sites_;
  profile::PageNodes nodes_;
  std::vector<int> cpu_nodes_;                                         ///< empty: the machine has one node
  model::StreamId stream_ = 0;                                         ///< that gaps are of
  std::map<int32_t, Code> code_;                                       ///< by pid
  std::map<std::pair<int64_t, model::ElementId>, int64_t> stack_ids_;  ///< by parent and site
  std::vector<model::Stack> stacks_;                                   ///< of this pass, as all of these
  std::vector<model::CpuSample> samples_;
  std::vector<model::Access> accesses_;
  std::vector<int32_t> access_pids_;
  std::vector<model::Gap> gaps_;
  std::unordered_set<int32_t> deferred_;  ///< pids of `unknown_` of this pass
  std::vector<profile::PerfRecord>
      unknown_;  ///< of processes that the watcher has not told of yet: until the next pass

  Mutex mutex_;
  CondVar stop_;
  bool stopping_ ATTUNE_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace attune::session
