#pragma once
/// Functions, variables and call paths of a running process, by name, from its files and their debug information
/// (libdwfl), wherever a distribution or DEBUGINFOD_URLS has it.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "symbols/variable.h"

namespace attune::symbols {

/// A function as it lies in the memory of a process.
struct ProcessFunction {
  uint64_t address = 0;
  uint64_t file_from = 0;  ///< the file that it is in
  uint64_t file_to = 0;
  bool is_in_library = false;  ///< else in the program's own file
};

struct ThreadFrame {
  uint64_t address = 0;
  std::string function;  ///< linkage name of the symbol; "": none
  std::string file;      ///< base name; "": none
};

struct ThreadFrames {
  std::vector<ThreadFrame> frames;  ///< innermost first
  bool is_whole = false;            ///< down to the function that has no caller
};

/// @thread one at a time; Frames() only the one that has stopped the thread
class ProcessCode {
 public:
  /// Error: kNotFound: there is no such process; kPermission: it is another user's
  static Result<ProcessCode> Open(pid_t pid);
  ProcessCode(ProcessCode&&) noexcept;
  ProcessCode& operator=(ProcessCode&&) noexcept;
  ~ProcessCode();

  /// @param name "set_rate", "ns::Set", "LIBRARY!set_rate", where LIBRARY is the begin of a file's name
  /// Error: kNotFound; kUnavailable: which code it stands for is not known  @cost 0.1 us a symbol of all files
  Result<ProcessFunction> FindFunction(std::string_view name) const;
  /// @param expression [LIBRARY!]NAME, then .MEMBER, ->MEMBER and [INDEX]  @param read the process's memory
  /// Error: kNotFound; kInvalidArgument: it does not fit the type, and what would  @cost reading the units of the files
  Result<Variable> FindVariable(std::string_view expression, const ReadMemory& read) const;

  /// Reads what unwinding needs, so that a thread need not stand still meanwhile. @cost some milliseconds
  void PrepareFrames();
  /// The call path of a thread that this thread has stopped by ptrace.
  ThreadFrames Frames(pid_t tid) const;

 private:
  struct Session;
  explicit ProcessCode(std::unique_ptr<Session> session);
  std::unique_ptr<Session> session_;
};

}  // namespace attune::symbols
