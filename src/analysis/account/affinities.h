#pragma once
/// CPUs that threads might use while they queued for one, from the sensor `thread`.

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "analysis/operators/operator.h"
#include "model/source.h"

namespace attune::analysis {

/// Bounded: for each thread at most kMaxNumbers.
class AffinitiesOperator final : public Operator {
 public:
  /// Time queued, in ns, by the number of CPUs of the thread's affinity then.
  using QueueByCpus = std::map<int64_t, int64_t>;

  std::vector<uint32_t> Columns(const model::Metadata& meta, const model::Stream& stream) override;
  void AddSamples(const model::Stream& stream, const model::SampleBlock& block) override;
  /// nullptr: not known.
  const QueueByCpus* Of(model::ElementId thread) const;

 private:
  static constexpr size_t kMaxNumbers = 16;

  struct Thread {
    int64_t queue_ns = 0;  ///< at its last sample
    QueueByCpus by_cpus;
  };

  std::map<model::StreamId, std::vector<model::ElementId>> columns_;  ///< threads, in the order of their columns
  std::unordered_map<model::ElementId, Thread> threads_;
};

}  // namespace attune::analysis
