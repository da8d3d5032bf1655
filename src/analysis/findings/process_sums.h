#pragma once
/// Sums of each process over all objects of some kinds, as if they were one; and how busy its threads were.

#include <map>
#include <unordered_map>

#include "analysis/findings/finding_input.h"

namespace attune::analysis {

/// @param objects of SyncSums or CallSums  @param wanted kinds  @return by process, those with waits only
std::map<model::ElementId, ObjectGroup> MergeByProcess(const FindingInput& input,
                                                       const std::map<model::ElementId, ObjectSums>& objects,
                                                       bool (*wanted)(wire::SyncKind));

/// Activity of threads and processes, by element.
class Activity {
 public:
  void Add(model::ElementId element, double run_ns, double queued_ns) {
    Times& times = times_[element];
    times.run_ns += run_ns;
    times.queued_ns += queued_ns;
  }
  /// Time on a CPU; 0: not known.
  double RunOf(model::ElementId element) const {
    const auto found = times_.find(element);
    return found == times_.end() ? 0 : found->second.run_ns;
  }
  /// Time in which it ran or wanted a CPU.
  double DemandOf(model::ElementId element) const {
    const auto found = times_.find(element);
    return found == times_.end() ? 0 : found->second.run_ns + found->second.queued_ns;
  }

 private:
  struct Times {
    double run_ns = 0;
    double queued_ns = 0;
  };
  std::unordered_map<model::ElementId, Times> times_;
};
Activity ActivityOf(const FindingInput& input);

/// Life of a process; 0: not known.
int64_t LifeOf(const FindingInput& input, model::ElementId process);

/// A finding about such calls or waits: as FindingInput::About, at the place with most waiting.
Finding AboutBusiest(const FindingInput& input, FindingClass kind, const ObjectGroup& group);

/// "once", "5 times"
std::string TimesText(int64_t times);
/// "5 times, 3.1 ms on average"
std::string TimesText(int64_t times, int64_t ns);

}  // namespace attune::analysis
