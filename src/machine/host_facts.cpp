#include "machine/host_facts.h"

#include <sys/utsname.h>

#include <algorithm>

#include "base/clock.h"
#include "wire/tsc.h"

namespace attune::machine {
namespace {

/// The first line of a file; "" if it is not there.
std::string FirstLine(const HostRoot& host, std::string_view path) {
  const auto text = host.ReadFile(path);
  return text.ok() ? text->substr(0, text->find('\n')) : "";
}

/// Cost of a read in the fastest of several rounds: the cost without interruptions.
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
  facts.capabilities = ReadCapabilities(host);
  facts.online = CpuSet::In(host, "/sys/devices/system/cpu/online");
  facts.allowed = CpuSet::Allowed();
  facts.clock_source = FirstLine(host, "/sys/devices/system/clocksource/clocksource0/current_clocksource");
  facts.tsc_usable = TscIsUsable();
  facts.clock_read_ns = MeasureNs(MonotonicNs);
  facts.tsc_read_ns = MeasureNs(ReadTsc);
  facts.perf_event_paranoid = FirstLine(host, "/proc/sys/kernel/perf_event_paranoid");
  facts.vm_stat_interval_s = FirstLine(host, "/proc/sys/vm/stat_interval");
  return facts;
}

}  // namespace attune::machine
