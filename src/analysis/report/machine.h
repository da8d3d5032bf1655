#pragma once
/// Activity of the machine, from the series of the sensors `cpu` and `vmstat`.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analysis/operators/operator.h"

namespace attune::analysis {

/// Shares of a CPU's time; they add up to 1.
struct CpuShares {
  double user = 0;    ///< with nice and guests
  double system = 0;  ///< with interrupts
  double idle = 0;
  double iowait = 0;
  double steal = 0;

  double Busy() const { return user + system; }
};

struct CpuSummary {
  int64_t cpu = 0;
  CpuShares shares;
  double idle_while_others_busy =
      0;  ///< share of the time in which it was idle (under 10 % busy) and another CPU was not (over 90 %)
};

/// A counter's growth or a gauge's level, over the recording.
struct MachineSignal {
  std::string name;   ///< "vmstat.pgfault"
  std::string label;  ///< "page faults"
  std::string unit;   ///< unit of `total`, or of the level
  bool is_rate = true;
  double total = 0;          ///< counters: how much it grew, resets left out
  double mean = 0;           ///< a second for counters, the level for gauges
  double low = 0, high = 0;  ///< extremes of windows of at least 100 ms (counters), of the samples (gauges)
  int64_t resets = 0;        ///< how often the counter went backwards
};

struct MachineSummary {
  std::vector<CpuSummary> cpus;  ///< by number; empty: not recorded
  CpuShares all;                 ///< over all CPUs
  double measured_s = 0;         ///< time that the CPU figures stand on
  std::vector<MachineSignal> signals;

  /// nullptr if it was not recorded.
  const MachineSignal* Find(std::string_view name) const;
};

/// Takes the columns of about 30 signals, stream by stream (FeedRows).
class MachineOperator : public Operator {
 public:
  virtual MachineSummary Finish() = 0;
};
std::unique_ptr<MachineOperator> MakeMachineOperator();

}  // namespace attune::analysis
