#include "base/whole_file.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/user_file.h"

namespace attune {
namespace {

Status WriteAll(int fd, const std::string& path, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return ErrnoError("writing " + path, n < 0 ? errno : EIO);
    text.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

}  // namespace

Status WriteFile(const std::string& path, std::string_view text) {
  ATTUNE_TRY(const FolderAndName at, OpenFolderOf(path));
  const UniqueFd fd(openat(at.folder.get(), at.name.c_str(),
                           O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666));
  if (!fd) return ErrnoError("writing " + path);
  return WriteAll(fd.get(), path, text);
}

Status ReplaceFile(const std::string& path, std::string_view text) {
  ATTUNE_TRY(const FolderAndName at, OpenFolderOf(path));
  struct stat status{};
  const bool is_there = fstatat(at.folder.get(), at.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  if (is_there && !S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode))
    return Error{Errc::kExists, path + " is no regular file", "choose another name"};
  uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) number = static_cast<uint64_t>(getpid());
  const std::string fresh = fmt::format("{}.{:016x}.new", at.name, number);
  const UniqueFd fd(openat(at.folder.get(), fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!fd) return ErrnoError("writing " + path);
  Status written = WriteAll(fd.get(), path, text);
  if (written.ok() && renameat(at.folder.get(), fresh.c_str(), at.folder.get(), at.name.c_str()) != 0)
    written = ErrnoError("writing " + path);
  if (!written.ok()) unlinkat(at.folder.get(), fresh.c_str(), 0);
  return written;
}

}  // namespace attune
