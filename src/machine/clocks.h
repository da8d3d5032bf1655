#pragma once
/// The clocks that programs read: what a reading costs, how fine they are, whether they agree between CPUs.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpu_set.h"
#include "machine/statistics.h"
#include "machine/topology.h"

namespace attune::machine {

/// Starting and stopping a clock around nothing, over and over (the P2G thesis's Table 6.1).
struct PairCost {
  int64_t iterations = 0;
  double execution_ns = 0;  ///< a pair takes, loop included
  double measured_ns = 0;   ///< the clock itself says that a pair takes: stop - start
};

/// The same clock read on two CPUs, one after the other.
struct Agreement {
  size_t pairs = 0;         ///< number of pairs of CPUs
  uint64_t readings = 0;    ///< that followed one on the other CPU
  uint64_t violations = 0;  ///< readings earlier than the one before
  double largest_step_back_ns = 0;
  /// By how much two CPUs differ at most, and how surely: half of the shortest way there and back. Nothing: not
  /// measured.
  std::optional<double> offset_ns;
  std::optional<double> offset_error_ns;
};

struct Clock {
  std::string name;                        ///< "CLOCK_MONOTONIC", "rdtsc"
  std::string unavailable;                 ///< why it was not measured; empty: it was
  Spread read_ns;                          ///< cost of one reading
  std::optional<int64_t> claimed_step_ns;  ///< resolution by clock_getres
  std::optional<double> observed_step_ns;  ///< the smallest step that was seen; nothing: it stood still
  std::optional<Agreement> agreement;      ///< nothing: not measured, see `no_agreement`
  std::string no_agreement;                ///< why
  std::vector<PairCost> pairs;             ///< by iterations, ascending
};

struct Clocks {
  std::vector<Clock> clocks;
  std::optional<double> tsc_hz;    ///< measured rate of the cycle counter
  std::vector<std::string> notes;  ///< sentences for people
};

struct ClockOptions {
  CpuSet allowed;
  size_t max_cpus = 4;               ///< number of CPUs, all pairs of which are compared
  uint32_t rounds = 400;             ///< rounds for each pair: readings here, there and here again
  int64_t compare_budget_ns = 0;     ///< for all pairs and clocks
  int64_t step_budget_ns = 0;        ///< to wait for a step of one clock
  int64_t pair_budget_ns = 0;        ///< for the table of pairs of one clock
  int64_t most_iterations = 10'000;  ///< largest number of pairs in a row of that table
};

/// Measures for about as long as the budgets say. @param progress (clocks done, of)
Clocks MeasureClocks(const Topology& topology, const ClockOptions& options,
                     const std::function<void(size_t, size_t)>& progress);

}  // namespace attune::machine
