#pragma once
/// A launcher's side of a session: join the job's session, or start it.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "session/components/session_options.h"
#include "session/core/control.h"
#include "session/core/job.h"
#include "session/host/launch.h"

namespace attune::session {

class Membership {
 public:
  /// Looks for the live session of this job and joins it; else starts a detached session process and joins that.
  /// Ranks that start together end up in one session. @pre no threads yet (it forks)
  /// @param refused set with an error: whether what the user asked for makes no sense. Else this host lacks something,
  ///   and a program can run unobserved
  static Result<Membership> JoinOrStart(const SessionOptions& options, bool& refused);

  const SessionInfo& info() const { return info_; }
  bool started_it() const { return started_it_; }
  const std::vector<std::string>& notes() const { return notes_; }
  /// Readable when the session says something by itself or is gone.
  int fd() const { return client_.fd(); }

  /// The environment that lets the program find its rings.
  std::vector<std::pair<std::string, std::string>> ProgramEnvironment(Level level) const;

  /// @param command the program with its arguments; a watcher that polls may never see a short one
  Status Started(pid_t pid, int64_t start_ns, std::span<const std::string> command);
  /// Reports parts of the program that cannot be seen, and why: it goes into the recording.
  Status Unseen(const std::string& what);
  /// It has begun: what the recording replaces is given up now.
  Status Running(pid_t pid);
  Status Failed(pid_t pid);
  Status Exited(pid_t pid, const ExitStatus& status);
  Status Attach(pid_t pid);
  /// To call when fd() is readable: the session has finished. Errors: what became of its recording; kTargetFailed where
  /// it is gone without a word.
  Status TakeEnd();
  /// Leaves. @return whether the session has finished: its recording is complete
  Result<bool> Leave();

 private:
  Status Tell(const std::string& line);

  SessionInfo info_;
  ControlClient client_;
  bool started_it_ = false;
  std::vector<std::string> notes_;  ///< limitations of the session, in words
};

/// The session process's whole life. Writes one line of JSON to `ready_fd` when it can be joined, or why not.
void RunHostSession(const SessionOptions& options, const Job& job, int ready_fd);

}  // namespace attune::session
