#include "sensor/loadavg/loadavg.h"

#include <algorithm>
#include <array>

#include "sensor/text/scan.h"

namespace attune::sensor {
namespace {

constexpr std::string_view kPath = "/proc/loadavg";
constexpr std::array<std::string_view, kLoadavgValues> kSignals{"load1", "load5", "load15", "running", "tasks"};
constexpr size_t kAverages = 3;

}  // namespace

void ParseLoadavg(std::string_view text, std::span<int64_t, kLoadavgValues> out) {
  std::fill(out.begin(), out.end(), model::kAbsent);
  const char* at = text.data();
  const char* const end = at + text.size();
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = i < kAverages ? ScanDecimal(at, end, 2) : ScanNumber(at, end);
    if (out[i] == model::kAbsent || at == end) return;
    ++at;  // the blank, or the slash
  }
}

Result<std::vector<model::SignalSpec>> LoadavgSensor::Prepare(const HostRoot& host) {
  ATTUNE_TRY(file_, host.Open(kPath));
  std::vector<model::SignalSpec> specs;
  for (const std::string_view signal : kSignals) specs.push_back(Spec(signal));
  return specs;
}

bool LoadavgSensor::Sample(std::span<int64_t> out) {
  std::array<char, 128> text;
  const long size = PreadShortLines(file_.get(), text.data(), text.size());
  ParseLoadavg({text.data(), static_cast<size_t>(std::max(size, 0L))}, out.first<kLoadavgValues>());
  return size > 0;
}

}  // namespace attune::sensor
