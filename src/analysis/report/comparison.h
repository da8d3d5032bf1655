#pragma once
/// Two recordings side by side: the programs and what their threads waited for, and which signals changed, by how much,
/// and how sure that is.
///
/// A signal is summed over its elements (levels: averaged) and cut into 32 blocks of equal time. The blocks are what
/// the statistics stand on: neighbouring samples of one run are alike, means of blocks much less so. The interval of
/// the difference is Welch's (unequal variances), widened so that it holds for all signals at once (Bonferroni).

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/account/account.h"
#include "analysis/messages/task_graph.h"
#include "analysis/report/wait_comparison.h"
#include "base/result.h"
#include "model/schema.h"
#include "model/source.h"

namespace attune::analysis {

/// One figure of a whole run: no confidence can be said of a single one.
struct RunFigure {
  std::string name;  ///< "wall_time"
  std::string unit;  ///< "s", "bytes", "%", "1"
  double before = 0;
  double after = 0;
};

struct SignalChange {
  std::string sensor;
  std::string signal;
  std::string element;  ///< empty: all elements together
  std::string unit;     ///< unit of a level; a rate is in this unit per second
  bool is_rate = false;
  double before = 0;  ///< mean over the recording
  double after = 0;
  double difference_low = 0;  ///< 95 % interval of after - before, over all signals together
  double difference_high = 0;
  double maximum = 0;    ///< largest rate of one element: six of them together go to 600 %; 0: not known
  size_t elements = 1;   ///< that the values are of
  bool changed = false;  ///< the interval leaves out 0, and the change is at least the threshold

  /// after / before - 1; infinite where there was nothing before.
  double Relative() const;
};

/// Figures of the messages of two runs: those of MPI where both are jobs of it; else, where processes of both exchange
/// messages through pipes, sockets and the like, how many and how large.
std::vector<RunFigure> CompareMessages(const TaskGraph& before, const TaskGraph& after);

/// The run in which other programs had clearly more of the CPUs: part of the difference may be theirs.
enum class Busier : uint8_t { kNeither, kBefore, kAfter };

/// A tenth of the CPUs' time makes a run the busier one. kNeither where it is not known.
Busier BusierRun(const CpuAccount& before, const CpuAccount& after);

struct ComparisonOptions {
  double threshold = 0.05;  ///< relative changes below it are no news
  bool discrete = false;    ///< each element by itself
};

struct Comparison {
  std::vector<RunFigure> run;  ///< that are not 0 in both
  CpuAccount cpus_before;
  CpuAccount cpus_after;
  WaitComparison waits;
  std::vector<SignalChange> signals;          ///< changed ones first, the largest relative change first
  std::vector<model::Decision> tuned_before;  ///< that were kept (docs/tuning.md)
  std::vector<model::Decision> tuned_after;
  std::vector<std::string> only_before;  ///< "SENSOR.SIGNAL" that the other recording does not have
  std::vector<std::string> only_after;
  size_t changed = 0;      ///< signals
  bool too_short = false;  ///< to say which signals changed: there are none, but there are programs

  /// A signal, or what holds the program back.
  bool AnyChange() const;
};

/// Errors: those of reading; kUnavailable where the recordings have no signal in common, or are too short for blocks
/// and without programs.
/// @cost that of one view of every series
Result<Comparison> Compare(model::Source& before, model::Source& after, const ComparisonOptions& options);

/// Means of blocks of one signal; what Compare stands on. @pre at least 2 values each
struct DifferenceInterval {
  double low = 0;
  double high = 0;
};
DifferenceInterval WelchInterval(const std::vector<double>& before, const std::vector<double>& after,
                                 double confidence);

/// The comparison as the JSON text that `attune compare --json` prints (docs/compare.md).
std::string ToJson(const Comparison& comparison);

/// Both at once, for the page, with the flame graphs of both runs (FlameGraphs). @param discrete each element by itself
Result<std::string> CompareToJson(model::Source& before, model::Source& after, bool discrete);

}  // namespace attune::analysis
