#include "track/process_usage.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <set>

#include "base/clock.h"
#include "base/text.h"

namespace attune::track {
namespace {

int64_t TickNs() {
  const long ticks_per_second = ::sysconf(_SC_CLK_TCK);
  return kSecondNs / std::max(1L, ticks_per_second);
}

bool ParseNumber(std::string_view text, int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) {  // unsigned 64-bit fields: limits, addresses
    uint64_t large = 0;
    const auto [large_end, large_error] = std::from_chars(text.data(), text.data() + text.size(), large);
    value = static_cast<int64_t>(large);
    return large_error == std::errc() && large_end == text.data() + text.size();
  }
  return error == std::errc() && end == text.data() + text.size();
}

/// The number after "key:" at the begin of a line; kAbsent: not there.
int64_t StatusValue(std::string_view status, std::string_view key) {
  size_t at = status.starts_with(key) ? 0 : status.find(fmt::format("\n{}", key));
  if (at == std::string_view::npos) return model::kAbsent;
  at = status.find_first_not_of(" \t", at + key.size() + (at == 0 ? 0 : 1));
  if (at == std::string_view::npos) return model::kAbsent;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(status.data() + at, status.data() + status.size(), value);
  return error == std::errc() ? value : model::kAbsent;
}

void Add(int64_t& sum, int64_t value) {
  if (value != model::kAbsent) sum = sum == model::kAbsent ? value : sum + value;
}

}  // namespace

Result<ProcStat> ParseProcStat(std::string_view text) {
  const auto corrupt = [](std::string_view what) {
    return Error{Errc::kCorrupt, fmt::format("/proc/PID/stat: {}", what), ""};
  };
  ProcStat stat;
  // The name may hold parentheses and spaces: it ends at the last ')'.
  const size_t open = text.find(" (");
  const size_t close = text.rfind(") ");
  if (open == std::string_view::npos || close == std::string_view::npos || close < open + 2) return corrupt("no name");
  if (!ParseNumber(text.substr(0, open), stat.pid) || stat.pid <= 0) return corrupt("no pid");
  stat.name = text.substr(open + 2, close - open - 2);
  std::string_view rest = text.substr(close + 2);
  if (rest.empty()) return corrupt("no state");
  stat.state = rest.front();
  rest.remove_prefix(1);

  // Field numbers of proc(5).
  std::array<int64_t, 53> fields{};
  size_t count = 4;
  for (; count < fields.size(); ++count) {
    const size_t begin = rest.find_first_not_of(" \n");
    if (begin == std::string_view::npos) break;
    rest.remove_prefix(begin);
    const size_t end = std::min(rest.find_first_of(" \n"), rest.size());
    if (!ParseNumber(rest.substr(0, end), fields[count]))
      return corrupt(fmt::format("field {} is not a number", count));
    rest.remove_prefix(end);
  }
  if (count <= 22) return corrupt(fmt::format("only {} fields", count - 1));
  stat.parent_pid = fields[4];
  stat.minor_faults = fields[10];
  stat.children_minor_faults = fields[11];
  stat.major_faults = fields[12];
  stat.user_ticks = fields[14];
  stat.system_ticks = fields[15];
  stat.threads = fields[20];
  stat.start_ticks = fields[22];
  stat.stack_start = fields[28];
  // Fields that belong to another user read 0; so does the exit code, which then cannot be told from success.
  if (count == fields.size() && (stat.state == 'Z' || stat.state == 'X')) stat.wait_status = fields[52];
  return stat;
}

Result<ProcStat> ReadProcStat(const HostRoot& host, int64_t pid) {
  ATTUNE_TRY(const std::string text, host.ReadFile(fmt::format("/proc/{}/stat", pid)));
  return ParseProcStat(text);
}

Result<ProcStat> ReadThreadStat(const HostRoot& host, int64_t pid, int64_t tid) {
  ATTUNE_TRY(const std::string text, host.ReadFile(fmt::format("/proc/{}/task/{}/stat", pid, tid)));
  return ParseProcStat(text);
}

int64_t StartNs(const ProcStat& stat) {
  timespec boot{};
  ::clock_gettime(CLOCK_BOOTTIME, &boot);
  const int64_t now_ns = MonotonicNs();
  // Rounded: the clocks are read one after the other, and equal start ticks must give equal times.
  const int64_t suspended_ns = (boot.tv_sec * kSecondNs + boot.tv_nsec - now_ns) / 1'000'000 * 1'000'000;
  int64_t start_ns = 0;
  if (__builtin_mul_overflow(stat.start_ticks, TickNs(), &start_ns)) return now_ns;
  return std::min(start_ns - suspended_ns, now_ns);
}

model::ProcessUsage UsageOf(const ProcStat& stat) {
  const auto ticks_to_ns = [](int64_t ticks) {
    int64_t ns = 0;
    return __builtin_mul_overflow(ticks, TickNs(), &ns) ? model::kAbsent : ns;
  };
  model::ProcessUsage usage;
  usage.user_ns = ticks_to_ns(stat.user_ticks);
  usage.system_ns = ticks_to_ns(stat.system_ticks);
  usage.minor_faults = stat.minor_faults;
  usage.major_faults = stat.major_faults;
  return usage;
}

void AddStatus(std::string_view status, model::ProcessUsage& usage) {
  const int64_t peak_kib = StatusValue(status, "VmHWM:");
  if (peak_kib >= 0 && peak_kib < (INT64_MAX >> 10))
    usage.max_rss_bytes = std::max(usage.max_rss_bytes, peak_kib * 1024);
  Add(usage.voluntary_switches, StatusValue(status, "voluntary_ctxt_switches:"));
  Add(usage.involuntary_switches, StatusValue(status, "nonvoluntary_ctxt_switches:"));
}

Result<model::ProcessUsage> ReadUsage(const HostRoot& host, int64_t pid) {
  ATTUNE_TRY(const ProcStat stat, ReadProcStat(host, pid));
  model::ProcessUsage usage = UsageOf(stat);
  ATTUNE_TRY(const std::vector<int64_t> threads, ListThreads(host, pid));
  for (const int64_t tid : threads) {
    const auto status = host.ReadFile(fmt::format("/proc/{}/task/{}/status", pid, tid));
    if (status.ok()) AddStatus(*status, usage);  // else it ended meanwhile
  }
  return usage;
}

Result<std::string> ReadCommand(const HostRoot& host, int64_t pid) {
  ATTUNE_TRY(std::string command, host.ReadFile(fmt::format("/proc/{}/cmdline", pid), 64u << 10));
  while (!command.empty() && command.back() == '\0') command.pop_back();
  if (command.empty()) {
    ATTUNE_TRY(const ProcStat stat, ReadProcStat(host, pid));
    return fmt::format("[{}]", CleanText(stat.name));
  }
  std::replace(command.begin(), command.end(), '\0', ' ');
  return CleanText(command);
}

Result<std::vector<int64_t>> ListThreads(const HostRoot& host, int64_t pid) {
  ATTUNE_TRY(const std::vector<std::string> names, host.List(fmt::format("/proc/{}/task", pid)));
  std::vector<int64_t> threads;
  for (const std::string& name : names) {
    int64_t tid = 0;
    if (ParseNumber(name, tid)) threads.push_back(tid);
  }
  std::sort(threads.begin(), threads.end());
  return threads;
}

Result<std::map<std::string, std::string>> ReadEnvironment(const HostRoot& host, int64_t pid) {
  ATTUNE_TRY(const std::string text, host.ReadFile(fmt::format("/proc/{}/environ", pid)));
  std::map<std::string, std::string> environment;
  for (const std::string_view entry : Split(text, std::string_view("\0", 1))) {
    const size_t equals = entry.find('=');
    if (equals != std::string_view::npos) environment.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return environment;
}

Result<std::vector<int64_t>> ListProcesses(const HostRoot& host) {
  ATTUNE_TRY(const std::vector<std::string> names, host.List("/proc"));
  std::vector<int64_t> pids;
  for (const std::string& name : names) {
    int64_t pid = 0;
    if (name.front() >= '0' && name.front() <= '9' && ParseNumber(name, pid)) pids.push_back(pid);
  }
  std::sort(pids.begin(), pids.end());
  return pids;
}

std::vector<model::ProcessEvent> DescribeProcess(const HostRoot& host, const ProcStat& stat) {
  using model::ProcessEventKind;
  std::vector<model::ProcessEvent> events;
  const int64_t start_ns = StartNs(stat);
  const auto add = [&](ProcessEventKind kind, int64_t t_ns, int64_t tid, std::string command) {
    model::ProcessEvent& event = events.emplace_back();
    event.kind = kind;
    event.t_ns = t_ns;
    event.pid = stat.pid;
    event.tid = tid;
    event.command = std::move(command);
  };
  add(ProcessEventKind::kFork, start_ns, stat.pid, CleanText(stat.name));
  events.back().parent_pid = stat.parent_pid;
  const auto command = ReadCommand(host, stat.pid);
  add(ProcessEventKind::kExec, start_ns, stat.pid, command.ok() ? *command : CleanText(stat.name));
  const auto threads = ListThreads(host, stat.pid);
  if (!threads.ok()) return events;  // it ended just now: what was seen stands
  for (const int64_t tid : *threads) {
    if (tid == stat.pid) continue;
    const auto thread = ReadThreadStat(host, stat.pid, tid);
    if (!thread.ok()) continue;
    add(ProcessEventKind::kThreadStart, StartNs(*thread), tid, CleanText(thread->name));
    if (thread->name != stat.name) add(ProcessEventKind::kName, StartNs(*thread), tid, CleanText(thread->name));
  }
  return events;
}

Result<std::vector<model::ProcessEvent>> DescribeTree(const HostRoot& host, int64_t pid) {
  ATTUNE_TRY(const ProcStat root, ReadProcStat(host, pid));
  std::vector<model::ProcessEvent> events = DescribeProcess(host, root);
  ATTUNE_TRY(const std::vector<int64_t> pids, ListProcesses(host));
  std::vector<ProcStat> others;
  for (const int64_t other : pids) {
    auto stat = ReadProcStat(host, other);
    if (stat.ok() && other != pid) others.push_back(*std::move(stat));
  }
  std::set<int64_t> tree{pid};
  for (bool grown = true; grown;) {
    grown = false;
    for (ProcStat& stat : others) {
      if (stat.pid == 0 || !tree.contains(stat.parent_pid)) continue;
      for (model::ProcessEvent& event : DescribeProcess(host, stat)) events.push_back(std::move(event));
      tree.insert(stat.pid);
      stat.pid = 0;  // done
      grown = true;
    }
  }
  return events;
}

void SetWaitStatus(int64_t wait_status, model::ProcessEvent& event) {
  const int status = static_cast<int>(wait_status);
  event.exit_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  event.exit_code = WIFSIGNALED(status) ? model::kAbsent : WEXITSTATUS(status);
}

}  // namespace attune::track
