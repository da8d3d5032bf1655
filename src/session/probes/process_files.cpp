#include "session/probes/process_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/privilege.h"
#include "base/user_file.h"

namespace attune::session {
namespace {

/// Whether it is the file that was mapped. Those of a file system that lies over others have numbers of their own.
bool IsSame(int fd, const track::MappedFile& file) {
  struct stat status{};
  struct statfs system{};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  if (file.inode == 0 || status.st_ino == file.inode) return true;
  return fstatfs(fd, &system) == 0 && system.f_type == OVERLAYFS_SUPER_MAGIC;
}

}  // namespace

Result<UniqueFd> OpenInRootOf(int32_t pid, const std::string& path) {
  const UniqueFd root(open(fmt::format("/proc/{}/root", pid).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root) return ErrnoError(fmt::format("the root of process {}", pid));
  open_how how{.flags = O_PATH | O_CLOEXEC, .mode = 0, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
  const UniqueFd found(static_cast<int>(syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof how)));
  if (!found) return ErrnoError("opening " + path);
  ATTUNE_CHECK_OK(CheckRegular(found.get(), path));
  UniqueFd fd(open(fmt::format("/proc/self/fd/{}", found.get()).c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return ErrnoError("opening " + path);
  return fd;
}

Result<UniqueFd> OpenMapped(int32_t pid, const track::MappedFile& file) {
  if (auto fd = OpenUserFile(file.path); fd.ok() && IsSame(fd->get(), file)) return fd;
  if (auto fd = OpenInRootOf(pid, file.path); fd.ok() && IsSame(fd->get(), file)) return fd;
  const KernelFileRights rights;
  for (const std::string& path :
       {fmt::format("/proc/{}/map_files/{:x}-{:x}", pid, file.start, file.end), fmt::format("/proc/{}/exe", pid)}) {
    UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (fd && IsSame(fd.get(), file)) return fd;
  }
  return Error{Errc::kNotFound, file.path + " is not there any more", ""};
}

}  // namespace attune::session
