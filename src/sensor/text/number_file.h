#pragma once
/// A file that holds one number, as most of sysfs does.

#include <string_view>

#include "base/host_root.h"
#include "base/unique_fd.h"

namespace attune::sensor {

/// Opened once, read again and again.
class NumberFile {
 public:
  NumberFile() = default;
  /// @return an Error that names the file where it cannot be opened; what it holds is not looked at
  static Result<NumberFile> Open(const HostRoot& host, std::string_view path);
  /// The number at the front; kAbsent: the file went, cannot be read now, or says something else ("Unavailable").
  /// Does not allocate. @cost 0.3 us + what the kernel takes
  int64_t Read() const;

 private:
  explicit NumberFile(UniqueFd file) : file_(std::move(file)) {}
  UniqueFd file_;
};

/// The number in a file that is needed once; kAbsent where there is no file, or no number in it.
int64_t ReadNumber(const HostRoot& host, std::string_view path);

/// The text of a file that is needed once, without the newline at its end; empty where there is none.
std::string ReadWord(const HostRoot& host, std::string_view path);

}  // namespace attune::sensor
