// What one reading of each sensor costs on this machine: the figures of the catalog's `cost`.

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/clock.h"
#include "harness/figure.h"
#include "sensor/registry.h"
#include "sensor/text/cpu_table.h"

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

/// /proc/interrupts of a large machine, as the kernel writes it. @param round what the lines that always change count
std::string LargeTable(int cpus, int lines, uint32_t round) {
  constexpr int kBusyLines = 6;  // timer, rescheduling, calls, TLB, ...: they grow on every CPU all the time
  std::string text = "            ";
  for (int cpu = 0; cpu < cpus; ++cpu) text += fmt::format("CPU{:<8}", cpu);
  text += '\n';
  for (int line = 0; line < lines; ++line) {
    text += fmt::format("{:>4}:", line);
    for (int cpu = 0; cpu < cpus; ++cpu) text += fmt::format(" {:10}", line < kBusyLines ? round + 1000u : 0u);
    text += "  PCI-MSIX-0000:00:02.0   1-edge      queue\n";
  }
  return text;
}

void MeasureLargeTable() {
  constexpr int kCpus = 512, kLines = 600;
  constexpr uint32_t kTexts = 8;
  std::vector<std::string> texts;
  for (uint32_t i = 0; i < kTexts; ++i) texts.push_back(LargeTable(kCpus, kLines, i));
  sensor::CpuTable table;
  if (!table.Learn(texts[0], CpuSet()).ok()) return;
  const double ns = MedianNs(
      [&] {
        for (const std::string& text : texts) table.Parse(text);
      },
      kTexts);
  Report({.name = "interrupts of 512 CPUs and 600 lines, parse",
          .value = ns / 1e3,
          .unit = "us",
          .limit = 1000,
          .note = fmt::format("{} MB of text, 6 lines changed on every CPU; limit: 0.1 % of a core at 1 s",
                              texts[0].size() >> 20)});
}

}  // namespace
}  // namespace attune::bench

int main() {
  for (const auto& sensor : attune::sensor::MakeAllSensors(attune::sensor::ShownContext()))
    attune::bench::Measure(*sensor);
  attune::bench::MeasureLargeTable();
}
