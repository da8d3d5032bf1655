#include "sync/futex_calls.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "sync/child.h"

namespace attune::bench {
namespace {

constexpr const char* kTraceFolder = "/sys/kernel/tracing";

/// 0: it is not to be seen.
uint64_t ReadTracepoint() {
  uint64_t id = 0;
  std::ifstream(std::string(kTraceFolder) + "/events/syscalls/sys_enter_futex/id") >> id;
  return id;
}

/// Where tracefs is not mounted, a thread mounts it for itself alone, which root may do.
uint64_t Tracepoint() {
  uint64_t id = ReadTracepoint();
  if (id != 0) return id;
  std::thread([&id] {
    if (::unshare(CLONE_FS | CLONE_NEWNS) != 0) return;
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return;
    if (::mount("tracefs", kTraceFolder, "tracefs", MS_RDONLY, nullptr) == 0) id = ReadTracepoint();
  }).join();
  return id;
}

}  // namespace

Result<FutexCalls> FutexCalls::Of(pid_t pid) {
  const uint64_t tracepoint = Tracepoint();
  if (tracepoint == 0) return Error{Errc::kUnavailable, "no tracepoints: /sys/kernel/tracing is not readable"};
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_TRACEPOINT;
  attributes.config = tracepoint;
  FutexCalls calls;
  for (const auto& task : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid))) {
    const std::string name = task.path().filename().string();
    pid_t tid = 0;
    std::from_chars(name.data(), name.data() + name.size(), tid);
    UniqueFd counter(static_cast<int>(::syscall(SYS_perf_event_open, &attributes, tid, -1, -1, PERF_FLAG_FD_CLOEXEC)));
    if (!counter) return ErrnoError("perf_event_open");
    calls.counters_.push_back(std::move(counter));
  }
  return calls;
}

uint64_t FutexCalls::Count() const {
  uint64_t sum = 0;
  for (const UniqueFd& counter : counters_) {
    uint64_t count = 0;
    if (::read(counter.get(), &count, sizeof count) != sizeof count) Fail("a tracepoint's counter is not readable");
    sum += count;
  }
  return sum;
}

}  // namespace attune::bench
