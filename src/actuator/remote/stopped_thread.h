#pragma once
/// A thread of another process that stands still by ptrace, and runs a function for us.
///
/// The function returns into the kernel's own way back from a signal handler (rt_sigreturn), for which a signal frame
/// with all registers lies on the stack: the thread goes on as it was also where we are killed meanwhile. While we live
/// it does not come to that, its registers are set from here.

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace attune::actuator {

/// Arguments of a function: at most six of either kind.
struct RemoteArguments {
  std::vector<int64_t> integers;  ///< whole numbers and addresses, in order
  std::vector<double> numbers;    ///< floating-point numbers, in order
};

struct RemoteResult {
  int64_t integer = 0;  ///< in rax
  double number = 0;    ///< in xmm0
};

/// Whether this machine's threads can be made to call something.
bool CanCallRemotely();

/// Code that ends a remote call: it keeps the results and restores all registers.
std::span<const std::byte> ReturnCode();

/// The stop ends with the object. @thread one, the same all the time
class StoppedThread {
 public:
  /// Error: kPermission, with what is needed; kNotFound: it has ended; kUnavailable: another one traces it, or its
  /// process is stopped; kTimeout: it did not stop
  static Result<StoppedThread> Stop(pid_t pid, pid_t tid, int64_t limit_ns);
  StoppedThread(StoppedThread&& other) noexcept;
  StoppedThread& operator=(StoppedThread&&) = delete;
  ~StoppedThread();

  pid_t tid() const { return tid_; }
  uint64_t stack_pointer() const;
  /// It waits in the kernel, or is on its way into it.
  bool IsInSystemCall() const;
  /// It waits in the kernel for a time of which the kernel keeps the rest (restart_block): the call ends with EINTR
  /// where a function that it is made to run sleeps, too.
  bool IsInTimedCall() const;

  struct Call {
    uint64_t function = 0;
    RemoteArguments arguments;
    uint64_t stack = 0;       ///< top of the stack to use; 0: the thread's own
    uint64_t returns_to = 0;  ///< ReturnCode() in the process, or its C library's own return from signals
    bool has_result = false;  ///< returns_to is ReturnCode()
  };
  /// Afterwards the thread runs on and this object is of no use any more.
  /// Error: kTargetFailed: the function crashed; kTimeout: it did not return; in both cases the thread goes on where it
  /// was before; kNotFound: the process has ended
  Result<RemoteResult> Run(const Call& call, int64_t limit_ns);

 private:
  StoppedThread(pid_t pid, pid_t tid);

  Status Wait(int64_t until_ns, int& status) const;
  Status WriteFrame(uint64_t frame, const Call& call) const;
  Status Start(uint64_t frame, const Call& call) const;
  Result<RemoteResult> Await(uint64_t frame, const Call& call, int64_t until_ns);
  Status Restore(bool in_system_call) const;
  Error TakeBack(Errc code, std::string message, std::string hint, bool in_system_call = false) const;
  void Detach(int signal);

  pid_t pid_ = 0;
  pid_t tid_ = 0;
  bool is_held_ = false;
  std::vector<std::byte> registers_;  ///< user_regs_struct as it was stopped
  std::vector<std::byte> extended_;   ///< x87, SSE, AVX …, as the kernel lays them out
  uint64_t signal_mask_ = 0;
};

/// Value of a line of /proc/PID/status, as "0" of "TracerPid:". "": there is none
std::string StatusLine(pid_t tid, std::string_view key);

/// Copies memory of a process. @return false: not all of it can be read, or written
bool ReadRemote(pid_t pid, uint64_t address, std::span<std::byte> into);
bool WriteRemote(pid_t pid, uint64_t address, std::span<const std::byte> bytes);

}  // namespace attune::actuator
