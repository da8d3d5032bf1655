#pragma once
/// Time that the threads of two runs lost by waiting: findings that went or came, and waits by kind and place.

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/findings/finding.h"
#include "analysis/places/code_place.h"
#include "analysis/report/summary.h"

namespace attune::analysis {

struct FindingChange {
  FindingClass kind = FindingClass::kLockContention;
  CodePlace site;                      ///< the later run's, where both have it
  int64_t before_ns = model::kAbsent;  ///< lost by all threads together; kAbsent: it was not found
  int64_t after_ns = model::kAbsent;

  bool CameOrWent() const { return (before_ns == model::kAbsent) != (after_ns == model::kAbsent); }
};

struct WaitChange {
  std::string kind;  ///< kind of object: "mutex", "OpenMP barrier", ...
  CodePlace site;    ///< place of the waits; the later run's if both have it
  int64_t before_ns = 0;
  int64_t after_ns = 0;
  int64_t before_waits = 0;
  int64_t after_waits = 0;
};

struct WaitComparison {
  std::vector<FindingChange> findings;  ///< most time in either run first
  std::vector<WaitChange> waits;        ///< the largest difference first
  bool waits_seen = false;              ///< in both runs; else `waits` is empty
};

/// Findings of one class at one place are one, as are waits for objects of one kind there: objects are others in each
/// run. A place is the same by its function, or, without a name, by its address in the file: that of the same build.
WaitComparison CompareWaits(const Summary& before, const Summary& after);

}  // namespace attune::analysis
