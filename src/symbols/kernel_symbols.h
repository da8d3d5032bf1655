#pragma once
/// Names of the running kernel's functions.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/host_root.h"
#include "base/result.h"

namespace attune::symbols {

/// The module of the kernel's functions in the table `sites`, and the name of the place that they are all below.
inline constexpr std::string_view kKernelModule = "[kernel]";

/// The functions of /proc/kallsyms by address, with those of modules. @thread any, once made
class KernelSymbols {
 public:
  /// Parses the text of /proc/kallsyms. Lines that are malformed, and symbols that are no code, are left out.
  static KernelSymbols Parse(std::string_view text);
  /// Error: kPermission: the kernel hides the addresses (kernel.kptr_restrict). @cost 50 ms, 4 MB of memory
  static Result<KernelSymbols> Read(const HostRoot& host);

  /// The function that contains an address; "": none begins before it.
  std::string_view FunctionAt(uint64_t address) const;
  bool empty() const { return functions_.empty(); }

 private:
  struct Function {
    uint64_t begin = 0;
    uint32_t name_at = 0;
    uint32_t name_bytes = 0;
  };

  std::vector<Function> functions_;  ///< by begin, each once
  std::string names_;
};

}  // namespace attune::symbols
