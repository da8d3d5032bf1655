#include "sensor/vmstat/vmstat.h"

#include <algorithm>

#include "sensor/catalog.h"

namespace attune::sensor {
namespace {

constexpr std::string_view kPath = "/proc/vmstat";

}  // namespace

const model::SensorInfo& VmstatSensor::Info() const { return FindSensor("vmstat")->info; }

Result<std::vector<model::SignalSpec>> VmstatSensor::Prepare(const HostRoot& host) {
  ATTUNE_TRY(const std::string text, host.ReadFile(kPath));
  if (Status learned = text_.Learn(text); !learned.ok()) return learned.error().WithContext(kPath);
  ATTUNE_TRY(file_, host.Open(kPath));
  buffer_.resize(text_.Capacity());
  std::vector<model::SignalSpec> specs;
  for (const std::string& key : text_.Keys()) specs.push_back(*MakeSpec(*FindSensor("vmstat"), key));  // "*" fits all
  return specs;
}

bool VmstatSensor::Sample(std::span<int64_t> out) {
  const long size = PreadShortLines(file_.get(), buffer_.data(), buffer_.size());
  if (size <= 0) {
    std::fill(out.begin(), out.end(), model::kAbsent);
    return false;
  }
  text_.Parse({buffer_.data(), static_cast<size_t>(size)}, out);
  return true;
}

}  // namespace attune::sensor
