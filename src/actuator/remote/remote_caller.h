#pragma once
/// Calls of functions in a running program, by one of its threads that is stopped for it (ptrace). For programs that
/// attune has not started, too.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "actuator/remote/stopped_thread.h"
#include "base/result.h"

namespace attune::actuator {

struct RemoteCall {
  uint64_t function = 0;  ///< address
  RemoteArguments arguments;
  std::vector<std::pair<size_t, std::string>> texts;  ///< integers[first] is to be the address of a copy of `second`
  uint64_t not_from = 0;  ///< a thread that is in this code is not taken: its locks may be held
  uint64_t not_to = 0;
};

/// Has a function called. Waits for a thread to be at a safe place: not in malloc, in the dynamic loader, in fork, or
/// in the function's own library. The thread stands still for some milliseconds beyond what the function takes.
/// @param limit_ns of the wait for a safe place, and again of the function
/// Error: as StoppedThread's; kUnavailable: the process has a seccomp filter, or no C library to get memory from;
/// kTimeout
Result<RemoteResult> CallByThread(pid_t pid, const RemoteCall& call, int64_t limit_ns);

}  // namespace attune::actuator
