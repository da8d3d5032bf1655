#include "analysis/account/affinities.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "analysis/account/sensor_columns.h"
#include "base/saturating.h"

namespace attune::analysis {

using model::ElementId;

std::vector<uint32_t> AffinitiesOperator::Columns(const model::Metadata& meta, const model::Stream& stream) {
  constexpr std::array<std::string_view, 2> kSignals{"wait", "cpus_allowed"};
  return FindColumns(meta, stream, "thread", kSignals, columns_[stream.id]);
}

void AffinitiesOperator::AddSamples(const model::Stream& stream, const model::SampleBlock& block) {
  const std::vector<ElementId>& threads = columns_[stream.id];
  for (size_t row = 0; row < block.t_ns.size(); ++row) {
    for (size_t i = 0; i < threads.size(); ++i) {
      const int64_t queue_ns = block.columns[2 * i][row];
      const int64_t cpus = block.columns[2 * i + 1][row];
      if (queue_ns == model::kAbsent || cpus <= 0) continue;
      Thread& thread = threads_[threads[i]];
      if (thread.by_cpus.size() < kMaxNumbers || thread.by_cpus.contains(cpus))
        AddTo(thread.by_cpus[cpus], std::max<int64_t>(0, SaturatingSub(queue_ns, thread.queue_ns)));
      thread.queue_ns = std::max(thread.queue_ns, queue_ns);
    }
  }
}

const AffinitiesOperator::QueueByCpus* AffinitiesOperator::Of(ElementId thread) const {
  const auto found = threads_.find(thread);
  return found == threads_.end() ? nullptr : &found->second.by_cpus;
}

}  // namespace attune::analysis
