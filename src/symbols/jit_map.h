#pragma once
/// Names of code that a program made while it ran, from the file /tmp/perf-PID.map that compilers of that kind write
/// for profilers.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attune::symbols {

struct JitFunction {
  uint64_t begin = 0;
  uint64_t bytes = 0;
  std::string name;
};

/// @thread any, once made
class JitMap {
 public:
  static constexpr size_t kMaxFunctions = 1u << 20;

  JitMap() = default;
  /// Lines "START SIZE NAME", numbers hexadecimal; others are left out. Of what was made at the same place the last is
  /// taken.
  explicit JitMap(std::string_view text);

  /// nullptr: none
  const JitFunction* At(uint64_t address) const;

 private:
  std::vector<JitFunction> functions_;  ///< by begin, each once
};

}  // namespace attune::symbols
