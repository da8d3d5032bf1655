#include "analysis/account/cpu_use.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "analysis/account/sensor_columns.h"
#include "base/cpu_set.h"
#include "base/saturating.h"
#include "model/info_keys.h"

namespace attune::analysis {
namespace {

/// They add up to all time of a CPU (guests are in user and nice).
constexpr std::array<std::string_view, 8> kCpuTimes{"idle",   "iowait", "user",    "nice",
                                                    "system", "irq",    "softirq", "steal"};
constexpr size_t kIdleTimes = 2;  ///< the first ones

CpuSet CpusOf(const model::Metadata& meta) {
  const auto found = meta.info.find(std::string(model::info::kCpusAllowed));
  if (found == meta.info.end()) return {};
  const auto cpus = CpuSet::Parse(found->second);
  return cpus.ok() ? *cpus : CpuSet();
}

}  // namespace

std::vector<uint32_t> CpuUseOperator::Columns(const model::Metadata& meta, const model::Stream& stream) {
  static_assert(kSignals == kCpuTimes.size());
  return FindColumns(meta, stream, "cpu", kCpuTimes, columns_[stream.id]);
}

void CpuUseOperator::AddSamples(const model::Stream& stream, const model::SampleBlock& block) {
  const std::vector<model::ElementId>& cpus = columns_[stream.id];
  for (size_t row = 0; row < block.t_ns.size(); ++row) {
    for (size_t i = 0; i < cpus.size(); ++i) {
      std::array<int64_t, kSignals> values;
      for (size_t signal = 0; signal < kSignals; ++signal) values[signal] = block.columns[kSignals * i + signal][row];
      if (std::ranges::find(values, model::kAbsent) != values.end()) continue;
      const auto [cpu, is_new] = cpus_.try_emplace(cpus[i]);
      if (is_new) cpu->second.first = values;
      cpu->second.last = values;
    }
  }
}

std::optional<double> CpuUseOperator::IdlePart(const model::Metadata& meta) const {
  const CpuSet allowed = CpusOf(meta);
  double idle = 0, all = 0;
  for (const auto& [id, cpu] : cpus_) {
    const model::Element* element = meta.FindElement(id);
    if (element == nullptr || element->kind != model::ElementKind::kCpu) continue;
    if (!allowed.empty() && !allowed.Contains(static_cast<int>(element->os_id))) continue;
    for (size_t signal = 0; signal < kSignals; ++signal) {
      // idle and iowait may go back by a little: the kernel says so itself.
      const auto grown = static_cast<double>(std::max<int64_t>(0, SaturatingSub(cpu.last[signal], cpu.first[signal])));
      all += grown;
      idle += signal < kIdleTimes ? grown : 0;
    }
  }
  if (all <= 0) return std::nullopt;
  return idle / all;
}

void DivideRest(const std::optional<double>& idle_part, CpuAccount& cpus) {
  if (!idle_part) return;
  const double rest_ns = std::max(0.0, cpus.CapacityNs() - cpus.program_ns);
  cpus.idle_ns = std::min(rest_ns, *idle_part * cpus.CapacityNs());
  cpus.others_ns = rest_ns - cpus.idle_ns;
  cpus.unknown_ns = 0;
  cpus.is_divided = true;
}

}  // namespace attune::analysis
