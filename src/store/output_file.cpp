#include "store/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>

namespace attune::store {
namespace {

constexpr mode_t kPrivate = 0600;
constexpr int kCreateFlags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;

std::string ReplacementName(const std::string& path) { return path + ".attune-new"; }

/// A file limit (RLIMIT_FSIZE) answers a write with a signal that would end the process. While one of these exists, the
/// thread only gets EFBIG.
class NoFileSizeSignal {
 public:
  NoFileSizeSignal() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  ~NoFileSizeSignal() {
    const timespec now{};
    while (sigtimedwait(&set_, nullptr, &now) == SIGXFSZ) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoFileSizeSignal(const NoFileSizeSignal&) = delete;
  NoFileSizeSignal& operator=(const NoFileSizeSignal&) = delete;

 private:
  sigset_t set_{};
  sigset_t before_{};
};

int SetLock(int fd, int command, struct flock& lock) {
  lock.l_whence = SEEK_SET;
  lock.l_start = 0;
  lock.l_len = 0;
  lock.l_pid = 0;
  return ::fcntl(fd, command, &lock);
}

Error CreateError(const std::string& path, int error_number) {
  if (error_number == EEXIST) {
    return {Errc::kExists, fmt::format("{} is there already", path), "replace it with --force, or choose another name"};
  }
  Error error = ErrnoError(fmt::format("creating {}", path), error_number);
  if (error_number == ENOENT) error.hint = "its folder does not exist";
  return error;
}

Status CheckReplaceable(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode)) return {};
  return Error{Errc::kInvalidArgument, fmt::format("{} is not a regular file", path), "choose another output"};
}

}  // namespace

Result<UniqueFd> CreateOutput(const std::string& path, bool overwrite, std::string_view beginning) {
  if (overwrite) {
    ATTUNE_CHECK_OK(CheckReplaceable(path));
    ATTUNE_TRY(UniqueFd fd, CreateReplacement(path));
    LockForWriting(fd.get());
    Status status = WriteWhole(fd.get(), path, 0, beginning);
    if (status) status = ReplaceBy(path, fd);
    if (!status) {
      DropReplacement(path);
      return status.error();
    }
    return fd;
  }
  UniqueFd fd(::open(path.c_str(), kCreateFlags, kPrivate));
  if (!fd) return CreateError(path, errno);
  LockForWriting(fd.get());
  if (const Status status = WriteWhole(fd.get(), path, 0, beginning); !status) {
    ::unlink(path.c_str());
    return status.error();
  }
  return fd;
}

Result<UniqueFd> CreateReplacement(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path();
  UniqueFd fd(::open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, kPrivate));
  if (fd) return fd;
  DropReplacement(path);
  fd.reset(::open(ReplacementName(path).c_str(), kCreateFlags, kPrivate));
  if (!fd) return CreateError(ReplacementName(path), errno);
  return fd;
}

Status ReplaceBy(const std::string& path, const UniqueFd& replacement) {
  const std::string name = ReplacementName(path);
  struct stat status{};
  if (::fstat(replacement.get(), &status) == 0 && status.st_nlink == 0) {
    DropReplacement(path);
    const std::string link = fmt::format("/proc/self/fd/{}", replacement.get());
    if (::linkat(AT_FDCWD, link.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0) {
      return CreateError(name, errno);
    }
  }
  if (::rename(name.c_str(), path.c_str()) != 0) return ErrnoError(fmt::format("replacing {}", path));
  return {};
}

void DropReplacement(const std::string& path) { ::unlink(ReplacementName(path).c_str()); }

Status WriteWhole(int fd, const std::string& path, uint64_t offset, std::string_view bytes) {
  const NoFileSizeSignal guard;
  size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t put =
        ::pwrite(fd, bytes.data() + written, bytes.size() - written, static_cast<off_t>(offset + written));
    if (put < 0 && errno == EINTR) continue;
    if (put > 0) {
      written += static_cast<size_t>(put);
      continue;
    }
    const int error_number = put == 0 ? ENOSPC : errno;
    Error error = ErrnoError(fmt::format("writing {} at offset {}", path, offset + written), error_number);
    if (error_number == EFBIG) error.code = Errc::kNoSpace;
    if (error.code == Errc::kNoSpace) error.hint = "make room, or bound the recording with --max-size";
    while (::ftruncate(fd, static_cast<off_t>(offset)) != 0 && errno == EINTR) {
    }
    return error;
  }
  return {};
}

void LockForWriting(int fd) {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  SetLock(fd, F_OFD_SETLK, lock);
}

void Unlock(int fd) {
  struct flock lock{};
  lock.l_type = F_UNLCK;
  SetLock(fd, F_OFD_SETLK, lock);
}

Writer FindWriter(int fd) {
  struct flock lock{};
  lock.l_type = F_RDLCK;
  if (SetLock(fd, F_OFD_GETLK, lock) != 0) return Writer::kUnknown;
  return lock.l_type == F_UNLCK ? Writer::kNone : Writer::kThere;
}

}  // namespace attune::store
