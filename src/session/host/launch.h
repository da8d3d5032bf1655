#pragma once
/// Starting the observed program and standing in for it: its descriptors, its exit code, its signals.
///
/// The program is a child in our process group, so that the terminal treats both as one job. What the terminal sends to
/// the group reaches it by itself; what somebody sends to us alone is handed on. If the terminal stops it (SIGTSTP,
/// SIGTTIN, SIGTTOU), we stop; if it dies by a signal, so do we (DieLike).

#include <sys/resource.h>
#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace attune::session {

struct LaunchOptions {
  std::vector<std::string> program;                              ///< not empty
  std::vector<std::pair<std::string, std::string>> environment;  ///< added to ours
};

/// How a process ended, and what it and its waited-for children used.
struct ExitStatus {
  int code = 0;
  int signal = 0;  ///< 0: it exited by itself
  int64_t end_ns = 0;
  int64_t user_ns = 0;
  int64_t system_ns = 0;
  int64_t minor_faults = 0;
  int64_t major_faults = 0;
  int64_t voluntary_switches = 0;
  int64_t involuntary_switches = 0;
  int64_t max_rss_bytes = 0;
};

/// Something to do whenever a descriptor is readable.
struct Watch {
  int fd = -1;
  std::function<bool()> on_readable;  ///< false: it is done
};

/// Blocks the signals that a launcher handles, and gives back the mask that the program shall have. Call once, before
/// any thread is started.
sigset_t BlockLauncherSignals();

class Child {
 public:
  /// Forks; the child waits for Go() before it becomes the program, so that it can be followed from its first
  /// instruction.
  static Result<Child> Fork(const LaunchOptions& options, const sigset_t& program_mask);

  pid_t pid() const { return pid_; }
  int64_t start_ns() const { return start_ns_; }
  /// Whether somebody asked the program, and this process, to end (SIGINT, SIGTERM, SIGHUP, SIGQUIT).
  bool was_asked_to_end() const { return asked_to_end_; }
  /// Lets it exec. Error (kTargetFailed) if the program cannot be run; then the child is gone.
  Status Go();
  /// Use of the child until its exec, which is no part of the program's. @pre Go()
  ExitStatus BeforeExec() const;
  /// Waits for its end, hands on signals, stops and continues with it as one job.
  /// @param watches also waited for; one whose call gives false is no longer watched
  /// @param on_other_end all other children are waited for too, and it is told how each ended (as waitpid says it): for
  ///   who takes in what a program leaves behind (PR_SET_CHILD_SUBREAPER). nullptr: others wait for theirs themselves
  Result<ExitStatus> Wait(std::vector<Watch> watches,
                          const std::function<void(pid_t pid, int status)>& on_other_end = nullptr);

 private:
  pid_t pid_ = -1;
  int64_t start_ns_ = 0;
  std::string name_;
  UniqueFd go_;     ///< closing it without a byte makes the child exit
  UniqueFd error_;  ///< the child's errno if exec fails; closed by exec
  UniqueFd signals_;
  /// Shared with the child, which writes it right before its exec.
  std::unique_ptr<rusage, void (*)(rusage*)> before_exec_{nullptr, nullptr};
  bool asked_to_end_ = false;
  bool asked_to_stop_ = false;  ///< by SIGTSTP, since the last SIGCONT
};

/// This process becomes the program. @return only what was in the way
Error BecomeProgram(const LaunchOptions& options, const sigset_t& program_mask);

/// Waits without a program, until somebody asks us to end (SIGINT, SIGTERM, SIGHUP) or a watch is done.
/// @return the signal; 0: a watch was done
Result<int> WaitForEnd(const std::vector<Watch>& watches);

/// Ends this process by the signal that ended the program, without a core file of ours. Returns only if the signal does
/// not kill.
void DieLike(int signal);

}  // namespace attune::session
