// What sensors parse besides files of keys and values: the kernel's text, but from other kernels than those of the
// tests.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sensor/block/block.h"
#include "sensor/loadavg/loadavg.h"
#include "sensor/memory/memory.h"
#include "sensor/network/network.h"
#include "sensor/pressure/pressure.h"
#include "sensor/storage/storage.h"
#include "sensor/text/scan.h"
#include "sensor/thread/thread.h"

namespace {

using namespace attune::sensor;

void Loadavg(std::string_view text) {
  std::array<int64_t, kLoadavgValues> values;
  ParseLoadavg(text, values);
}

void Pressures(std::string_view text) {
  const Pressure pressure = ParsePressure(text);
  if (pressure.some.IsThere() && text.find("some") == std::string_view::npos) __builtin_trap();
}

void Meminfo(std::string_view text) {
  MeminfoText learned;
  const auto specs = learned.Learn(text);
  if (!specs.ok()) return;
  std::vector<int64_t> values(specs->size());
  learned.Parse(text, values);
  learned.Parse(text.substr(text.size() / 2), values);
}

void Devices(std::string_view text) {
  std::array<int64_t, kNetworkValues> network;
  std::array<int64_t, kBlockValues> block;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = NextLine(rest);
    if (ParseNetworkLine(line, network).size() > line.size()) __builtin_trap();
    if (ParseBlockLine(line, block).size() > line.size()) __builtin_trap();
  }
}

void Mounts(std::string_view text) {
  for (const std::string& mount_point : LocalMounts(text, {"ext4"})) {
    if (!mount_point.starts_with('/')) __builtin_trap();
  }
}

void Threads(std::string_view text) {
  std::array<int64_t, kSchedstatValues> times;
  ParseSchedstat(text, times);
  std::array<int64_t, kFaultValues> faults;
  ParseFaults(text, faults);
  std::array<int64_t, kSwitchValues> switches;
  ParseSwitches(text, switches);
}

void Numbers(std::string_view text) {
  for (int digits = 0; digits < 20; ++digits) {
    const char* at = text.data();
    ScanDecimal(at, text.data() + text.size(), digits);
    if (at < text.data() || at > text.data() + text.size()) __builtin_trap();
  }
  NumberOf(text);
  size_t bytes = 0;
  for (std::string_view rest = text; !rest.empty();) bytes += NextLine(rest).size();
  if (bytes > text.size()) __builtin_trap();
}

}  // namespace

/// The first byte chooses the parser.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'l': Loadavg(text); break;
    case 'p': Pressures(text); break;
    case 'm': Meminfo(text); break;
    case 'd': Devices(text); break;
    case 'f': Mounts(text); break;
    case 't': Threads(text); break;
    default: Numbers(text);
  }
  return 0;
}
