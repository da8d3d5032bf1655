#include "machine/gpus.h"

#include <algorithm>

namespace attune::machine {

std::vector<Gpu> FindGpus(const HostRoot& host, model::Sensor& sensor) {
  const auto signals = sensor.Prepare(host);
  if (!signals.ok()) return {};
  std::vector<int64_t> values(signals->size(), model::kAbsent);
  sensor.Sample(values);
  std::vector<Gpu> gpus;
  for (size_t i = 0; i < signals->size(); ++i) {
    const model::SignalSpec& signal = (*signals)[i];
    const auto known =
        std::find_if(gpus.begin(), gpus.end(), [&](const Gpu& gpu) { return gpu.name == signal.element.name; });
    Gpu& gpu = known == gpus.end() ? gpus.emplace_back(Gpu{signal.element.name, {}}) : *known;
    if (signal.signal == "memory_total" && values[i] != model::kAbsent)
      gpu.memory_bytes = static_cast<uint64_t>(values[i]);
  }
  return gpus;
}

}  // namespace attune::machine
