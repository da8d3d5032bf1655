#pragma once
/// Other tools that see the same functions, where they are installed.

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "sync/child.h"

namespace attune::bench {

/// How a program is run under another tool.
struct Peer {
  std::vector<std::string> environment;
  std::vector<std::string> launcher;
};

/// LTTng's wrapper of the pthread functions, with nobody who listens. Error: it is not installed.
Result<Peer> LttngWrapper();

/// Records the events of that wrapper for as long as it lives, with a daemon of its own.
class LttngRecording {
 public:
  /// Error: lttng-tools is not installed, or a daemon runs already, which is none of ours.
  static Result<std::unique_ptr<LttngRecording>> Start();
  ~LttngRecording();
  LttngRecording(const LttngRecording&) = delete;
  LttngRecording& operator=(const LttngRecording&) = delete;

  /// What a program needs to find it.
  std::string Environment() const { return "LTTNG_HOME=" + folder_.Path(); }

 private:
  LttngRecording() : folder_("/dev/shm") {}
  Status Control(const std::string& arguments) const;

  Folder folder_;
  pid_t daemon_ = 0;
};

/// uftrace on a program that was not compiled for it: it records calls into libraries. @param folder for its data
Result<Peer> Uftrace(const std::string& folder);

}  // namespace attune::bench
