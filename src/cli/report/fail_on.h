#pragma once
/// Limits for findings, for scripts: `attune report --fail-on lock-contention>5%`.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/findings/finding.h"
#include "base/result.h"

namespace attune::cli {

struct FailLimit {
  static constexpr std::string_view kAny = "any";

  std::string kind;   ///< a class of findings, or kAny: of all about the program itself
  double share = -1;  ///< largest share of all threads' time that a finding may have; < 0: it may not be there at all

  /// Whether the finding is one that may not be.
  bool IsExceededBy(const analysis::Finding& finding) const;
};

/// "lock-contention>5%", "any>2.5%", "deadlock". Errors: kInvalidArgument, with the nearest names.
Result<FailLimit> ParseFailLimit(std::string_view text);
/// The classes, and kAny.
std::vector<std::string> FailLimitWords();

/// A line for each finding that exceeds a limit: "lock-contention at Drain() (queue.cpp:71): 28.6 % of the threads'
/// time
/// (--fail-on lock-contention>5%)".
std::vector<std::string> Exceeded(std::span<const FailLimit> limits, std::span<const analysis::Finding> findings);

}  // namespace attune::cli
