#include "dataflow/runtime/steering.h"

#include <algorithm>
#include <utility>

#include "dataflow/runtime/idle.h"
#include "dataflow/runtime/workers.h"
// Behind it, as it says how the probe is linked.
#include "attune/knob.h"
#include "attune/machine.h"

namespace attune::flow::detail {
namespace {

constexpr int64_t kMostGrain = 1 << 16;
constexpr int64_t kMostAhead = 1 << 20;

/// The variables of the knobs: one each for all graphs of the process.
struct KnobVariables {
  int64_t threads, grain, ahead;
};

KnobVariables& VariablesOf(const Steering::Values& first) {
  static KnobVariables variables{first.threads, std::min(first.grain, kMostGrain), std::min(first.ahead, kMostAhead)};
  static const bool declared = [] {
    attune_knob("flow.threads", &variables.threads, 1, Workers::kMost, "threads", ATTUNE_AT_SAFE_POINTS);
    attune_knob("flow.grain", &variables.grain, 0, kMostGrain, "instances", ATTUNE_AT_SAFE_POINTS);
    attune_knob("flow.ahead", &variables.ahead, 1, kMostAhead, "ages", ATTUNE_AT_SAFE_POINTS);
    return true;
  }();
  static_cast<void>(declared);
  return variables;
}

Steering::Values Read(const KnobVariables& variables) {
  const auto load = [](const int64_t& variable) { return __atomic_load_n(&variable, __ATOMIC_RELAXED); };
  return {load(variables.threads), load(variables.grain), load(variables.ahead)};
}

std::string FromTo(const char* what, int64_t from, int64_t to) {
  return std::string(what) + " " + std::to_string(from) + " -> " + std::to_string(to);
}

}  // namespace

Steering::Steering(Steered* run, const Values& start, bool follows_machine, int cpus)
    : run_(run),
      known_(Read(VariablesOf(start))),
      grain_(start.grain),
      ahead_(start.ahead),
      follows_machine_(follows_machine),
      cpus_(cpus),
      most_threads_(Workers::kMost) {}

void Steering::Look() {
  attune_safe_point();
  const Values now = Read(VariablesOf(known_));
  constexpr const char* kBy = "the knob was set";
  if (now.threads != known_.threads) {
    const int before = run_->WantedThreads();
    run_->SetThreads(static_cast<int>(now.threads));
    run_->Note(FromTo("threads", before, now.threads), kBy);
  }
  if (now.grain != known_.grain) {
    run_->Note(FromTo("grain", std::exchange(grain_, now.grain), now.grain), kBy);
    run_->SetGrain(grain_);
  }
  if (now.ahead != known_.ahead) {
    run_->Note(FromTo("ages ahead", std::exchange(ahead_, now.ahead), now.ahead), kBy);
    run_->SetAhead(few_ages_ ? 1 : ahead_);
  }
  known_ = now;
  if (!follows_machine_) return;
  const attune_machine_t machine = attune_machine();
  Follow({(machine.alarms & ATTUNE_ALARM_MEMORY) != 0, (machine.alarms & ATTUNE_ALARM_HEAT) != 0,
          static_cast<int>(machine.others_cpus)});
}

void Steering::Follow(const MachineState& machine) {
  const int wanted = run_->WantedThreads();
  // A program that takes every CPU that becomes free shall not get all of them.
  const int half = std::max(1, wanted / 2);
  int most = Workers::kMost;
  std::string reason = "other programs have no CPUs, and no alarm of heat is raised";
  if (machine.others_cpus > 0) {
    most = std::max(cpus_ - machine.others_cpus, half);
    reason = "other programs have " + std::to_string(machine.others_cpus) + " of " + std::to_string(cpus_) + " CPUs";
  }
  if (machine.heat) {
    most = half;
    reason = "an alarm of heat is raised";
  }
  const int before = std::min(wanted, std::exchange(most_threads_, most));
  run_->LimitThreads(most);
  if (std::min(wanted, most) != before)
    run_->Note(FromTo("threads", before, std::min(wanted, most)), std::move(reason));
  if (machine.memory == few_ages_) return;
  few_ages_ = machine.memory;
  run_->Note(few_ages_ ? FromTo("ages ahead", ahead_, 1) : FromTo("ages ahead", 1, ahead_),
             few_ages_ ? "an alarm of memory is raised" : "no alarm of memory is raised any more");
  run_->SetAhead(few_ages_ ? 1 : ahead_);
}

}  // namespace attune::flow::detail
