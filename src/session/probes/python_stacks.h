#pragma once
/// Python's functions in the call paths of CPU samples, of processes that run CPython 3.11.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "profile/python_reader.h"
#include "session/probes/code_sites.h"
#include "track/memory_map.h"

namespace attune::session {

/// Bounded: after kMaxFiles interpreters others are not known; of more than kMaxProcesses processes all are forgotten.
/// @thread one at a time
class PythonStacks {
 public:
  static constexpr size_t kMaxFiles = 256, kMaxProcesses = 256;

  explicit PythonStacks(CodeSites& sites) : sites_(sites) {}

  struct Executed {
    std::vector<model::ElementId> sites;  ///< innermost first
    bool spins = false;                   ///< the innermost, in a loop that only another thread or process can end
  };

  /// Interpreted functions of a sample's function; no sites: it is no interpreter's, or not known.
  /// @param address in the function  @param file in which it lies  @param bias address in memory less that in the file
  Executed Find(const profile::CpuSample& sample, uint64_t address, const track::MappedFile& file, uint64_t bias,
                const profile::StackPart& part);

  /// Whether a process is known that runs it.
  bool HasAny() const { return !processes_.empty(); }

  /// A process has a copy of its parent's memory from now on.
  void CopyMemory(int32_t parent, int32_t child);
  /// Forgets a process, whose memory is another program's now.
  void Forget(int32_t pid) { processes_.erase(pid); }

 private:
  /// Symbols of an interpreter, as addresses in its file.
  struct Interpreter {
    uint64_t begin = 0, end = 0;  ///< address range of _PyEval_EvalFrameDefault
    uint64_t code_type = 0, version = 0;
  };
  struct Process {
    uint64_t bias = 0;
    profile::PythonReader reader;
  };

  const Interpreter* InterpreterOf(int32_t pid, const track::MappedFile& file);
  Process* ProcessOf(int32_t pid, const Interpreter& interpreter, uint64_t bias);

  CodeSites& sites_;
  std::map<std::pair<std::string, uint64_t>, std::optional<Interpreter>> files_;  ///< by path and inode
  std::map<int32_t, std::optional<Process>> processes_;                           ///< by pid; nullopt: another version
};

}  // namespace attune::session
