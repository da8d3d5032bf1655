#pragma once
/// How often a program calls futex: by the kernel's tracepoint, so that nothing is added to the program.

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace attune::bench {

class FutexCalls {
 public:
  /// Of all threads that the process has now.
  /// @return kPermission or kUnavailable: the kernel gives no tracepoints to this user, or has none
  static Result<FutexCalls> Of(pid_t pid);
  /// Since it was made.
  uint64_t Count() const;

 private:
  std::vector<UniqueFd> counters_;
};

}  // namespace attune::bench
