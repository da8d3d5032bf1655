#include "cli/host_facts.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/clock.h"
#include "wire/tsc.h"

namespace attune::cli {
namespace {

/// The first line of a file; "" if it is not there.
std::string FirstLine(const HostRoot& host, std::string_view path) {
  const auto text = host.ReadFile(path);
  return text.ok() ? text->substr(0, text->find('\n')) : "";
}

/// The value of "name : value" in a file of such lines.
std::string FieldOf(const HostRoot& host, std::string_view path, std::string_view name) {
  const auto text = host.ReadFile(path);
  if (!text.ok()) return "";
  for (size_t at = 0; at < text->size();) {
    const size_t end = std::min(text->find('\n', at), text->size());
    const std::string_view line = std::string_view(*text).substr(at, end - at);
    at = end + 1;
    const size_t colon = line.find(':');
    if (!line.starts_with(name) || colon == std::string_view::npos) continue;
    const size_t key_end = line.find_last_not_of(" \t", colon - 1);
    if (key_end + 1 != name.size()) continue;
    const size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string_view::npos ? "" : std::string(line.substr(begin));
  }
  return "";
}

uint64_t MemInfoBytes(const HostRoot& host, std::string_view name) {
  return std::strtoull(FieldOf(host, "/proc/meminfo", name).c_str(), nullptr, 10) * 1024;
}

/// Of several rounds the fastest: the cost without interruptions.
template <class F>
double MeasureNs(F read) {
  constexpr int kRounds = 15;
  constexpr int kReads = 2000;
  double best = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    uint64_t sum = 0;
    const int64_t begin = MonotonicNs();
    for (int i = 0; i < kReads; ++i) sum += static_cast<uint64_t>(read());
    const int64_t end = MonotonicNs();
    if (sum != 0) best = std::min(best, static_cast<double>(end - begin) / kReads);
  }
  return best;
}

}  // namespace

HostFacts ReadHostFacts(const HostRoot& host) {
  HostFacts facts;
  utsname names{};
  if (uname(&names) == 0) {
    facts.name = names.nodename;
    facts.kernel = std::string(names.sysname) + " " + names.release + " " + names.machine;
  }
  facts.cpu_model = FieldOf(host, "/proc/cpuinfo", "model name");
  if (auto online = CpuSet::Parse(FirstLine(host, "/sys/devices/system/cpu/online")); online.ok())
    facts.online = *std::move(online);
  facts.allowed = CpuSet::Allowed();
  facts.memory_bytes = MemInfoBytes(host, "MemTotal");
  facts.memory_available_bytes = MemInfoBytes(host, "MemAvailable");
  facts.clock_source = FirstLine(host, "/sys/devices/system/clocksource/clocksource0/current_clocksource");
  facts.tsc_usable = TscIsUsable();
  facts.clock_read_ns = MeasureNs(MonotonicNs);
  facts.tsc_read_ns = MeasureNs(ReadTsc);
  facts.perf_event_paranoid = FirstLine(host, "/proc/sys/kernel/perf_event_paranoid");
  facts.vm_stat_interval_s = FirstLine(host, "/proc/sys/vm/stat_interval");
  return facts;
}

}  // namespace attune::cli
