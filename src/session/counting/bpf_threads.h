#pragma once
/// Counts of each thread by eBPF programs (kernel::ThreadCountsBpf), with the events' names.

#include <memory>

#include "base/cpu_set.h"
#include "base/host_root.h"
#include "counter/process_accounting.h"
#include "counter/thread_counting.h"
#include "kernel/thread_counts_bpf.h"

namespace attune::session {

class BpfThreads final : public counter::ThreadCounting {
 public:
  /// Events that the kernel accounts of threads anyway cost the program nothing; each other one is read at each switch
  /// of a followed thread.
  /// @param tells moments at which there is a row, too (kernel::ThreadCountsBpf::Create)
  /// @param rows_bytes as kernel::ThreadCountsBpf::Create()
  /// Error: kPermission, kUnavailable; more than kernel::ThreadCountsBpf::kMaxCounters events must be read
  static Result<std::unique_ptr<BpfThreads>> Create(const HostRoot& host, const counter::PerfOpen& open,
                                                    std::vector<counter::NamedEvent> events, const CpuSet& online,
                                                    unsigned tells = 0, uint32_t rows_bytes = kThreadRowsBytes);

  /// A row of a thread also each time that the event has occurred so often in it. To call before Follow().
  void SampleEvery(const counter::NamedEvent& event, uint64_t period) { samplings_.push_back({event, period}); }
  Status Follow(pid_t pid, bool from_exec) override;
  int64_t PeriodNs() const override { return 50'000'000; }
  Status Read(bool with_living, const Visit& visit) override;
  bool HaveAllEnded() const override;
  Status End(const Visit& visit) override;
  std::vector<counter::EventNote> Notes() const override;

 private:
  BpfThreads(const HostRoot& host, counter::PerfOpen open, std::vector<counter::NamedEvent> events)
      : host_(host), open_(std::move(open)), events_(std::move(events)) {}
  /// Opens a part of an event on each CPU that it can be counted on. @return empty: it cannot be counted, and a note
  Result<kernel::ThreadCountsBpf::OnCpus> OpenPart(const counter::NamedEvent& event, const counter::Event& part,
                                                   const CpuSet& online,
                                                   const kernel::ThreadCountsBpf::OnCpus& leaders);
  Result<std::vector<kernel::ThreadCountsBpf::OnCpus>> OpenAll(const CpuSet& online);
  /// Rows where threads of whatever program take samples of themselves.
  Status SampleSelf();
  /// Opens the events with a period, of a process or of one thread, and of what it starts.
  Status Sample(pid_t tid, bool from_exec);
  counter::ThreadCounts Named(const thread_row& row) const;
  counter::EventCount Scaled(const counter::NamedEvent& event, const thread_row& row, size_t& next) const;

  HostRoot host_;
  counter::PerfOpen open_;
  std::vector<counter::NamedEvent> events_;
  struct Sampling {
    counter::NamedEvent event;
    uint64_t period = 0;
  };
  std::vector<Sampling> samplings_;
  std::vector<UniqueFd> fds_;
  std::vector<bool> is_counted_;  ///< by counter
  std::unique_ptr<kernel::ThreadCountsBpf> counts_;
  std::vector<counter::EventNote> notes_;
};

}  // namespace attune::session
