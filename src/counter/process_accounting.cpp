#include "counter/process_accounting.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <string_view>
#include <thread>

#include "base/text.h"

namespace attune::counter {
namespace {

/// In the order of AccountedUse.
constexpr std::array<uint64_t, 4> kEvents{PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_PAGE_FAULTS_MIN,
                                          PERF_COUNT_SW_PAGE_FAULTS_MAJ, PERF_COUNT_SW_CONTEXT_SWITCHES};

int64_t Number(std::string_view text) {
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// The number behind a name in lines "name:\tnumber".
int64_t Named(std::string_view text, std::string_view name) {
  const size_t at = text.find(name);
  return at == std::string_view::npos ? 0 : Number(text.substr(at + name.size()));
}

/// Fields of /proc/PID/stat behind the name, which may contain anything.
std::vector<std::string_view> StatFields(std::string_view text) {
  const size_t end = text.rfind(") ");
  return end == std::string_view::npos ? std::vector<std::string_view>() : Split(text.substr(end + 2), " ");
}

/// A child that waits for a byte sleeps; until then it is on its way there.
void AwaitSleep(const HostRoot& host, const std::string& stat_path) {
  constexpr int kTries = 40;
  for (int i = 0; i < kTries; ++i) {
    const auto text = host.ReadFile(stat_path);
    if (!text.ok() || StatFields(*text).empty() || StatFields(*text).front() == "S") return;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

uint64_t ReadCount(const UniqueFd& fd) {
  uint64_t count = 0;
  return fd && ::read(fd.get(), &count, sizeof count) == static_cast<ssize_t>(sizeof count) ? count : 0;
}

}  // namespace

bool IsAccounted(const NamedEvent& event) {
  return IsAccountedOfThreads(event) && event.parts.front().config != PERF_COUNT_SW_CPU_MIGRATIONS;
}

bool IsAccountedOfThreads(const NamedEvent& event) {
  if (event.parts.size() != 1 || !IsSoftware(event.parts.front())) return false;
  const Event& part = event.parts.front();
  if (!part.in_user || !part.in_kernel) return false;
  return part.config == PERF_COUNT_SW_PAGE_FAULTS || part.config == PERF_COUNT_SW_CPU_MIGRATIONS ||
         std::ranges::find(kEvents, part.config) != kEvents.end();
}

double AccountedCount(const NamedEvent& event, const AccountedUse& use) {
  switch (event.parts.front().config) {
    case PERF_COUNT_SW_TASK_CLOCK: return static_cast<double>(use.cpu_ns);
    case PERF_COUNT_SW_PAGE_FAULTS_MIN: return static_cast<double>(use.minor_faults);
    case PERF_COUNT_SW_PAGE_FAULTS_MAJ: return static_cast<double>(use.major_faults);
    case PERF_COUNT_SW_PAGE_FAULTS: return static_cast<double>(use.minor_faults + use.major_faults);
    case PERF_COUNT_SW_CPU_MIGRATIONS: return static_cast<double>(use.migrations);
    default: return static_cast<double>(use.switches);
  }
}

UseBeforeExec::UseBeforeExec(const HostRoot& host, const PerfOpen& open, pid_t pid) {
  const std::string folder = fmt::format("/proc/{}/", pid);
  AwaitSleep(host, folder + "stat");
  constexpr size_t kMinorFaults = 7, kMajorFaults = 9;  // behind the state, which is field 3 of proc(5)
  if (const auto stat = host.ReadFile(folder + "stat"); stat.ok()) {
    const std::vector<std::string_view> fields = StatFields(*stat);
    if (fields.size() > kMajorFaults) {
      before_.minor_faults = Number(fields[kMinorFaults]);
      before_.major_faults = Number(fields[kMajorFaults]);
    }
  }
  if (const auto time = host.ReadFile(folder + "schedstat"); time.ok()) before_.cpu_ns = Number(*time);
  if (const auto status = host.ReadFile(folder + "status"); status.ok())
    before_.switches =
        Named(*status, "\nvoluntary_ctxt_switches:\t") + Named(*status, "\nnonvoluntary_ctxt_switches:\t");
  for (const uint64_t config : kEvents) {
    Pair& pair = counting_.emplace_back();
    perf_event_attr attributes =
        Event{.type = PERF_TYPE_SOFTWARE, .config = config, .device = "", .cpus = {}}.Attributes();
    pair.from_here.reset(std::max(-1, open(attributes, {.pid = pid})));
    attributes.disabled = attributes.enable_on_exec = 1;
    pair.from_exec.reset(std::max(-1, open(attributes, {.pid = pid})));
  }
}

void UseBeforeExec::End() {
  if (counting_.empty()) return;
  const auto between = [this](size_t i) {
    const uint64_t here = ReadCount(counting_[i].from_here), exec = ReadCount(counting_[i].from_exec);
    return counting_[i].from_exec && here > exec ? static_cast<int64_t>(here - exec) : 0;
  };
  before_.cpu_ns += between(0);
  before_.minor_faults += between(1);
  before_.major_faults += between(2);
  before_.switches += between(3);
  counting_.clear();
}

AccountedUse UseBeforeExec::Subtract(const AccountedUse& all) const {
  const auto less = [](int64_t value, int64_t by) { return std::max<int64_t>(0, value - by); };
  return {.cpu_ns = less(all.cpu_ns, before_.cpu_ns),
          .minor_faults = less(all.minor_faults, before_.minor_faults),
          .major_faults = less(all.major_faults, before_.major_faults),
          .switches = less(all.switches, before_.switches)};
}

}  // namespace attune::counter
