#pragma once
/// Checks of `attune info` and `attune doctor` on this host, and their fixes.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/host_root.h"
#include "machine/host_facts.h"

namespace attune::cli {

/// Path of attune itself.
std::string ExecutablePath();

enum class CheckStatus {
  kOk,
  kWarning,  ///< attune works, and Check::effect says what is worse
  kAbsent,   ///< optional, and not on this machine
  kMissing   ///< attune's main work cannot be done
};
constexpr size_t kCheckStatuses = 4;
std::string_view ToString(CheckStatus status);

/// One thing that attune can use.
struct Check {
  std::string id;  ///< stable: "sampler.priority"
  CheckStatus status = CheckStatus::kOk;
  std::string what;    ///< "real-time priority for the sampler"
  std::string detail;  ///< facts that were found
  std::string effect;  ///< loss without it; empty where it is ok
  std::string fix;     ///< the exact command; empty: ok, or nothing helps here
};
/// Tries everything for real, and undoes it. @param facts of this host @param executable path of attune, for the
/// commands @cost about 50 ms
std::vector<Check> CheckHost(const HostRoot& host, const machine::HostFacts& facts, const std::string& executable);

}  // namespace attune::cli
