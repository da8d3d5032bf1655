#include "counter/control_group.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/text.h"

namespace attune::counter {
namespace {

/// Mount point of cgroup2 (proc_pid_mountinfo(5)); empty: it is not mounted.
std::string MountOf(const HostRoot& host) {
  const auto mounts = host.ReadFile("/proc/self/mountinfo");
  if (!mounts.ok()) return "";
  for (const std::string_view line : Split(*mounts, "\n")) {
    const std::vector<std::string_view> words = Split(line, " ");
    const auto separator = std::ranges::find(words, "-");
    if (words.size() > 5 && words.end() - separator > 1 && separator[1] == "cgroup2") return std::string(words[4]);
  }
  return "";
}

}  // namespace

Result<UniqueFd> OpenControlGroup(const HostRoot& host, std::string_view name) {
  std::string folder(name);
  if (!name.starts_with("/")) {
    const std::string mount = MountOf(host);
    if (mount.empty())
      return Error{Errc::kUnavailable, "control groups: no cgroup2 is mounted", "mount -t cgroup2 none /sys/fs/cgroup"};
    folder = fmt::format("{}/{}", mount, name);
  }
  auto group = host.Open(folder, O_DIRECTORY);
  if (group.ok() && host.Exists(folder + "/cgroup.procs")) return group;
  return Error{Errc::kNotFound, fmt::format("there is no control group {}", folder),
               "systemd-cgls lists them; /proc/PID/cgroup has that of a process"};
}

}  // namespace attune::counter
