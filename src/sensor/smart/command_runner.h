#pragma once
/// Short commands whose output is wanted, and that may hang.

#include <sys/types.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace attune::sensor {

/// Runs commands without a shell, several at once. A command that takes too long is killed with everything that it
/// started; one that cannot even be killed (it waits for a device that does not answer) is left, and not started again
/// until it has ended. @thread one at a time
class CommandRunner {
 public:
  struct Command {
    std::string key;                 ///< subject of the command: two of one key never run at once
    std::vector<std::string> words;  ///< the first is looked for in PATH
    std::string root_request;        ///< request to the root helper instead, if there is one; empty: none
  };
  /// Output beyond this is an error of the command: it is killed.
  static constexpr size_t kMaxOutputBytes = 4u << 20;

  CommandRunner() = default;
  ~CommandRunner();
  CommandRunner(const CommandRunner&) = delete;
  CommandRunner& operator=(const CommandRunner&) = delete;

  /// @param stop readable: everything is given up at once; -1: nothing can ask for that
  /// @return what each wrote on stdout, whatever its exit code: kNotFound, kPermission: it cannot be started;
  ///         kTimeout: it took too long, or still has not ended since another time
  std::vector<Result<std::string>> Run(const std::vector<Command>& commands, std::chrono::milliseconds limit, int stop);

 private:
  struct Child;
  void Reap();

  std::map<std::string, pid_t> stuck_;  ///< killed, but not ended yet
};

}  // namespace attune::sensor
