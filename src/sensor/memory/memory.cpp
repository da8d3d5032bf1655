#include "sensor/memory/memory.h"

#include <algorithm>

#include "sensor/catalog.h"
#include "sensor/text/scan.h"

namespace attune::sensor {
namespace {

constexpr std::string_view kPath = "/proc/meminfo";
constexpr int64_t kBytesPerKb = 1024;  // the kernel writes kB and means KiB

}  // namespace

Result<std::vector<model::SignalSpec>> MeminfoText::Learn(std::string_view text) {
  ATTUNE_CHECK_OK(text_.Learn(text));
  std::vector<model::SignalSpec> specs;
  factors_.clear();
  for (const std::string& key : text_.Keys()) {
    specs.push_back(*MakeSpec(*FindSensor("memory"), key));  // "*" fits all
    bool in_kb = false;
    for (std::string_view rest = text; !rest.empty();) {
      const std::string_view line = NextLine(rest);
      if (!line.starts_with(key + ":")) continue;
      in_kb = line.ends_with(" kB");
      break;
    }
    factors_.push_back(in_kb ? kBytesPerKb : 1);
    if (!in_kb && specs.back().unit == "bytes") specs.back().unit = "1";  // a key of a later kernel
  }
  return specs;
}

void MeminfoText::Parse(std::string_view text, std::span<int64_t> out) {
  text_.Parse(text, out);
  const size_t size = std::min(out.size(), factors_.size());
  for (size_t i = 0; i < size; ++i) {
    if (out[i] == model::kAbsent) continue;
    if (__builtin_mul_overflow(out[i], factors_[i], &out[i])) out[i] = model::kAbsent;
  }
}

const model::SensorInfo& MemorySensor::Info() const { return FindSensor("memory")->info; }

Result<std::vector<model::SignalSpec>> MemorySensor::Prepare(const HostRoot& host) {
  ATTUNE_TRY(const std::string text, host.ReadFile(kPath));
  auto specs = text_.Learn(text);
  if (!specs.ok()) return specs.error().WithContext(kPath);
  ATTUNE_TRY(file_, host.Open(kPath));
  buffer_.resize(text_.Capacity());
  return specs;
}

bool MemorySensor::Sample(std::span<int64_t> out) {
  const long size = PreadShortLines(file_.get(), buffer_.data(), buffer_.size());
  if (size <= 0) {
    std::fill(out.begin(), out.end(), model::kAbsent);
    return false;
  }
  text_.Parse({buffer_.data(), static_cast<size_t>(size)}, out);
  return true;
}

}  // namespace attune::sensor
