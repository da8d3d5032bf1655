#pragma once
/// Wake-ups after which a thread does nothing but wait again.

#include <cstdint>
#include <map>
#include <utility>

#include "analysis/operators/operator.h"
#include "model/source.h"

namespace attune::analysis {

/// Takes waits for conditions and futexes. Bounded: kMax pairs of thread and object.
class FutileWakes final : public Operator {
 public:
  static constexpr size_t kMax = size_t{1} << 16;
  /// Between two waits, no longer than it takes to look at what was waited for.
  static constexpr int64_t kLookNs = 10'000;

  EventKinds Kinds() const override { return {wire::EventKind::kWait}; }
  void AddEvents(const model::EventBlock& block) override;
  /// Number of waits for the object that the same thread followed by another one at once.
  int64_t FutileAt(model::ElementId object) const;

 private:
  std::map<std::pair<model::ElementId, model::ElementId>, int64_t> ended_ns_;  ///< by object and thread: the last wait
  std::map<model::ElementId, int64_t> futile_;                                 ///< by object
};

}  // namespace attune::analysis
