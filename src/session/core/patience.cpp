#include "session/core/patience.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>

#include "base/clock.h"
#include "base/host_root.h"
#include "track/process_usage.h"

namespace attune::session {
namespace {

constexpr int kStepMs = 50;

/// A value that changes while a process does something. -1: nobody can say.
int64_t Progress(const Result<track::ProcStat>& stat) {
  return stat.ok() ? stat->user_ticks + stat->system_ticks + stat->minor_faults : -1;
}

}  // namespace

Status AwaitReadable(int fd, pid_t pid, const Patience& patience) {
  const int64_t begin_ns = MonotonicNs();
  int64_t changed_ns = begin_ns;
  int64_t ran_ns = begin_ns;
  int64_t progress = -1;
  pollfd waiting{fd, POLLIN, 0};
  while (true) {
    const int ready = poll(&waiting, 1, kStepMs);
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return ErrnoError("waiting for the session");
    const auto stat = pid > 0 ? track::ReadProcStat(HostRoot(), pid) : Error{Errc::kNotFound, "", ""};
    const bool is_stopped = stat.ok() && (stat->state == 'T' || stat->state == 't');
    const int64_t now_ns = MonotonicNs();
    if (!is_stopped) ran_ns = now_ns;
    if (Progress(stat) != progress) changed_ns = now_ns;
    progress = Progress(stat);
    const auto give_up = [pid](const std::string& why) {
      return Error{Errc::kTimeout, fmt::format("the session (process {}) does not answer: {}", pid, why), ""};
    };
    if (now_ns - ran_ns >= patience.stopped_ns) return give_up("it is stopped");
    if (now_ns - changed_ns >= patience.idle_ns || now_ns - begin_ns >= patience.most_ns)
      return give_up(fmt::format("not within {} s", (now_ns - begin_ns) / 1'000'000'000));
  }
}

}  // namespace attune::session
