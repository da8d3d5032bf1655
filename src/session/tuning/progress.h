#pragma once
/// Progress rate of a program: the objective of tuning unless one is declared (docs/tuning.md).
///
/// Candidates are counters of what programs do again and again: parallel regions, calls of MPI, locks and conditions by
/// place, bytes read and written, markers. The steadiest one is the objective, a second one of another kind is its
/// witness: what helps one of them and harms the other is not kept. A formula over signals (analysis::Formula) that
/// was asked for is a candidate, too: its count is the integral of its value over time.

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "analysis/derived/derived_operator.h"
#include "analysis/derived/formula.h"
#include "base/host_root.h"
#include "base/thread_safety.h"
#include "model/schema.h"
#include "model/sink.h"
#include "wire/sync.h"

namespace attune::session {

/// Kind of progress counter.
enum class ProgressKind : uint8_t {
  kMarker,   ///< the program's own events, by name
  kRegions,  ///< parallel regions that a thread began, by place
  kMpi,      ///< calls of MPI
  kBytes,    ///< read and written by all processes
  kSync,     ///< locks, conditions and barriers, by place
  kCpu,  ///< CPU time in ms: as much as it can get is what placement is for; no measure of what a change of the work
         ///< gives
  kFormula,  ///< a formula of the user's, whose larger values are better
};

struct Candidate {
  ProgressKind kind = ProgressKind::kBytes;
  int64_t object = 0;  ///< element of the place or the name; 0: all together
  auto operator<=>(const Candidate&) const = default;
};

/// Counters by candidate at one moment.
struct ProgressReading {
  int64_t t_ns = 0;
  std::map<Candidate, double> counts;
};

/// Rate of a candidate between two readings, a second; 0 where one of them lacks it.
double RateOf(const Candidate& candidate, const ProgressReading& begin, const ProgressReading& end);

/// Collects the counters from the pipeline and the kernel. Consume() @thread the pipeline's; Read() @thread any other
class ProgressWatch : public model::Sink {
 public:
  /// @param running the processes whose bytes and CPU time count
  ProgressWatch(HostRoot host, std::function<std::vector<pid_t>()> running,
                std::optional<analysis::Formula> formula = {});

  void Consume(const model::BatchPtr& batch) override;
  /// @pre what was counted until now has come through the pipeline
  ProgressReading Read();
  /// Windows that are shorter would hold too few samples of the formula's signals; 0: any length does.
  int64_t LeastWindowNs() const;

 private:
  struct OfProcess {
    double bytes = 0;
    double cpu_ms = 0;
  };

  void TakeSync(const model::Batch& batch);
  void TakeEvents(const model::Batch& batch);
  void AddFormula(ProgressReading& reading) ATTUNE_REQUIRES(mutex_);

  const HostRoot host_;
  const std::function<std::vector<pid_t>()> running_;
  mutable Mutex mutex_;
  /// (kind, object, thread). Of regions the thread that did most counts: how many threads there are is what may be
  /// tuned.
  std::map<std::tuple<ProgressKind, int64_t, int64_t>, double> counts_ ATTUNE_GUARDED_BY(mutex_);
  std::map<pid_t, OfProcess> processes_;  ///< as of the last reading, also those that have ended

  /// The formula's value from one reading to the next.
  struct FormulaWatch {
    explicit FormulaWatch(analysis::Formula watched)
        : formula(std::move(watched)), values({&formula.series()}), feed({&values}) {}
    const analysis::Formula formula;
    analysis::DerivedOperator values;
    analysis::LiveFeed feed;
    int64_t read_ns = 0;               ///< last reading
    std::optional<double> last_value;  ///< holds while no new sample comes
    double integral = 0;               ///< of the value, in seconds
  };
  std::optional<FormulaWatch> formula_ ATTUNE_GUARDED_BY(mutex_);
};

/// The choice between candidates.
struct Objective {
  Candidate candidate;
  double rate = 0;   ///< a second, median
  double noise = 0;  ///< usual change from one window to the next
};
/// Those that can be objectives, the best first: enough of them in a window, and steady. @param readings at least
/// three, one after the other, the ends of windows of the same length
std::vector<Objective> RankObjectives(const std::vector<ProgressReading>& readings);

/// A word for people: "parallel regions", "bytes read and written".
std::string_view ToString(ProgressKind kind);
/// "regions/s", "bytes/s"
std::string_view UnitOf(ProgressKind kind);

}  // namespace attune::session
