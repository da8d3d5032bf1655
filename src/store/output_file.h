#pragma once
/// How a recording gets onto the disk: created privately, never in the place of something else by accident, locked
/// while it is written, and cut back to what was whole when a write fails.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace attune::store {

/// Creates `path` with mode 0600 and `beginning` in it, locked for writing. An existing file is refused (kExists)
/// unless `overwrite`; then it is replaced, at once, by a file that already has its beginning.
Result<UniqueFd> CreateOutput(const std::string& path, bool overwrite, std::string_view beginning);

/// An empty file next to `path`, without a name where the file system can do that, for ReplaceBy().
Result<UniqueFd> CreateReplacement(const std::string& path);
/// Lets the replacement take the name and place of `path`, at once.
Status ReplaceBy(const std::string& path, const UniqueFd& replacement);
/// Removes what CreateReplacement() may have left.
void DropReplacement(const std::string& path);

/// Writes all bytes at `offset`. On failure the file is cut back to `offset`, and SIGXFSZ stays away from the process.
Status WriteWhole(int fd, const std::string& path, uint64_t offset, std::string_view bytes);

/// Marks the open file as being written. The kernel ends it with the process, however that ends.
void LockForWriting(int fd);
void Unlock(int fd);
enum class Writer { kNone, kThere, kUnknown };  ///< kUnknown: the file system has no locks
Writer FindWriter(int fd);

}  // namespace attune::store
