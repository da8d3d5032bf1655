#include "base/user_file.h"

#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>

namespace attune {
namespace {

/// As many as the kernel follows.
constexpr int kMaxLinks = 40;

enum class Purpose : uint8_t { kRead, kWrite };

std::string_view KindOf(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR: return "a folder";
    case S_IFIFO: return "a FIFO";
    case S_IFSOCK: return "a socket";
    case S_IFCHR:
    case S_IFBLK: return "a device";
    case S_IFLNK: return "a symbolic link";
    default: return "no regular file";
  }
}

Error OpenError(const std::string& path, int error_number) {
  Error error = ErrnoError(path, error_number);
  if (error.code == Errc::kPermission && geteuid() != 0 && std::getenv("SUDO_UID") != nullptr)
    error.hint =
        "under sudo files are opened with your rights; for those of root: sudo env -u SUDO_UID and the command";
  return error;
}

Error NotRegular(const std::string& path, mode_t mode) {
  return {Errc::kInvalidArgument, fmt::format("{} is {}", path, KindOf(mode)), "a regular file is needed"};
}

Error LinkError(const std::string& path) {
  return {Errc::kPermission, fmt::format("{}: a symbolic link on the way belongs to another user", path),
          "give the path that it leads to"};
}

/// Walks a path folder by folder, so that nothing can be swapped between a look at a link and its use.
class Walk {
 public:
  Walk(const std::string& path, Purpose purpose) : path_(path), purpose_(purpose), left_(path) {}

  /// Up to the last name; links on the way are followed, the last name is not looked at.
  Result<FolderAndName> ToFolder() {
    if (path_.empty()) return ErrnoError("a file without a name", ENOENT);
    ATTUNE_CHECK_OK(Begin());
    while (true) {
      std::string name = TakeName();
      if (left_.empty()) {
        if (name.empty() || name == "." || name == "..")
          return Error{Errc::kInvalidArgument, path_ + " is a folder", ""};
        return FolderAndName{std::move(at_), std::move(name)};
      }
      ATTUNE_CHECK_OK(Enter(name));
    }
  }

  /// Follows the link `name` in the folder where ToFolder() has ended; then ToFolder() goes on.
  Status Follow(UniqueFd folder, const std::string& name) {
    at_ = std::move(folder);
    return FollowLink(name);
  }

 private:
  Status Begin() {
    if (at_) return {};
    at_.reset(open(left_.starts_with('/') ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    return at_ ? Status() : Status(OpenError(path_, errno));
  }

  /// The next name; left_ begins behind its slashes.
  std::string TakeName() {
    const size_t begin = std::min(left_.find_first_not_of('/'), left_.size());
    const size_t end = std::min(left_.find('/', begin), left_.size());
    std::string name = left_.substr(begin, end - begin);
    left_.erase(0, end);
    return name;
  }

  Status Enter(const std::string& name) {
    if (name.empty() || name == ".") return {};
    UniqueFd next(openat(at_.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat status{};
    if (!next || fstat(next.get(), &status) != 0) return OpenError(path_, errno);
    if (S_ISLNK(status.st_mode)) return FollowLink(name);
    if (!S_ISDIR(status.st_mode)) return OpenError(path_, ENOTDIR);
    at_ = std::move(next);
    return {};
  }

  Status FollowLink(const std::string& name) {
    if (++links_ > kMaxLinks) return OpenError(path_, ELOOP);
    const UniqueFd link(openat(at_.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat status{}, folder{};
    char target[PATH_MAX];
    const ssize_t n = link ? readlinkat(link.get(), "", target, sizeof target) : -1;
    if (n <= 0 || fstat(link.get(), &status) != 0 || fstat(at_.get(), &folder) != 0) return OpenError(path_, errno);
    const bool is_owners = purpose_ == Purpose::kRead && geteuid() != 0 && status.st_uid == folder.st_uid;
    if (status.st_uid != 0 && status.st_uid != geteuid() && !is_owners) return LinkError(path_);
    const std::string_view to(target, static_cast<size_t>(n));
    left_ = fmt::format("{}{}", to, left_);
    if (to.starts_with('/')) at_.reset(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    return {};
  }

  const std::string& path_;
  const Purpose purpose_;
  std::string left_;  // rest of the path, links replaced by their targets
  UniqueFd at_;
  int links_ = 0;
};

/// A name below /proc/PID/fd leads to an open file, not to a path.
bool IsProcfs(int folder) {
  struct statfs system{};
  return fstatfs(folder, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

}  // namespace

Status CheckRegular(int fd, const std::string& path) {
  struct stat status{};
  if (fstat(fd, &status) != 0) return OpenError(path, errno);
  if (S_ISREG(status.st_mode)) return {};
  return NotRegular(path, status.st_mode);
}

Result<UniqueFd> OpenUserFile(const std::string& path) {
  constexpr int kFlags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  Walk walk(path, Purpose::kRead);
  while (true) {
    ATTUNE_TRY(FolderAndName at, walk.ToFolder());
    UniqueFd fd(openat(at.folder.get(), at.name.c_str(), kFlags | (IsProcfs(at.folder.get()) ? 0 : O_NOFOLLOW)));
    if (!fd && errno == ELOOP) {
      ATTUNE_CHECK_OK(walk.Follow(std::move(at.folder), at.name));
      continue;
    }
    if (!fd && errno != ENXIO) return OpenError(path, errno);
    if (!fd) return NotRegular(path, S_IFSOCK);
    ATTUNE_CHECK_OK(CheckRegular(fd.get(), path));
    return fd;
  }
}

Result<std::string> ReadUserFile(const std::string& path, size_t max_bytes) {
  ATTUNE_TRY(const UniqueFd fd, OpenUserFile(path));
  std::string text;
  char buffer[16384];
  while (text.size() <= max_bytes) {
    const ssize_t n = read(fd.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoError(path);
    if (n == 0) return text;
    text.append(buffer, static_cast<size_t>(n));
  }
  return Error{Errc::kInvalidArgument, fmt::format("{} is longer than {} bytes", path, max_bytes), ""};
}

Result<FolderAndName> OpenFolderOf(const std::string& path) { return Walk(path, Purpose::kWrite).ToFolder(); }

namespace {

/// A name below the folder that a variable of the XDG base directory specification has, or its default.
std::string UserPath(const char* variable, std::string_view otherwise, std::string_view name) {
  const char* folder = std::getenv(variable);
  const char* home = std::getenv("HOME");
  if (folder != nullptr && folder[0] == '/') return fmt::format("{}/attune/{}", folder, name);
  if (home != nullptr && home[0] == '/') return fmt::format("{}/{}/attune/{}", home, otherwise, name);
  return "";
}

}  // namespace

std::string ConfigFile(std::string_view name) { return UserPath("XDG_CONFIG_HOME", ".config", name); }
std::string StateFolder(std::string_view name) { return UserPath("XDG_STATE_HOME", ".local/state", name); }

bool OnlyRootCanChange(const std::string& path) {
  std::error_code error;
  if (std::filesystem::canonical(path, error) != std::filesystem::path(path) || error) return false;
  for (std::filesystem::path at = path;; at = at.parent_path()) {
    struct stat status{};
    if (lstat(at.c_str(), &status) != 0 || status.st_uid != 0 || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
      return false;
    if (at == at.root_path()) return true;
  }
}

}  // namespace attune
