#pragma once
/// Names of code that programs made while they ran.

#include <cstdint>
#include <map>

#include "base/host_root.h"
#include "symbols/jit_map.h"

namespace attune::session {

/// Reads /tmp/perf-PID.map of processes that write one, again when it has grown. @thread one at a time
class JitNames {
 public:
  /// A longer file is not read; nor one of further processes.
  static constexpr size_t kMaxBytes = 32u << 20, kMaxProcesses = 64;

  explicit JitNames(const HostRoot& host) : host_(host) {}

  /// The function at an address of memory; nullptr: none. Valid until the next call. @cost 0.2 us; a stat(2) where it
  /// is not known, at most 20 times a second; reading the file, 30 ms a MB
  const symbols::JitFunction* Find(int32_t pid, uint64_t address);
  void Forget(int32_t pid) { maps_.erase(pid); }

 private:
  struct Map {
    symbols::JitMap functions;
    size_t bytes = 0;
    int64_t looked_ns = 0;
  };

  void Update(int32_t pid, Map& map) const;

  const HostRoot& host_;
  std::map<int32_t, Map> maps_;
};

}  // namespace attune::session
