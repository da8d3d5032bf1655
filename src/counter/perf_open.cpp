#include "counter/perf_open.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>

namespace attune::counter {

PerfOpen KernelPerfOpen() {
  return [](perf_event_attr& attributes, const PerfTarget& of) {
    const bool is_cgroup = of.cgroup >= 0;
    const long fd = ::syscall(SYS_perf_event_open, &attributes, is_cgroup ? of.cgroup : of.pid, of.cpu, of.group,
                              PERF_FLAG_FD_CLOEXEC | (is_cgroup ? PERF_FLAG_PID_CGROUP : 0));
    return fd < 0 ? -errno : static_cast<int>(fd);
  };
}

Error PerfError(const HostRoot& host, std::string_view what, int error_number) {
  Error error = ErrnoError(fmt::format("perf_event_open: {}", what), error_number);
  if (error.code == Errc::kPermission) {
    const auto paranoid = host.ReadFile("/proc/sys/kernel/perf_event_paranoid");
    if (paranoid.ok())
      error.message += fmt::format(" (kernel.perf_event_paranoid is {})", paranoid->substr(0, paranoid->find('\n')));
    error.hint =
        "whole CPUs need kernel.perf_event_paranoid <= 0, processes of your own <= 2 (sudo sysctl "
        "kernel.perf_event_paranoid=0), those of other users the capability CAP_PERFMON (attune doctor says how); in a "
        "container, its seccomp profile must allow the call";
  } else if (error_number == EMFILE || error_number == ENFILE) {
    error.code = Errc::kUnavailable;
    error.hint = "it needs some descriptors for each CPU: raise the limit with ulimit -n";
  } else if (error_number == EBUSY) {
    error.code = Errc::kUnavailable;
    error.hint = "another program has these counters for itself";
  } else if (error_number == ENOENT || error_number == ENOSYS || error_number == EINVAL) {
    error.code = Errc::kUnavailable;
    error.hint = "this kernel does not count that";
  }
  return error;
}

}  // namespace attune::counter
