#include "analysis/account/memory_pressure.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/saturating.h"
#include "model/rows.h"

namespace attune::analysis {
namespace {

std::optional<PressureSums> SumsOf(const EventSums& counts) {
  const auto cycles = CountOf(counts, {"cycles", "cpu-cycles"});
  const auto instructions = CountOf(counts, {"instructions"});
  const auto misses = MissesOf(counts);
  if (!cycles || !instructions || !misses || *cycles <= 0 || *instructions <= 0) return std::nullopt;
  return PressureSums{.cycles = *cycles, .instructions = *instructions, .misses = std::max(0.0, *misses), .windows = 1};
}

size_t LevelOf(double misses) {
  const auto whole = static_cast<uint64_t>(std::clamp(misses, 0.0, 1e18));
  return std::min<size_t>(std::bit_width(whole), MemoryPressure::kLevels - 1);
}

}  // namespace

void PressureSums::Add(const PressureSums& other) {
  cycles += other.cycles;
  instructions += other.instructions;
  misses += other.misses;
  windows += other.windows;
}

void MemoryPressure::AddRows(const model::Batch& batch) {
  for (const model::ThreadCount& row : model::RowsFrom<model::ThreadCount>(batch)) {
    const int64_t number = SaneTime(row.t_ns) / kWindowNs;
    if (number <= settled_) continue;
    pending_[number][row.element][EventKey(row.event)] += static_cast<double>(row.count);
    while (pending_.size() > kPending) {
      settled_ = pending_.begin()->first;
      Settle(pending_.begin()->second, levels_);
      pending_.erase(pending_.begin());
    }
  }
}

void MemoryPressure::Settle(const Window& window, std::map<model::ElementId, Levels>& levels) {
  double all = 0;
  std::map<model::ElementId, PressureSums> threads;
  for (const auto& [thread, counts] : window) {
    all += MissesOf(counts).value_or(0);
    if (const auto sums = SumsOf(counts)) threads[thread] = *sums;
  }
  for (const auto& [thread, sums] : threads) {
    if (levels.size() >= kMaxThreads && !levels.contains(thread)) continue;
    levels[thread][LevelOf(all - sums.misses)].Add(sums);
  }
}

std::map<model::ElementId, MemoryPressure::Levels> MemoryPressure::ByThread() const {
  std::map<model::ElementId, Levels> levels = levels_;
  for (const auto& [number, window] : pending_) Settle(window, levels);
  return levels;
}

}  // namespace attune::analysis
