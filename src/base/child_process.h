#pragma once
/// Processes of our own that do one thing for us, apart from us: what runs a plug-in, a command whose output is wanted.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace attune {

struct SpawnOptions {
  std::string program;                           ///< without a slash it is looked for in PATH
  std::vector<std::string> arguments;            ///< with the one that is the program's name
  std::vector<std::pair<int, int>> descriptors;  ///< ours, and its number there, below kFirstFreeFd
  std::string folder;                            ///< working folder; empty: ours
  bool is_quiet = false;                         ///< its standard error is at /dev/null too
};

/// Starts a process that has standard input and output at /dev/null, our standard error, no other descriptor than those
/// that it is given, no blocked signals, and is no member of the terminal's job: it leads a process group of its own.
/// @return its id; it is to be waited for. kNotFound, kPermission: it cannot be started
Result<pid_t> SpawnApart(const SpawnOptions& options);

/// Path at which execvp() would find a program; "": none. @param path as in PATH; nullptr: the default if that is unset
std::string FindProgram(const std::string& name, const char* path);

/// Such a process and how it ends. @thread one at a time, except pidfd()
class ChildProcess {
 public:
  /// Descriptors to be passed on have at least this number, so that dup2 does not overwrite them (see MovedUp).
  static constexpr int kFirstFreeFd = 10;

  static Result<ChildProcess> Spawn(const SpawnOptions& options);
  ChildProcess() = default;
  ChildProcess(ChildProcess&&) = default;
  ChildProcess& operator=(ChildProcess&&) = default;

  /// Readable when it has ended.
  int pidfd() const { return pidfd_.get(); }
  void Kill() const;
  /// How it ended, without reaping it: Wait() must still be called.
  std::string PeekHowItEnded() const;
  /// Waits for its end. @return "ended by itself with exit code 3", "crashed (SIGSEGV)"
  std::string Wait();

 private:
  pid_t pid_ = -1;
  UniqueFd pidfd_;
};

/// The same descriptor with a number that Spawn() can hand over.
UniqueFd MovedUp(UniqueFd fd);
/// Ends a process that a pidfd names. @thread any
void KillByPidfd(int pidfd);
/// Whether the descriptor becomes readable until the deadline of CLOCK_MONOTONIC.
bool WaitReadable(int fd, int64_t deadline_ns);

}  // namespace attune
