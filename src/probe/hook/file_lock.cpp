/// Locks of files, which processes have in common: flock and lockf. They are read-write locks, whose object is the
/// file's inode, so that it is the same in all processes. A lock that is given up by closing the file is held for good,
/// as far as is known here.

#include <errno.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probe/hook/real.h"
#include "probe/hook/wrap.h"
#include "wire/file_lock.h"

namespace attune::probe::hook {
namespace {

/// nullptr: it is not known.
const void* LockOf(int file) {
  if (attune_probe_is_sandboxed != 0) return nullptr;
  const int saved_errno = errno;
  struct stat status;
  const bool is_known = fstat(file, &status) == 0;
  errno = saved_errno;
  return is_known ? reinterpret_cast<const void*>(wire::kFileLockBit | (status.st_ino & (wire::kFileLockBit - 1)))
                  : nullptr;
}

template <class Call>
int LockFile(int file, const void* site, SyncKind kind, IfTaken if_taken, const Call& call) {
  const void* lock = LockOf(file);
  if (lock == nullptr) return call();
  if (if_taken == IfTaken::kWaits) return WaitFor<Owner::kUnknown>(lock, site, kind, call, Waits::kPerhaps);
  const int result = call();
  if (result == 0) Acquired(lock, site, kind, IfTaken::kGivesUp);
  return result;
}

template <class Call>
int UnlockFile(int file, const Call& call) {
  const void* lock = HoldsAny() ? LockOf(file) : nullptr;
  if (lock == nullptr) return call();
  return ReleaseHeld(lock, SyncKind::kWriteLock, [] { return false; }, call);
}

template <class Call>
int LockPart(int file, int operation, const void* site, const Call& call) {
  if (!Recording()) return call();
  if (operation == F_ULOCK) return UnlockFile(file, call);
  if (operation == F_TEST) return call();
  return LockFile(file, site, SyncKind::kWriteLock, operation == F_LOCK ? IfTaken::kWaits : IfTaken::kGivesUp, call);
}

}  // namespace

ATTUNE_HOOK int flock(int file, int operation) noexcept {
  const auto call = [=] { return g_real.flock(file, operation); };
  if (!Recording()) return call();
  if ((operation & LOCK_UN) != 0) return UnlockFile(file, call);
  const SyncKind kind = (operation & LOCK_SH) != 0 ? SyncKind::kReadLock : SyncKind::kWriteLock;
  return LockFile(file, ATTUNE_SITE, kind, (operation & LOCK_NB) != 0 ? IfTaken::kGivesUp : IfTaken::kWaits, call);
}

// Not noexcept: they are cancellation points.
ATTUNE_HOOK int lockf(int file, int operation, off_t bytes) {
  return LockPart(file, operation, ATTUNE_SITE, [=] { return g_real.lockf(file, operation, bytes); });
}
ATTUNE_HOOK int lockf64(int file, int operation, off64_t bytes) {
  return LockPart(file, operation, ATTUNE_SITE, [=] { return g_real.lockf64(file, operation, bytes); });
}

}  // namespace attune::probe::hook
