#include "session/core/root_requests.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <string>

#include "base/child_process.h"
#include "base/host_root.h"
#include "base/user_file.h"
#include "sensor/declared/declared_hardware.h"
#include "sensor/declared/description.h"

namespace attune::session {
namespace {

constexpr size_t kMaxDiskName = 32;
constexpr size_t kMaxDescriptionBytes = 4u << 20;

Error Refused(std::string what) { return {Errc::kPermission, std::move(what), ""}; }

Result<UniqueFd> OpenCpuLatency() {
  constexpr const char* kPath = "/dev/cpu_dma_latency";
  UniqueFd fd(open(kPath, O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return ErrnoError(kPath);
  return fd;
}

Result<UniqueFd> AskDisk(std::string_view disk) {
  const bool is_name =
      !disk.empty() && disk.size() <= kMaxDiskName && std::all_of(disk.begin(), disk.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
      });
  const std::string device = fmt::format("/dev/{}", disk);
  struct stat status{};
  if (!is_name || lstat(device.c_str(), &status) != 0 || !S_ISBLK(status.st_mode))
    return Refused(fmt::format("'{}' is no disk", disk));
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoError("pipe");
  UniqueFd output(ends[0]);
  const UniqueFd theirs(ends[1]);
  // One that still hangs is ended, and not joined by another.
  static std::map<std::string, pid_t> running;
  if (const auto before = running.find(device); before != running.end() && kill(before->second, 0) == 0) {
    kill(-before->second, SIGKILL);
    return Error{Errc::kTimeout, fmt::format("smartctl for {} still hangs", device), ""};
  }
  const auto pid = SpawnApart({.program = "smartctl",
                               .arguments = {"smartctl", "--json", "-a", "-n", "standby", device},
                               .descriptors = {{theirs.get(), STDOUT_FILENO}},
                               .is_quiet = true});
  if (!pid.ok()) return pid.error();
  running[device] = *pid;
  return output;
}

Result<UniqueFd> OpenRegisters(std::string_view words, bool writable) {
  const size_t end = words.find('\n');
  if (end == std::string_view::npos) return Refused("no device is named");
  const std::string file(words.substr(0, end)), device(words.substr(end + 1));
  if (!OnlyRootCanChange(file)) return Refused(fmt::format("{} can be changed by others than root", file));
  ATTUNE_TRY(const std::string text, ReadUserFile(file, kMaxDescriptionBytes));
  ATTUNE_TRY(const sensor::Description description, sensor::ParseDescription(text, file));
  if (!description.registers) return Refused(fmt::format("{} names no device", file));
  const auto matches = sensor::MatchPaths(HostRoot(), description.registers->path);
  const bool named = std::any_of(matches.begin(), matches.end(), [&](const auto& one) { return one.first == device; });
  if (!named || (writable && !description.freeze)) return Refused(fmt::format("{} does not name {}", file, device));
  UniqueFd fd(open(device.c_str(), (writable ? O_RDWR : O_RDONLY) | O_SYNC | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd) return ErrnoError(device);
  struct stat status{};
  struct statfs system{};
  const bool fits = fstat(fd.get(), &status) == 0 && fstatfs(fd.get(), &system) == 0 &&
                    (S_ISCHR(status.st_mode) || system.f_type == SYSFS_MAGIC);
  if (!fits) return Refused(fmt::format("{} is no device of registers", device));
  return fd;
}

}  // namespace

Result<UniqueFd> AnswerAsRoot(std::string_view request) {
  const size_t end = std::min(request.find(' '), request.size());
  const std::string_view verb = request.substr(0, end);
  const std::string_view words = request.substr(std::min(end + 1, request.size()));
  if (verb == "cpu_dma_latency") return OpenCpuLatency();
  if (verb == "smart") return AskDisk(words);
  if (verb == "registers") return OpenRegisters(words, false);
  if (verb == "registers+write") return OpenRegisters(words, true);
  return Error{Errc::kInvalidArgument, "there is no such request", ""};
}

}  // namespace attune::session
