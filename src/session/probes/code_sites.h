#pragma once
/// The elements of places in programs' code: a place is a file and an address in it.

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/host_root.h"
#include "session/core/pipeline.h"
#include "session/core/process_table.h"
#include "session/core/registry.h"
#include "session/probes/jit_names.h"
#include "track/memory_map.h"

namespace attune::session {

struct CodePosition {
  std::string module;  ///< path; "": not known
  std::string build_id;
  uint64_t address = 0;       ///< in the module's file; where that is not known, in memory
  std::string function = {};  ///< if known already: vDSO, interpreted lines, and code that the program made as it ran
  std::string file = {};      ///< likewise
  int64_t line = model::kAbsent;
};

/// A line that an interpreter executes: its file takes the place of a module, and the line that of an address, so that
/// it is the same place in all processes. @param line 0: not known
CodePosition SourcePosition(const std::string& file, int32_t line, const std::string& function);

/// Bounded: after kMaxSites sites all others are one. @thread one at a time
class CodeSites {
 public:
  static constexpr size_t kMaxSites = 65'536;

  CodeSites(const HostRoot& host, ProcessTable& processes, Registry& registry, Pipeline& pipeline)
      : host_(host), processes_(processes), registry_(registry), pipeline_(pipeline), jit_names_(host) {}

  /// Position of an address of a process: from AddMapped(), else from /proc/PID/maps while the process is there.
  CodePosition FindInMemory(int32_t pid, uint64_t address);
  /// The file there, found in the same way; nullptr: none. Valid until the next call.
  const track::MappedFile* FindMapping(int32_t pid, uint64_t address);
  /// A file came into a process's memory.
  void AddMapped(int32_t pid, const track::MappedFile& file);
  /// A process has a copy of its parent's memory from now on.
  void CopyMemory(int32_t parent, int32_t child);
  /// Discards a process's memory map, which does not hold any more.
  void Forget(int32_t pid) {
    memory_.erase(pid);
    jit_names_.Forget(pid);
  }

  /// The element; made, and its rows published, if it is new.
  model::ElementId Add(int32_t pid, const CodePosition& position);

 private:
  struct Memory {
    std::vector<track::MappedFile> map;
    int reads = 0;
  };

  struct Module {
    std::string build_id;
    std::map<uint64_t, int64_t> biases;  ///< address less offset, by the offset that a mapping begins at
  };

  const HostRoot& host_;
  ProcessTable& processes_;
  Registry& registry_;
  Pipeline& pipeline_;
  JitNames jit_names_;
  std::map<int32_t, Memory> memory_;       ///< by pid
  std::map<std::string, Module> modules_;  ///< by path
  std::map<std::tuple<int32_t, std::string, std::string, uint64_t, std::string>, model::ElementId> sites_;
};

}  // namespace attune::session
