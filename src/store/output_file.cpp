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

/// Names that a file may have until it gets its own: of two at a time.
constexpr const char* kReplacements[] = {".attune-new", ".attune-next"};
/// Others exchange the file under its name again and again.
constexpr int kMostClaims = 100;

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

bool IsSame(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

Error WrittenByOthers(const std::string& path) {
  return {Errc::kExists, fmt::format("{} is being written by another attune", path),
          "choose another name, or end that first: attune list sessions, attune ctl stop"};
}

/// "job-2.attune" for job.attune.
std::string Numbered(const std::filesystem::path& path, int number) {
  std::filesystem::path name = path.stem();
  name += fmt::format("-{}", number);
  name += path.extension();
  return path.parent_path() / name;
}

}  // namespace

Result<OutputFile> OutputFile::Create(const std::string& path, IfThere if_there, std::string_view beginning) {
  auto at = OpenFolderOf(path);
  if (!at.ok()) {
    Error error = at.error().WithContext("creating");
    if (error.code == Errc::kNotFound) error.hint = "its folder does not exist";
    return error;
  }
  OutputFile file(path, *std::move(at));
  for (int number = 2; !file.fd_; ++number) {
    if (if_there == IfThere::kReplace) {
      ATTUNE_CHECK_OK(file.ClaimOlder());
      if (file.waits_) {
        ATTUNE_TRY(file.fd_, file.CreateNext());
        file.waiting_name_.swap(file.next_name_);
        break;
      }
    }
    file.fd_.reset(::openat(file.folder_.get(), file.name_.c_str(), kCreateFlags, kPrivate));
    if (file.fd_) break;
    if (errno != EEXIST || if_there == IfThere::kRefuse) return CreateError(file.path_, errno);
    if (if_there != IfThere::kNumber) continue;
    file.path_ = Numbered(path, number);
    file.name_ = std::filesystem::path(file.path_).filename();
  }
  LockForWriting(file.fd());
  if (const Status status = WriteWhole(file.fd(), file.path_, 0, beginning); !status) {
    file.Discard();
    return status.error();
  }
  return file;
}

OutputFile::~OutputFile() {
  if (fd_) Unlink(waiting_name_);
}

/// Finds the file that has the name, and locks it. None is no error.
Status OutputFile::ClaimOlder() {
  for (int claims = 0; claims < kMostClaims; ++claims) {
    struct stat link{};
    // Creating it says what is wrong, if it is not just missing.
    if (::fstatat(folder_.get(), name_.c_str(), &link, AT_SYMLINK_NOFOLLOW) != 0) return {};
    waits_ = true;
    auto readable = OpenUserFile(path_);
    if (!readable.ok() && readable.error().code == Errc::kInvalidArgument)
      return Error{Errc::kInvalidArgument, fmt::format("{} is not a regular file", path_), "choose another output"};
    if (!readable.ok()) return {};  // it cannot be read, but replaced; or it is a link that leads nowhere
    older_.reset(::open(fmt::format("/proc/self/fd/{}", readable->get()).c_str(), O_RDWR | O_CLOEXEC));
    if (older_ && !LockForWriting(older_.get())) return WrittenByOthers(path_);
    if (!older_) older_ = *std::move(readable);
    if (FindWriter(older_.get()) == Writer::kThere) return WrittenByOthers(path_);
    struct stat now{};
    struct stat opened{};
    // Somebody else may have replaced it while it was being locked.
    if (::fstatat(folder_.get(), name_.c_str(), &now, 0) == 0 && ::fstat(older_.get(), &opened) == 0 &&
        IsSame(now, opened))
      return {};
    waits_ = false;
  }
  return WrittenByOthers(path_);
}

Status OutputFile::TakePlace() {
  if (!waits_) return {};
  if (waiting_name_.empty()) {
    std::string name = name_ + kReplacements[0];
    ::unlinkat(folder_.get(), name.c_str(), 0);
    const std::string link = fmt::format("/proc/self/fd/{}", fd_.get());
    if (::linkat(AT_FDCWD, link.c_str(), folder_.get(), name.c_str(), AT_SYMLINK_FOLLOW) != 0)
      return CreateError(path_ + kReplacements[0], errno);
    waiting_name_ = std::move(name);
  }
  if (::renameat(folder_.get(), waiting_name_.c_str(), folder_.get(), name_.c_str()) != 0)
    return ErrnoError(fmt::format("replacing {}", path_));
  waiting_name_.clear();
  waits_ = false;
  older_.reset();
  return {};
}

void OutputFile::Discard() {
  discarded_ = true;
  struct stat own{};
  struct stat named{};
  if (waits_) {
    Unlink(waiting_name_);
    older_.reset();  // others may replace it from now on
  } else if (::fstat(fd_.get(), &own) == 0 &&
             ::fstatat(folder_.get(), name_.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 && IsSame(own, named)) {
    ::unlinkat(folder_.get(), name_.c_str(), 0);
  }
}

Result<UniqueFd> OutputFile::CreateNext() {
  UniqueFd fd(::openat(folder_.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, kPrivate));
  if (!fd) {
    const char* suffix = kReplacements[waiting_name_ == name_ + kReplacements[0] ? 1 : 0];
    std::string name = name_ + suffix;
    ::unlinkat(folder_.get(), name.c_str(), 0);  // left by a process that was killed
    fd.reset(::openat(folder_.get(), name.c_str(), kCreateFlags, kPrivate));
    if (!fd) return CreateError(path_ + suffix, errno);
    next_name_ = std::move(name);
  }
  LockForWriting(fd.get());
  return fd;
}

Status OutputFile::ReplaceBy(UniqueFd next) {
  const bool has_name = !waits_ && !discarded_;
  std::swap(fd_, next);
  waiting_name_.swap(next_name_);
  if (!has_name) {
    DropNext();  // that is what waited until now
    return {};
  }
  waits_ = true;
  const Status status = TakePlace();
  if (!status) {
    std::swap(fd_, next);
    waiting_name_.swap(next_name_);
    waits_ = false;
  }
  return status;
}

void OutputFile::DropNext() { Unlink(next_name_); }

void OutputFile::Unlink(std::string& name) {
  if (!name.empty()) ::unlinkat(folder_.get(), name.c_str(), 0);
  name.clear();
}

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
    if (error.code == Errc::kNoSpace) error.hint = "make room, or bound the recording with --max-size";
    if (error.code == Errc::kTooLarge)
      error.hint = "lift the limit (ulimit -f), or bound the recording with --max-size";
    while (::ftruncate(fd, static_cast<off_t>(offset)) != 0 && errno == EINTR) {
    }
    return error;
  }
  return {};
}

bool LockForWriting(int fd) {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  return SetLock(fd, F_OFD_SETLK, lock) == 0 || (errno != EAGAIN && errno != EACCES);
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
