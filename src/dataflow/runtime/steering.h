#pragma once
/// Changes of a run from outside while it runs: knobs of the process (attune/knob.h), which `attune set` and
/// `attune tune` turn, and the state of the machine (attune/machine.h), where the run makes room for others.

#include <cstdint>
#include <string>

#include "attune/flow/graph.h"

namespace attune::flow::detail {

/// A run that can be changed. @thread any
class Steered {
 public:
  virtual void SetThreads(int threads) = 0;
  /// As many as it was given or set to, without the limit.
  virtual int WantedThreads() const = 0;
  /// No more threads than that, whatever they are set to.
  virtual void LimitThreads(int most) = 0;
  /// @param grain instances that are dispatched together; 0: as measured ("guided")
  virtual void SetGrain(int64_t grain) = 0;
  virtual void SetAhead(int64_t ages) = 0;
  /// Written into Report::decisions.
  virtual void Note(std::string change, std::string reason) = 0;

 protected:
  ~Steered() = default;
};

struct MachineState {
  bool memory = false;  ///< an alarm of memory is raised
  bool heat = false;
  int others_cpus = 0;  ///< CPUs that other programs have
};

/// @thread one at a time
class Steering {
 public:
  struct Values {
    int64_t threads = 1;
    int64_t grain = 0;
    int64_t ahead = 1;
    bool operator==(const Values&) const = default;
  };

  /// Declares the knobs, those of the process once. @param start values of the run  @param cpus of the machine
  Steering(Steered* run, const Values& start, bool follows_machine, int cpus);

  /// Takes over what has changed. The calling thread is the one in which knobs change.
  void Look();
  /// The rule, without knobs and without a session.
  void Follow(const MachineState& machine);

 private:
  Steered* run_;
  Values known_;  ///< of the knobs
  int64_t grain_, ahead_;
  const bool follows_machine_;
  const int cpus_;
  int most_threads_;
  bool few_ages_ = false;
};

}  // namespace attune::flow::detail
