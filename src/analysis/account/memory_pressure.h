#pragma once
/// Events of each thread by how much other threads read from memory meanwhile (attune run --count, docs/findings.md).

#include <array>
#include <map>

#include "analysis/account/counted_events.h"
#include "analysis/operators/operator.h"

namespace attune::analysis {

/// Counts of a thread in windows of a second that have something in common.
struct PressureSums {
  double cycles = 0;
  double instructions = 0;
  double misses = 0;  ///< cache lines that came from memory
  int windows = 0;

  void Add(const PressureSums& other);
  double CyclesAnInstruction() const { return instructions > 0 ? cycles / instructions : 0; }
  double MissesAnInstruction() const { return instructions > 0 ? misses / instructions : 0; }
};

/// Sums the table thread_counts by windows of a second: a thread's by the power of two that the misses of all others in
/// the same window come to. @cost memory for each thread, and for the rows of three windows
class MemoryPressure final : public Operator {
 public:
  /// By misses of the others: 0, 1, 2 to 3, 4 to 7, ...
  static constexpr size_t kLevels = 48;
  using Levels = std::array<PressureSums, kLevels>;

  std::vector<model::Table> Tables() const override { return {model::ThreadCount::kTable}; }
  void AddRows(const model::Batch& batch) override;
  /// Sums by thread, of all rows that came; without threads whose cycles, instructions or misses were not counted.
  std::map<model::ElementId, Levels> ByThread() const;

 private:
  using Window = std::map<model::ElementId, EventSums>;
  static constexpr int64_t kWindowNs = 1'000'000'000;
  static constexpr size_t kMaxThreads = size_t{1} << 14;
  /// Rows of threads that ended come a little later than those of their second.
  static constexpr size_t kPending = 3;

  static void Settle(const Window& window, std::map<model::ElementId, Levels>& levels);

  std::map<int64_t, Window> pending_;  ///< by number
  int64_t settled_ = INT64_MIN;        ///< number of the last window that was settled
  std::map<model::ElementId, Levels> levels_;
};

}  // namespace attune::analysis
