#pragma once
/// The one door to the host's files. Everything that reads /proc or /sys goes through a HostRoot, so that a captured
/// tree (another folder) can stand in for the host. No statics, no setters.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace attune {

class HostRoot {
 public:
  /// @param root folder that holds `proc/` and `sys/`; "/" is this machine
  explicit HostRoot(std::string root = "/");

  /// Opens for reading, O_CLOEXEC. @param path absolute on the host: "/proc/vmstat"  @param flags more of open(2)'s
  Result<UniqueFd> Open(std::string_view path, int flags = 0) const;
  /// Opens for reading and writing, O_CLOEXEC: registers that must be written to be read. Makes no file.
  Result<UniqueFd> OpenWritable(std::string_view path, int flags = 0) const;
  /// The whole file, at most max_bytes (kernel files have no size). Does not wait for who writes a FIFO.
  Result<std::string> ReadFile(std::string_view path, size_t max_bytes = 16u << 20) const;
  /// Names in a folder, sorted, without "." and "..".
  Result<std::vector<std::string>> List(std::string_view path) const;
  Result<std::string> ReadLink(std::string_view path) const;
  bool Exists(std::string_view path) const;
  bool IsThisMachine() const { return root_ == "/"; }
  /// The folder that stands for the host's root: for libraries that open files themselves.
  const std::string& Folder() const { return root_; }

 private:
  std::string Resolve(std::string_view path) const;
  std::string root_;
};

/// Reads from a kept descriptor at offset 0 into `buffer`; the number of bytes, or -1. Does not allocate.
/// @cost the kernel's: about 0.5 us for schedstat to 24 us for interrupts
long PreadAll(int fd, char* buffer, size_t capacity);

/// The same for a file of which no line is longer than kShortLineBytes (or that the kernel writes in one piece): the
/// read that would only find the end is left out. The kernel ends a read early where the next record no longer fits
/// into its buffer, a page at least (fs/seq_file.c), so that after a shorter read there is nothing left.
long PreadShortLines(int fd, char* buffer, size_t capacity);
inline constexpr size_t kShortLineBytes = 512;

}  // namespace attune
