#include "sensor/interrupts/interrupts.h"

#include <fmt/format.h>

#include <algorithm>

#include "sensor/catalog.h"

namespace attune::sensor {
namespace {

struct SourceKind {
  std::string_view path;
  std::string_view prefix;      ///< start of a line's signal: "irq_LOC"
  std::string_view cpu_signal;  ///< all lines of one CPU
};
constexpr std::array kKinds{SourceKind{"/proc/interrupts", "irq_", "interrupts"},
                            SourceKind{"/proc/softirqs", "softirq_", "softirqs"}};

void Describe(const CpuTable& table, const SourceKind& kind, std::vector<model::SignalSpec>& specs) {
  const CatalogSensor& catalog = *FindSensor("interrupts");
  for (const CpuTable::Row& row : table.Rows()) {
    specs.push_back(*MakeSpec(catalog, fmt::format("{}{}", kind.prefix, row.key)));
    if (!row.what.empty()) specs.back().description += ": " + row.what;
  }
  for (const CpuId cpu : table.Cpus()) {
    specs.push_back(*MakeSpec(catalog, kind.cpu_signal, {model::ElementKind::kCpu, cpu, fmt::format("cpu{}", cpu)}));
  }
}

}  // namespace

Status InterruptsSensor::Open(const HostRoot& host, std::string_view path, const CpuSet& present, Source& source) {
  ATTUNE_TRY(const std::string text, host.ReadFile(path));
  if (const Status learned = source.table.Learn(text, present); !learned.ok()) return learned.error().WithContext(path);
  ATTUNE_TRY(source.file, host.Open(path));
  return {};
}

Result<std::vector<model::SignalSpec>> InterruptsSensor::Prepare(const HostRoot& host) {
  sources_.clear();
  // The CPUs that may come; where /sys is hidden, those of the tables are all.
  const CpuSet present = CpuSet::In(host, "/sys/devices/system/cpu/present");
  std::vector<model::SignalSpec> specs;
  std::optional<Error> error;
  for (const SourceKind& kind : kKinds) {
    Source source;
    if (Status opened = Open(host, kind.path, present, source); !opened.ok()) {
      if (!error) error = opened.error();
      continue;
    }
    buffer_.resize(std::max(buffer_.size(), source.table.Capacity()));
    Describe(source.table, kind, specs);
    sources_.push_back(std::move(source));
  }
  if (sources_.empty()) return *error;
  return specs;
}

bool InterruptsSensor::Sample(std::span<int64_t> out) {
  bool any = false;
  int64_t* at = out.data();
  for (Source& source : sources_) {
    const long size = PreadAll(source.file.get(), buffer_.data(), buffer_.size());
    source.table.Parse({buffer_.data(), static_cast<size_t>(std::max(size, 0L))});
    any = any || size > 0;
    for (size_t row = 0; row < source.table.Rows().size(); ++row) *at++ = source.table.RowSum(row);
    for (size_t cpu = 0; cpu < source.table.Cpus().size(); ++cpu) *at++ = source.table.CpuSum(cpu);
  }
  return any;
}

}  // namespace attune::sensor
