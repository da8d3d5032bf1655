#include "session/probes/jit_names.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "base/clock.h"
#include "base/user_file.h"
#include "session/probes/process_files.h"

namespace attune::session {
namespace {

constexpr int64_t kPauseNs = 50'000'000;

/// The process's own number of itself.
int64_t OwnPid(const HostRoot& host, int32_t pid) {
  const auto status = host.ReadFile(fmt::format("/proc/{}/status", pid));
  const size_t at = status.ok() ? status->find("NSpid:") : std::string::npos;
  if (at == std::string::npos) return pid;
  const std::string_view line = std::string_view(*status).substr(at, status->find('\n', at) - at);
  const std::string_view last = line.substr(line.find_last_of(" \t") + 1);
  int64_t number = pid;
  std::from_chars(last.data(), last.data() + last.size(), number);
  return number;
}

/// Nobody else may name the functions of a process: the file is its user's own.
bool IsOwnFile(int fd, int32_t pid) {
  struct stat file{}, process{};
  if (fstat(fd, &file) != 0) return false;
  const bool runs = stat(fmt::format("/proc/{}", pid).c_str(), &process) == 0;
  return file.st_uid == (runs ? process.st_uid : geteuid());
}

}  // namespace

const symbols::JitFunction* JitNames::Find(int32_t pid, uint64_t address) {
  if (!maps_.contains(pid) && maps_.size() >= kMaxProcesses) return nullptr;
  Map& map = maps_[pid];
  if (const auto* found = map.functions.At(address)) return found;
  const int64_t now_ns = MonotonicNs();
  if (map.looked_ns != 0 && now_ns - map.looked_ns < kPauseNs) return nullptr;
  map.looked_ns = now_ns;
  Update(pid, map);
  return map.functions.At(address);
}

void JitNames::Update(int32_t pid, Map& map) const {
  const std::string path = fmt::format("/tmp/perf-{}.map", OwnPid(host_, pid));
  auto fd = OpenInRootOf(pid, path);
  if (!fd.ok()) fd = OpenUserFile(path);  // the process has ended
  struct stat status{};
  if (!fd.ok() || !IsOwnFile(fd->get(), pid) || fstat(fd->get(), &status) != 0) return;
  const auto bytes = static_cast<size_t>(std::max<off_t>(status.st_size, 0));
  if (bytes == map.bytes || bytes > kMaxBytes) return;
  std::string text(bytes, '\0');
  const ssize_t got = pread(fd->get(), text.data(), text.size(), 0);
  if (got <= 0) return;
  text.resize(static_cast<size_t>(got));
  map.functions = symbols::JitMap(text);
  map.bytes = bytes;
}

}  // namespace attune::session
