// What one reading of each sensor costs on this machine: the figures of the catalog's `cost`.

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/clock.h"
#include "harness/figure.h"
#include "sensor/registry.h"

namespace attune::bench {
namespace {

constexpr int kReadings = 300;
constexpr double kShareOfACore = 0.001;  // what one sensor may take at its default interval

/// Readings with pauses between them, as in a session: what is read over and over at once is warmer than that.
std::vector<int64_t> ReadingsNs(model::Sensor& sensor, size_t columns) {
  std::vector<int64_t> row(columns), costs_ns;
  for (int i = 0; i < kReadings; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    costs_ns.push_back(TimeNs([&] { sensor.Sample(row); }));
  }
  std::sort(costs_ns.begin(), costs_ns.end());
  return costs_ns;
}

void Measure(model::Sensor& sensor) {
  const model::SensorInfo& info = sensor.Info();
  const std::string name = fmt::format("sensor {}, one reading", info.name);
  const auto specs = sensor.Prepare(HostRoot());
  if (!specs.ok()) return ReportUnavailable(name, specs.error().message);
  const std::vector<int64_t> costs_ns = ReadingsNs(sensor, specs->size());
  const auto quantile_us = [&](double q) {
    return static_cast<double>(costs_ns[static_cast<size_t>(q * (kReadings - 1))]) / 1e3;
  };
  Report({.name = name,
          .value = quantile_us(0.5),
          .unit = "us",
          .limit = static_cast<double>(info.default_interval_ns) * kShareOfACore / 1e3,
          .note = fmt::format("{} signals, p10 {:.1f}, p90 {:.1f}; limit: 0.1 % of a core at its interval",
                              specs->size(), quantile_us(0.1), quantile_us(0.9))});
}

}  // namespace
}  // namespace attune::bench

int main() {
  for (const auto& sensor : attune::sensor::MakeAllSensors(attune::sensor::ShownContext()))
    attune::bench::Measure(*sensor);
}
