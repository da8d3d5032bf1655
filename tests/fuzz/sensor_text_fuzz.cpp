// What sensors parse besides files of keys and values: the kernel's text, but from other kernels than those of the
// tests.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sensor/block/block.h"
#include "sensor/loadavg/loadavg.h"
#include "sensor/network/network.h"
#include "sensor/pressure/pressure.h"
#include "sensor/storage/storage.h"
#include "sensor/text/cpu_table.h"
#include "sensor/text/key_value_file.h"
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

/// @param prefix of each line
void Meminfo(std::string text, std::string prefix) {
  KeyValueFile learned(std::move(prefix));
  const auto specs = learned.Learn(text, "memory");
  if (!specs.ok()) return;
  std::vector<int64_t> values(specs->size());
  std::string half = text.substr(text.size() / 2);
  learned.Parse(text, values);
  learned.Parse(half, values);
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
  (void)ParseBlockTicks(text);
  std::array<int64_t, kSwitchValues> switches;
  ParseSwitches(text, switches);
}

/// Two tables, divided by a zero: what is counted by difference must be what is counted by learning the table again.
void Tables(std::string_view text) {
  const size_t middle = text.find('\0');
  if (middle == std::string_view::npos) return;
  const std::string_view first = text.substr(0, middle);
  const std::string_view second = text.substr(middle + 1);
  const attune::CpuSet cpus({0, 1, 2, 3, 9});
  CpuTable used, anew;
  if (!used.Learn(first, cpus).ok() || !anew.Learn(first, cpus).ok()) return;
  for (const std::string_view next : {second, first, second}) {
    used.Parse(next);
    anew.Parse({});  // forgets the text before
    anew.Parse(next);
    for (size_t row = 0; row < used.Rows().size(); ++row) {
      if (used.RowSum(row) != anew.RowSum(row)) __builtin_trap();
    }
    for (size_t cpu = 0; cpu < used.Cpus().size(); ++cpu) {
      if (used.CpuSum(cpu) != anew.CpuSum(cpu)) __builtin_trap();
    }
  }
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
    case 'm': Meminfo(std::string(text), ""); break;
    case 'd': Devices(text); break;
    case 'f': Mounts(text); break;
    case 't': Threads(text); break;
    case 'N': Meminfo(std::string(text), "Node 0 "); break;
    case 'T': Tables(text); break;
    default: Numbers(text);
  }
  return 0;
}
