/// The checks of `attune doctor`: each tries the thing itself, not a sign of it.

#include "cli/host/host_checks.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/clock.h"
#include "base/units.h"
#include "profile/cpu_sampler.h"
#include "sensor/registry.h"
#include "session/core/modules.h"
#include "session/core/option_file.h"
#include "session/core/session_folders.h"

namespace attune::cli {
namespace {

constexpr size_t kLockedBytes = 16u << 20;  // memory that the sampler locks
constexpr uint64_t kRingBytes = 64u << 20;  // space that the rings of a large program take
constexpr rlim_t kWantedDescriptors = 1024;

Check Ok(std::string id, std::string what, std::string detail) {
  return {std::move(id), CheckStatus::kOk, std::move(what), std::move(detail), "", ""};
}

struct Capability {
  const char* name;
  int bit;
};
/// With these, attune needs no root for anything.
constexpr Capability kCapabilities[] = {
    {"cap_bpf", 39}, {"cap_perfmon", 38}, {"cap_sys_nice", 23}, {"cap_ipc_lock", 14}};

/// The capabilities that a process here can have at all: the kernel refuses to run a file that asks for others.
uint64_t BoundingSet(const HostRoot& host) {
  constexpr std::string_view kName = "\nCapBnd:\t";
  const auto status = host.ReadFile("/proc/self/status");
  const size_t at = status.ok() ? status->find(kName) : std::string::npos;
  return at == std::string::npos ? 0 : std::strtoull(status->c_str() + at + kName.size(), nullptr, 16);
}

/// Gives attune `wanted` and, because setcap replaces what was set before, all others that it can use. Empty where this
/// process is root already, or where nobody can have it.
std::string SetcapCommand(const HostRoot& host, std::string_view wanted, const std::string& executable) {
  if (geteuid() == 0) return "";
  const uint64_t bounds = BoundingSet(host);
  std::string names;
  bool possible = false;
  for (const Capability& capability : kCapabilities) {
    if ((bounds >> capability.bit & 1) == 0) continue;
    names += (names.empty() ? "" : ",") + std::string(capability.name);
    possible = possible || wanted == capability.name;
  }
  return possible ? fmt::format("sudo setcap {}+ep {}", names, executable) : "";
}

/// Without these nothing is known of any program or machine; all others are of what a machine may have.
constexpr std::string_view kMainSensors[] = {"cpu", "vmstat"};

std::vector<Check> CheckSensors(const HostRoot& host, const std::string& executable) {
  std::vector<Check> checks;
  for (const auto& sensor : sensor::MakeAllSensors(sensor::ShownContext())) {
    const model::SensorInfo& info = sensor->Info();
    const auto signals = sensor->Prepare(host);
    Check check = Ok(fmt::format("sensor.{}", info.name), fmt::format("sensor {}", info.name), "");
    if (signals.ok()) {
      check.detail = fmt::format("{} signals from {}", signals->size(), info.source);
    } else {
      const Error& why = signals.error();
      const bool is_main = std::ranges::find(kMainSensors, info.name) != std::end(kMainSensors);
      const bool is_absent = why.code == Errc::kUnavailable || why.code == Errc::kNotFound;
      check.status = is_main     ? CheckStatus::kMissing
                     : is_absent ? CheckStatus::kAbsent
                                 : CheckStatus::kWarning;  // it is there, and refuses
      check.detail = why.message;
      check.effect = fmt::format("nothing is known of: {}", info.description);
      check.fix = why.hint;
      if (why.code == Errc::kPermission && why.hint.find("CAP_PERFMON") != std::string::npos) {
        if (std::string command = SetcapCommand(host, "cap_perfmon", executable); !command.empty())
          check.fix = std::move(command);
      }
    }
    checks.push_back(std::move(check));
  }
  return checks;
}

Check CheckTracking(const HostRoot& host, const std::string& executable) {
  const auto made = session::MakeWatcher(host);
  if (!made.ok()) {
    Check check = Ok("tracking", "following processes", made.error().message);
    check.status = CheckStatus::kMissing;
    check.effect = "processes cannot be followed";
    return check;
  }
  const session::WatcherChoice& choice = *made;
  const std::string method(choice.watcher->Method());
  Check check = Ok("tracking", "following processes", "by " + method);
  check.effect = std::string(choice.watcher->Limits());
  if (check.effect.empty()) return check;
  check.status = CheckStatus::kWarning;
  if (choice.refused.empty()) return check;
  check.detail += "; " + fmt::format("{}", fmt::join(choice.refused, "; "));
  check.fix = SetcapCommand(host, "cap_bpf", executable);
  return check;
}

/// Tried on a thread of its own, so that nothing stays changed.
Check CheckPriority(const HostRoot& host, const std::string& executable) {
  int error = 0;
  std::thread([&error] {
    const sched_param parameter{.sched_priority = 1};
    if (sched_setscheduler(0, SCHED_FIFO, &parameter) != 0) error = errno;
  }).join();
  Check check = Ok("sampler.priority", "real-time priority for the sampler", "SCHED_FIFO is permitted");
  if (error == 0) return check;
  check.status = CheckStatus::kWarning;
  check.detail = fmt::format("SCHED_FIFO: {}", std::strerror(error));
  check.effect = "beside busy programs some ticks come late or are missed (they are counted)";
  // Root without it is in a container that was not given the capability.
  check.fix =
      geteuid() == 0 ? "start the container with --cap-add SYS_NICE" : SetcapCommand(host, "cap_sys_nice", executable);
  return check;
}

Check CheckCpuSamples(const HostRoot& host, const std::string& executable) {
  const auto sampler = profile::CpuSampler::Create({.cpus = CpuSet::Allowed()});
  Check check = Ok("profile", "samples of where programs compute", "of the program and of the kernel");
  if (sampler.ok() && (*sampler)->sees_kernel()) return check;
  check.status = CheckStatus::kWarning;
  if (sampler.ok()) {
    check.detail = "of the program alone";
    check.effect = "CPU time that programs use in the kernel has no samples";
  } else {
    check.detail = sampler.error().message;
    check.effect = "nothing is said of where programs compute, nor of memory that threads share";
  }
  check.fix =
      geteuid() == 0 ? sampler.ok() ? "" : sampler.error().hint : SetcapCommand(host, "cap_perfmon", executable);
  return check;
}

Check CheckMemoryLock(const HostRoot& host, const std::string& executable) {
  Check check = Ok("sampler.memory", "locked memory for the sampler", "");
  void* memory = mmap(nullptr, kLockedBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const bool locked = memory != MAP_FAILED && mlock(memory, kLockedBytes) == 0;
  const int error = errno;
  if (memory != MAP_FAILED) munmap(memory, kLockedBytes);
  if (locked) {
    check.detail = fmt::format("{} can be locked", FormatBytes(kLockedBytes));
    return check;
  }
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  check.status = CheckStatus::kWarning;
  check.detail = fmt::format("locking {}: {} (the limit is {})", FormatBytes(kLockedBytes), std::strerror(error),
                             FormatBytes(limit.rlim_cur));
  check.effect = "a page fault in the sampler can make a tick late";
  check.fix = limit.rlim_max >= kLockedBytes ? fmt::format("ulimit -l {}", kLockedBytes / 1024)
                                             : SetcapCommand(host, "cap_ipc_lock", executable);
  return check;
}

Check CheckClock(const machine::HostFacts& facts) {
  const std::string cost =
      fmt::format("{:.0f} ns a reading", facts.tsc_usable ? facts.tsc_read_ns : facts.clock_read_ns);
  Check check =
      Ok("clock", "clock of the markers", (facts.tsc_usable ? "cycle counter, " : "CLOCK_MONOTONIC, ") + cost);
  if (facts.tsc_usable) return check;
  check.status = CheckStatus::kWarning;
  check.detail +=
      fmt::format(" (the kernel's clock source is {})", facts.clock_source.empty() ? "not known" : facts.clock_source);
  check.effect = fmt::format("a marker costs about {:.0f} ns more", facts.clock_read_ns - facts.tsc_read_ns);
  return check;
}

Check CheckRings() {
  Check check = Ok("rings", "shared memory for the probes' rings", "");
  struct statvfs space{};
  if (statvfs("/dev/shm", &space) != 0 || access("/dev/shm", W_OK) != 0) {
    check.status = CheckStatus::kMissing;
    check.detail = fmt::format("/dev/shm: {}", std::strerror(errno));
    check.effect = "markers in programs cannot be recorded";
    check.fix = "sudo mount -t tmpfs -o mode=1777 tmpfs /dev/shm";
    return check;
  }
  const uint64_t free_bytes = uint64_t{space.f_bavail} * space.f_frsize;
  check.detail = fmt::format("{} free in /dev/shm", FormatBytes(free_bytes));
  if (free_bytes >= kRingBytes) return check;
  check.status = CheckStatus::kWarning;
  check.effect = "programs with many threads may lose events (they are counted)";
  check.fix = "sudo mount -o remount,size=256M /dev/shm";
  return check;
}

Check CheckSessionFolder() {
  Check check = Ok("session.folder", "folder of the sessions", "");
  const auto base = session::SessionBase();
  if (base.ok()) {
    check.detail = *base;
    return check;
  }
  check.status = CheckStatus::kMissing;
  check.detail = base.error().message;
  check.effect = "no session can be started";
  check.fix = base.error().hint;
  return check;
}

/// Options that hold without being given are easily forgotten.
Check CheckDefaults() {
  Check check = Ok("defaults", "your defaults of options", "none");
  const std::string file = session::DefaultsFile();
  if (file.empty()) return check;
  check.detail = file;
  const auto read = session::ReadDefaults(file, session::kInRun);
  if (read.ok()) return check;
  check.status = CheckStatus::kMissing;
  check.detail = read.error().message;
  check.effect = "run, record, live and stat refuse to start, unless with --no-defaults";
  check.fix = read.error().hint;
  return check;
}

Check CheckDescriptors() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const std::string detail = limit.rlim_cur == RLIM_INFINITY ? "unlimited" : fmt::format("{} at once", limit.rlim_cur);
  Check check = Ok("descriptors", "open files", detail);
  if (limit.rlim_cur >= kWantedDescriptors) return check;
  check.status = CheckStatus::kWarning;
  check.effect = "with many observed processes or page clients, some are refused";
  check.fix = fmt::format("ulimit -n {}", kWantedDescriptors);
  return check;
}

Check CheckProcVisible(const HostRoot& host) {
  Check check = Ok("proc", "processes of other users", "visible in /proc");
  if (host.ReadFile("/proc/1/stat").ok()) return check;
  check.status = CheckStatus::kWarning;
  check.detail = "hidden: /proc is mounted with hidepid";
  check.effect = "attune run -p cannot follow them";
  check.fix = "sudo mount -o remount,hidepid=0 /proc";
  return check;
}

Check CheckCpus(const machine::HostFacts& facts) {
  Check check = Ok("cpus", "CPUs", fmt::format("{} allowed of {} online", facts.allowed.size(), facts.online.size()));
  if (facts.allowed.size() > 1) return check;
  check.status = CheckStatus::kWarning;
  check.effect = "attune and the program share one CPU";
  return check;
}

}  // namespace

std::string_view ToString(CheckStatus status) {
  switch (status) {
    case CheckStatus::kOk: return "ok";
    case CheckStatus::kWarning: return "warning";
    case CheckStatus::kAbsent: return "absent";
    case CheckStatus::kMissing: return "missing";
  }
  return "";
}

std::vector<Check> CheckHost(const HostRoot& host, const machine::HostFacts& facts, const std::string& executable) {
  std::vector<Check> checks = CheckSensors(host, executable);
  checks.push_back(CheckTracking(host, executable));
  checks.push_back(CheckPriority(host, executable));
  checks.push_back(CheckCpuSamples(host, executable));
  checks.push_back(CheckMemoryLock(host, executable));
  checks.push_back(CheckClock(facts));
  checks.push_back(CheckRings());
  checks.push_back(CheckSessionFolder());
  checks.push_back(CheckDefaults());
  checks.push_back(CheckDescriptors());
  checks.push_back(CheckProcVisible(host));
  checks.push_back(CheckCpus(facts));
  return checks;
}

std::string ExecutablePath() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : "$(command -v attune)";
}

}  // namespace attune::cli
