#include "sensor/perf/perf_event.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sensor/text/number_file.h"

namespace attune::sensor {

PerfOpen KernelPerfOpen() {
  return [](perf_event_attr& attributes, pid_t pid, int cpu, int group) {
    const long fd = ::syscall(SYS_perf_event_open, &attributes, pid, cpu, group, PERF_FLAG_FD_CLOEXEC);
    return fd < 0 ? -errno : static_cast<int>(fd);
  };
}

Error PerfError(const HostRoot& host, std::string_view what, int error_number) {
  Error error = ErrnoError(fmt::format("perf_event_open: {}", what), error_number);
  if (error.code == Errc::kPermission) {
    const int64_t paranoid = ReadNumber(host, "/proc/sys/kernel/perf_event_paranoid");
    if (paranoid != INT64_MIN) error.message += fmt::format(" (kernel.perf_event_paranoid is {})", paranoid);
    error.hint =
        "counting whole CPUs needs kernel.perf_event_paranoid <= 0 (sudo sysctl kernel.perf_event_paranoid=0) or the "
        "capability CAP_PERFMON (attune doctor says how); in a container, its seccomp profile must allow the call";
  } else if (error_number == EMFILE || error_number == ENFILE) {
    error.code = Errc::kUnavailable;
    error.hint = "it needs some descriptors for each CPU: raise the limit with ulimit -n";
  } else if (error_number == ENOENT || error_number == ENOSYS || error_number == EINVAL) {
    error.code = Errc::kUnavailable;
    error.hint = "this kernel does not count that";
  }
  return error;
}

}  // namespace attune::sensor
