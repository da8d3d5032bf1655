#include "sensor/thread/thread.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>

#include "sensor/text/scan.h"

namespace attune::sensor {
namespace {

using model::kAbsent;

constexpr std::array<std::string_view, kSchedstatValues + kFaultValues + kSwitchValues + 1> kThreadSignals{
    "run",         "wait", "slices", "minor_faults", "major_faults", "voluntary_switches", "involuntary_switches",
    "cpus_allowed"};
/// After those, where the kernel accounts for it.
constexpr std::string_view kIoWait = "io_wait";
constexpr size_t kMostThreads = 1024;
constexpr size_t kFewestThreads = 16;
constexpr rlim_t kOtherFiles = 256;  // descriptors that the session needs besides
/// Three files a thread, about one a process, and twice that while one sensor takes the place of another.
constexpr rlim_t kFilesOfAThread = 8;
/// A status holds the groups of the user and the CPUs of the machine: long on large sites and machines.
constexpr size_t kBufferBytes = 64u << 10;

size_t ThreadsThatFit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur <= kOtherFiles) return kFewestThreads;
  return std::clamp<size_t>((limit.rlim_cur - kOtherFiles) / kFilesOfAThread, kFewestThreads, kMostThreads);
}

/// The number behind a key that starts a line, searched from the end: what we want stands there.
int64_t ValueBehind(std::string_view text, std::string_view key) {
  const size_t at = text.rfind(key);
  if (at == std::string_view::npos) return kAbsent;
  return NumberOf(text.substr(at + key.size()));
}

/// The numbers behind the state; kAbsent where there is none.
void NumbersOf(std::string_view stat, std::span<int64_t> out) {
  std::fill(out.begin(), out.end(), kAbsent);
  // The name may hold anything, also blanks and parentheses: the last one ends it.
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos || name_end + 3 > stat.size()) return;
  stat.remove_prefix(name_end + 3);  // ") R": the state
  for (int64_t& number : out) number = NextNumber(stat);
}

/// CPUs that the thread may use: the bits of its mask in /proc/PID/task/TID/status; kAbsent: there is none.
int64_t ParseCpusAllowed(std::string_view status) {
  constexpr std::string_view kKey = "\nCpus_allowed:";
  const size_t at = status.rfind(kKey);
  if (at == std::string_view::npos) return kAbsent;
  std::string_view mask = status.substr(at + kKey.size());
  mask = mask.substr(0, mask.find('\n'));
  int64_t cpus = 0;
  for (const char digit : mask) {
    const bool is_letter = digit >= 'a' && digit <= 'f';
    if (is_letter || (digit >= '0' && digit <= '9'))
      cpus += std::popcount(static_cast<unsigned>(is_letter ? digit - 'a' + 10 : digit - '0'));
  }
  return cpus > 0 ? cpus : kAbsent;
}

}  // namespace

void ParseSchedstat(std::string_view text, std::span<int64_t, kSchedstatValues> out) {
  for (int64_t& value : out) value = NextNumber(text);
}

void ParseFaults(std::string_view stat, std::span<int64_t, kFaultValues> out) {
  // Parent, group, session, terminal, its group, flags, then the faults, each followed by that of its children.
  std::array<int64_t, 9> numbers;
  NumbersOf(stat, numbers);
  out[0] = numbers[6];
  out[1] = numbers[8];
}

int64_t ParseBlockTicks(std::string_view stat) {
  std::array<int64_t, 39> numbers;  // the 42nd field of the file
  NumbersOf(stat, numbers);
  return numbers.back();
}

void ParseSwitches(std::string_view status, std::span<int64_t, kSwitchValues> out) {
  out[0] = ValueBehind(status, "\nvoluntary_ctxt_switches:");
  out[1] = ValueBehind(status, "\nnonvoluntary_ctxt_switches:");
}

ThreadSensor::Found ThreadSensor::Find(const HostRoot& host) const {
  const size_t limit = max_threads_ != 0 ? max_threads_ : ThreadsThatFit();
  Found found;
  for (const int64_t pid : observed_()) {
    const auto names = host.List(fmt::format("/proc/{}/task", pid));
    if (!names.ok()) continue;  // it ended
    std::vector<int64_t> tids;
    for (const std::string& name : *names) {
      if (const int64_t tid = NumberOf(name); tid > 0) tids.push_back(tid);
    }
    std::sort(tids.begin(), tids.end());
    found.total += static_cast<int64_t>(tids.size());
    if (!tids.empty() && found.pids.size() < limit) found.pids.push_back(pid);
    for (const int64_t tid : tids) {
      if (found.threads.size() < limit) found.threads.push_back({pid, tid});
    }
  }
  return found;
}

bool ThreadSensor::AddThread(const HostRoot& host, const ThreadId& id, std::vector<model::SignalSpec>& specs) {
  const std::string folder = fmt::format("/proc/{}/task/{}", id.pid, id.tid);
  Thread thread;
  auto schedstat = host.Open(folder + "/schedstat");
  auto stat = host.Open(folder + "/stat");
  auto status = host.Open(folder + "/status");
  if (!stat.ok() || !status.ok()) return false;
  if (schedstat.ok()) thread.schedstat = *std::move(schedstat);  // a kernel may be built without
  thread.stat = *std::move(stat);
  thread.status = *std::move(status);
  threads_.push_back(std::move(thread));
  for (const std::string_view signal : kThreadSignals) {
    specs.push_back(Spec(signal, {.os_id = id.tid, .pid = id.pid}));
  }
  if (has_io_wait_) specs.push_back(Spec(kIoWait, {.os_id = id.tid, .pid = id.pid}));
  return true;
}

void ThreadSensor::AddProcess(const HostRoot& host, int64_t pid, std::vector<model::SignalSpec>& specs) {
  auto statm = host.Open(fmt::format("/proc/{}/statm", pid));
  if (!statm.ok()) return;
  processes_.push_back({*std::move(statm)});
  specs.push_back(Spec("rss", {.os_id = pid}));
}

Result<std::vector<model::SignalSpec>> ThreadSensor::Prepare(const HostRoot& host) {
  if (!observed_) return Error{Errc::kUnavailable, "thread: no program is observed", "attune run -- PROGRAM"};
  host_ = host;
  const auto accounts = host.ReadFile("/proc/sys/kernel/task_delayacct");
  has_io_wait_ = accounts.ok() && NumberOf(*accounts) == 1;
  prepared_for_ = Find(host);
  total_ = prepared_for_.total;
  std::vector<model::SignalSpec> specs;
  for (const ThreadId& id : prepared_for_.threads) AddThread(host, id, specs);
  for (const int64_t pid : prepared_for_.pids) AddProcess(host, pid, specs);
  if (threads_.empty()) return std::vector<model::SignalSpec>();  // it has not started, or has ended
  for (const char* signal : {"threads", "left_out"}) specs.push_back(Spec(signal));
  buffer_.resize(kBufferBytes);
  return specs;
}

std::string_view ThreadSensor::Read(const UniqueFd& file) {
  const long size = file ? PreadAll(file.get(), buffer_.data(), buffer_.size()) : -1;
  return {buffer_.data(), static_cast<size_t>(std::max(size, 0L))};
}

void ThreadSensor::SampleThread(const Thread& thread, std::span<int64_t> out) {
  ParseSchedstat(Read(thread.schedstat), out.first<kSchedstatValues>());
  const std::string_view stat = Read(thread.stat);
  ParseFaults(stat, out.subspan(kSchedstatValues).first<kFaultValues>());
  if (has_io_wait_) {
    static const int64_t kTickNs = 1'000'000'000 / ::sysconf(_SC_CLK_TCK);
    const int64_t ticks = ParseBlockTicks(stat);
    int64_t& ns = out[kThreadSignals.size()];
    if (ticks == kAbsent || __builtin_mul_overflow(ticks, kTickNs, &ns)) ns = kAbsent;
  }
  const std::string_view status = Read(thread.status);
  ParseSwitches(status, out.subspan(kSchedstatValues + kFaultValues).first<kSwitchValues>());
  out[kSchedstatValues + kFaultValues + kSwitchValues] = ParseCpusAllowed(status);
}

bool ThreadSensor::Sample(std::span<int64_t> out) {
  if (out.empty()) return false;  // prepared for nothing
  bool any = false;
  size_t at = 0;
  for (const Thread& thread : threads_) {
    SampleThread(thread, out.subspan(at));
    any = any || out[at + kSchedstatValues] != kAbsent;
    at += kThreadSignals.size() + (has_io_wait_ ? 1 : 0);
  }
  static const int64_t kPageBytes = ::sysconf(_SC_PAGESIZE);
  for (const Process& process : processes_) {
    std::string_view text = Read(process.statm);
    NextNumber(text);  // the size of the address space
    const int64_t pages = NextNumber(text);
    out[at++] = pages == kAbsent ? kAbsent : pages * kPageBytes;
  }
  const int64_t total = total_.load(std::memory_order_relaxed);
  out[at] = total;
  out[at + 1] = std::max<int64_t>(0, total - static_cast<int64_t>(threads_.size()));
  return any;
}

std::unique_ptr<model::Sensor> ThreadSensor::Fresh() const {
  if (!observed_) return nullptr;
  if (host_) {
    const Found now = Find(*host_);
    total_ = now.total;
    if (now.threads == prepared_for_.threads && now.pids == prepared_for_.pids) return nullptr;
  }
  return std::make_unique<ThreadSensor>(observed_, max_threads_);
}

}  // namespace attune::sensor
