#pragma once
/// Idle time of the CPUs of the program, from the sensor `cpu`: where the scheduler's switches are not seen.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "analysis/account/account.h"
#include "analysis/operators/operator.h"
#include "model/source.h"

namespace attune::analysis {

/// Bounded: sums for each CPU.
class CpuUseOperator final : public Operator {
 public:
  std::vector<uint32_t> Columns(const model::Metadata& meta, const model::Stream& stream) override;
  void AddSamples(const model::Stream& stream, const model::SampleBlock& block) override;
  /// Part of the time of the CPUs that the program may use in which they were idle, 0 to 1; nullopt: not recorded.
  std::optional<double> IdlePart(const model::Metadata& meta) const;

 private:
  static constexpr size_t kSignals = 8;

  /// Counters of the kernel, in steps of a tick.
  struct Cpu {
    std::array<int64_t, kSignals> first{};
    std::array<int64_t, kSignals> last{};
  };

  std::map<model::StreamId, std::vector<model::ElementId>> columns_;  ///< CPUs, in the order of their columns
  std::map<model::ElementId, Cpu> cpus_;
};

/// Divides what an account that is not exact does not know of the CPUs by how long they were idle: the rest had others.
void DivideRest(const std::optional<double>& idle_part, CpuAccount& cpus);

}  // namespace attune::analysis
