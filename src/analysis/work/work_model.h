#pragma once
/// Model of a run of a dataflow graph: its ages are simulated on its threads, by what its kernels cost, which ages of
/// which fields they need, and how many ranges they are divided into. It says what bounds the run, and how long that
/// would take with other costs.

#include <optional>
#include <string>
#include <vector>

#include "analysis/work/work_graph.h"

namespace attune::analysis {

/// Gains are parts of the measured time that would be saved.
struct WorkForecast {
  struct Kernel {
    std::string name;
    double gain_ns = 0;  ///< if an instance took half as long, dispatch included
  };
  std::vector<Kernel> kernels;   ///< most gain first
  double measured_ns = 0;        ///< the run
  double modelled_ns = 0;        ///< the same by the model
  double idle = 0;               ///< part of the threads' time in which the model has no work for them
  double threads_gain_ns = 0;    ///< with twice as many threads, on as many CPUs more
  double dispatch_gain_ns = 0;   ///< if dispatch took no time
  double imbalance_gain_ns = 0;  ///< if all ranges of an age were equally long

  /// Whether the model explains the time.
  bool Fits() const;
};

/// @return nullopt: the runtime does not tell its threads and times, or what it tells cannot run
/// @cost some ms; a third of a second for 30 kernels on 64 threads
std::optional<WorkForecast> Forecast(const WorkGraph& graph);

}  // namespace attune::analysis
