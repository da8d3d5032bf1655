#pragma once
/// Processes that the benchmark talks to by lines: observed programs and sessions.

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace attune::bench {

/// Ends the benchmark with 1, which `./dev bench` shows as failed. What it started ends with it.
[[noreturn]] void Fail(const std::string& why);

/// A folder that goes with it.
class Folder {
 public:
  /// @param where "/dev/shm"
  explicit Folder(const std::string& where);
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& Path() const { return path_; }

 private:
  std::string path_;
};

/// A process with its stdin and stdout here. It ends when its stdin does, and must then exit 0.
class Child {
 public:
  /// @param environment "NAME=value", beside this process's own
  Child(const std::vector<std::string>& command, const std::vector<std::string>& environment);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void Tell(const std::string& line) const;
  /// The next line of its stdout.
  std::string Answer() const;
  pid_t Pid() const { return pid_; }

 private:
  std::string name_;
  pid_t pid_ = 0;
  UniqueFd in_, out_;
};

/// The CPUs on which the threads of observed programs run: the first two that this process may use, or the only one.
std::vector<int> FirstCpus();

/// An observed program, see sync_target.cpp.
class Target {
 public:
  struct Round {
    double ns = 0;  ///< an operation
    int64_t switches = 0;
    int threads = 0;
    bool single_threaded = false;  ///< as the C library has it
  };

  struct Options {
    std::string name;           ///< of the case
    std::array<int, 2> cpus{};  ///< of its first and its second thread
    uint32_t threads = 0;       ///< of the case "tables"
    std::vector<std::string> environment = {};
    std::vector<std::string> launcher = {};  ///< a command that runs it
  };

  explicit Target(const Options& options);
  Round Run(uint64_t operations) const;
  pid_t Pid() const { return child_.Pid(); }

 private:
  Child child_;
};

}  // namespace attune::bench
