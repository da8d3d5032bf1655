#pragma once
/// Findings as rows of the table `findings`: what changed since they were written last (docs/findings.md).

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "analysis/findings/finding.h"
#include "model/schema.h"

namespace attune::analysis {

/// "lock-contention at Enqueue(Job&) (queue.cpp:34), mutex 0x5581c0a01040"
std::string TitleOf(const Finding& finding);

/// Chooses the revisions of findings that are written while a program runs. A finding is the same as long as its class
/// and the place are the same, without a place: its object.
class FindingRevisions {
 public:
  static constexpr int64_t kLeastBetweenNs = 1'000'000'000;  ///< revisions of one finding
  static constexpr int64_t kQuietNs = 10'000'000'000;        ///< that cost nothing for so long are closed
  static constexpr double kWorthARow = 0.05;                 ///< growth of the cost

  enum class Is { kOneOfMany, kTheLast };

  /// @param findings of the whole time so far  @param range that they were found in  @return rows to write, none twice
  std::vector<model::Finding> Update(std::span<const Finding> findings, model::TimeRange range, Is what);

 private:
  struct Known {
    model::Finding written;
    int64_t cost_ns = 0;
    int64_t grew_ns = 0;  ///< when the cost grew last
    bool is_here = false;
  };

  std::map<std::string, Known> known_;  ///< by id
};

}  // namespace attune::analysis
