#pragma once
/// Whether threads start several things before they wait for the first of them.

#include <cstdint>
#include <unordered_map>

#include "analysis/operators/operator.h"
#include "model/source.h"

namespace attune::analysis {

/// Takes creations of threads and waits for futures. Bounded: kMax threads.
class StartOrder final : public Operator {
 public:
  static constexpr size_t kMax = size_t{1} << 14;

  struct Waits {
    int64_t after_one = 0;      ///< since the wait before exactly one thread was started
    int64_t after_several = 0;  ///< several were
    int64_t after_none = 0;
    int64_t started = 0;  ///< since the last wait
  };

  EventKinds Kinds() const override { return {wire::EventKind::kWait}; }
  void AddEvents(const model::EventBlock& block) override;
  /// Waits for futures of a thread.
  Waits WaitsOf(model::ElementId thread) const;

 private:
  std::unordered_map<model::ElementId, Waits> threads_;
};

}  // namespace attune::analysis
