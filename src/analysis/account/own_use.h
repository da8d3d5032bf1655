#pragma once
/// CPU time of attune itself, which the scheduler's switches count as another program's.

#include <cstdint>
#include <map>
#include <vector>

#include "analysis/operators/operator.h"
#include "model/source.h"

namespace attune::analysis {

/// Bounded: one sum.
class OwnUseOperator final : public Operator {
 public:
  std::vector<uint32_t> Columns(const model::Metadata& meta, const model::Stream& stream) override;
  void AddSamples(const model::Stream& stream, const model::SampleBlock& block) override;
  /// CPU time of the session's process, which lives as long as the recording; 0: not known.
  int64_t CpuNs() const { return cpu_ns_; }

 private:
  std::map<model::StreamId, std::vector<model::ElementId>> columns_;
  int64_t cpu_ns_ = 0;
};

}  // namespace attune::analysis
