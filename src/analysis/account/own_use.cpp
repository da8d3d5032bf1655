#include "analysis/account/own_use.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "analysis/account/sensor_columns.h"

namespace attune::analysis {
namespace {

constexpr std::array<std::string_view, 1> kSessionCpu{"session_cpu"};

}  // namespace

std::vector<uint32_t> OwnUseOperator::Columns(const model::Metadata& meta, const model::Stream& stream) {
  return FindColumns(meta, stream, "attune", kSessionCpu, columns_[stream.id]);
}

void OwnUseOperator::AddSamples(const model::Stream& stream, const model::SampleBlock& block) {
  for (size_t i = 0; i < columns_[stream.id].size(); ++i) {
    for (const int64_t value : block.columns[i]) {
      if (value != model::kAbsent) cpu_ns_ = std::max(cpu_ns_, value);
    }
  }
}

}  // namespace attune::analysis
