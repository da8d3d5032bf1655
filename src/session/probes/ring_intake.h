#pragma once
/// Takes ring files that programs made without a name (memfds), by a socket in the ring folder: such a file belongs to
/// nobody who could truncate it by name, its size is sealed, and it needs no room in a file system.
///
/// Connecting processes are foreign: a file that is no sealed memfd is refused, since reading it could hang or fault.

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace attune::session {

/// A ring file, and the process that sent it.
struct SentRing {
  UniqueFd file;
  pid_t sender = 0;  ///< in our PID namespace; 0: it has none there
};

/// @thread one at a time
class RingIntake {
 public:
  /// @param folder of the rings; the socket there is for its owner alone
  static Result<RingIntake> Listen(const std::string& folder);

  /// Readable when a program connects.
  int fd() const { return listener_.get(); }
  /// The files that have come since the last call. Never blocks.
  std::vector<SentRing> Take();
  /// Whether somebody has connected and not sent a file yet: look again soon.
  bool IsExpecting() const { return !connections_.empty(); }

 private:
  UniqueFd listener_;
  std::vector<UniqueFd> connections_;
};

}  // namespace attune::session
