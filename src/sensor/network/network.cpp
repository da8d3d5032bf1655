#include "sensor/network/network.h"

#include <fmt/format.h>

#include <algorithm>

#include "sensor/text/number_file.h"
#include "sensor/text/scan.h"

namespace attune::sensor {
namespace {

using model::kAbsent;

constexpr std::string_view kPath = "/proc/net/dev";
constexpr int64_t kBytesOfMegabit = 125'000;

/// The fields of a line that are sampled, in the order of the line.
struct Field {
  size_t place;
  std::string_view signal;
};
constexpr std::array<Field, kNetworkValues> kFields{{{0, "rx_bytes"},
                                                     {1, "rx_packets"},
                                                     {2, "rx_errors"},
                                                     {3, "rx_drops"},
                                                     {8, "tx_bytes"},
                                                     {9, "tx_packets"},
                                                     {10, "tx_errors"},
                                                     {11, "tx_drops"}}};

}  // namespace

std::string_view ParseNetworkLine(std::string_view text, std::span<int64_t, kNetworkValues> out) {
  std::fill(out.begin(), out.end(), kAbsent);
  const size_t begin = text.find_first_not_of(' ');
  const size_t colon = text.find(':');
  if (begin == std::string_view::npos || colon == std::string_view::npos || colon <= begin) return {};
  std::string_view rest = text.substr(colon + 1);
  size_t next = 0;
  for (size_t place = 0; next < kFields.size(); ++place) {
    const int64_t value = NextNumber(rest);
    if (value == kAbsent) break;
    if (place == kFields[next].place) out[next++] = value;
  }
  return next == 0 ? std::string_view() : text.substr(begin, colon - begin);
}

Result<std::vector<model::SignalSpec>> NetworkSensor::Prepare(const HostRoot& host) {
  ATTUNE_TRY(const std::string text, host.ReadFile(kPath));
  ATTUNE_TRY(file_, host.Open(kPath));
  std::vector<model::SignalSpec> specs;
  std::array<int64_t, kNetworkValues> values;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string name(ParseNetworkLine(NextLine(rest), values));
    if (name.empty()) continue;
    interfaces_.Add(name);
    const int64_t megabits = ReadNumber(host, fmt::format("/sys/class/net/{}/speed", name));  // -1: not known
    for (const Field& field : kFields) {
      specs.push_back(Spec(field.signal, {.name = name}));
      if (megabits > 0 && field.signal.ends_with("_bytes")) specs.back().max_per_second = megabits * kBytesOfMegabit;
    }
  }
  buffer_.resize(2 * text.size() + 4096);  // every number may grow
  return specs;
}

bool NetworkSensor::Sample(std::span<int64_t> out) {
  std::fill(out.begin(), out.end(), kAbsent);
  const long size = PreadShortLines(file_.get(), buffer_.data(), buffer_.size());
  if (size <= 0) return false;
  std::string_view rest(buffer_.data(), static_cast<size_t>(size));
  std::array<int64_t, kNetworkValues> values;
  interfaces_.Restart();
  while (!rest.empty()) {
    const std::string_view name = ParseNetworkLine(NextLine(rest), values);
    if (name.empty()) continue;
    const size_t index = interfaces_.Find(name);
    if (index == interfaces_.size()) continue;  // came after Prepare
    std::copy(values.begin(), values.end(), out.begin() + static_cast<std::ptrdiff_t>(index * kNetworkValues));
  }
  return true;
}

}  // namespace attune::sensor
