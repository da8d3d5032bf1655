#pragma once
/// Processes that a process started: how many, one at a time or several, and how busy they were.

#include <map>
#include <vector>

#include "analysis/findings/process_sums.h"

namespace attune::analysis {

struct ChildLives {
  int64_t count = 0;
  int64_t lives_ns = 0;
  int64_t covered_ns = 0;  ///< in which there was at least one
  double active_ns = 0;    ///< in which they ran, or wanted a CPU, with the processes that they started

  /// Whether they followed each other.
  bool IsOneAtATime() const;
};

class Children {
 public:
  /// @param input and activity must outlive this  @cost a step for each process
  Children(const FindingInput& input, const Activity& activity);

  ChildLives Of(model::ElementId parent) const;
  /// Whether a process was started by this one, or by one below it.
  bool IsBelow(model::ElementId process, model::ElementId parent) const;
  /// Processes that started others.
  std::vector<model::ElementId> Parents() const;

 private:
  std::map<model::ElementId, std::vector<const model::Process*>> by_parent_;
  std::map<model::ElementId, model::ElementId> parents_;  ///< by child
  std::map<model::ElementId, double> demands_;            ///< ns, of a process and all below it
};

}  // namespace attune::analysis
