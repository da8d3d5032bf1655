#pragma once
/// Influence of observing on the program's contention: how often it called futex, and that compared with the
/// turns in which its mutexes, or all its calls, were passed through (docs/waits.md).

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "analysis/waits/wait_summary.h"
#include "model/source.h"

namespace attune::analysis {

struct Influence {
  /// Recorded turns by those that were passed through.
  struct Comparison {
    bool is_of_all = true;  ///< calls; else of free mutexes, which are counted all the same
    int64_t turns = 0;      ///< that were compared; 0: too few calls, and no ratio
    double ratio = 1;       ///< calls of futex a second, the median
    double low95 = 1;       ///< the 95 % interval of it
    double high95 = 1;
    double same_to_same = 1;  ///< ratio of recorded turns by recorded ones
    int64_t passed_ns = 0;    ///< all turns that were passed through together
  };

  int64_t futex_calls = model::kAbsent;
  int64_t mutex_futex_calls =
      model::kAbsent;        ///< calls to wait for mutexes without attributes, or to wake up their waiters
  std::string not_counted;   ///< why; "": they are counted, or the recording does not say
  int64_t waits = 0;         ///< that were recorded, of all threads
  std::string not_compared;  ///< why there is no comparison; "": there is, or the recording does not say
  std::optional<Comparison> comparison;

  /// kAbsent calls, or no waits: 0.
  double CallsPerWait() const;
};

Influence InfluenceOf(const std::map<std::string, std::string>& info, const WaitTables& waits);

}  // namespace attune::analysis
