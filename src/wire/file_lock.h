#pragma once
/// Encoding of file locks in a ring. Plain data.

#include <stdint.h>

#ifdef __cplusplus
namespace attune::wire {

/// Marks the object of a SyncKind::kReadLock or kWriteLock as the lock of a file (flock, lockf): the other bits
/// are the file's inode. No address of a lock in memory has it.
constexpr uint64_t kFileLockBit = UINT64_C(1) << 63;

}  // namespace attune::wire
#endif
