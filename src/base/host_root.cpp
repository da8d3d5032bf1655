#include "base/host_root.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace attune {

HostRoot::HostRoot(std::string root) : root_(std::move(root)) {
  if (root_.empty()) root_ = "/";
}

std::string HostRoot::Resolve(std::string_view path) const {
  if (root_ == "/") return std::string(path);
  return root_ + std::string(path);
}

Result<UniqueFd> HostRoot::Open(std::string_view path, int flags) const {
  UniqueFd fd(::open(Resolve(path).c_str(), O_RDONLY | O_CLOEXEC | flags));
  if (!fd) return ErrnoError(path);
  return fd;
}

Result<UniqueFd> HostRoot::OpenWritable(std::string_view path, int flags) const {
  UniqueFd fd(::open(Resolve(path).c_str(), O_RDWR | O_CLOEXEC | flags));
  if (!fd) return ErrnoError(path);
  return fd;
}

Result<std::string> HostRoot::ReadFile(std::string_view path, size_t max_bytes) const {
  ATTUNE_TRY(UniqueFd fd, Open(path, O_NONBLOCK | O_NOCTTY));
  std::string text;
  char buffer[16384];
  while (text.size() < max_bytes) {
    const ssize_t n = ::read(fd.get(), buffer, std::min(sizeof buffer, max_bytes - text.size()));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoError(path);
    if (n == 0) break;
    text.append(buffer, static_cast<size_t>(n));
  }
  return text;
}

Result<std::vector<std::string>> HostRoot::List(std::string_view path) const {
  DIR* dir = ::opendir(Resolve(path).c_str());
  if (dir == nullptr) return ErrnoError(path);
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(dir)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  ::closedir(dir);
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::string> HostRoot::ReadLink(std::string_view path) const {
  char buffer[4096];
  const ssize_t n = ::readlink(Resolve(path).c_str(), buffer, sizeof buffer);
  if (n < 0) return ErrnoError(path);
  return std::string(buffer, static_cast<size_t>(n));
}

bool HostRoot::Exists(std::string_view path) const { return ::access(Resolve(path).c_str(), F_OK) == 0; }

namespace {

/// @param whole a read of fewer bytes has found the end
long PreadUntil(int fd, char* buffer, size_t capacity, size_t whole) {
  size_t filled = 0;
  while (filled < capacity) {
    const ssize_t n = ::pread(fd, buffer + filled, capacity - filled, static_cast<off_t>(filled));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    filled += static_cast<size_t>(n);
    if (n == 0 || static_cast<size_t>(n) < whole) break;
  }
  return static_cast<long>(filled);
}

}  // namespace

long PreadAll(int fd, char* buffer, size_t capacity) { return PreadUntil(fd, buffer, capacity, 0); }

long PreadShortLines(int fd, char* buffer, size_t capacity) {
  constexpr size_t kSmallestPage = 4096;
  return PreadUntil(fd, buffer, capacity, kSmallestPage - kShortLineBytes);
}

}  // namespace attune
