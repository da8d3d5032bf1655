// The state of the machine, put where the programs can read it (attune/machine.h).

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/clock.h"
#include "session/components/factories.h"
#include "wire/ring.h"

namespace attune::session {
namespace {

constexpr std::string_view kOthers = "cpu.others";

/// The bit of a rule; 0: programs are not told of it.
uint32_t KindOf(std::string_view rule) {
  if (rule.starts_with("memory.")) return wire::kRingAlarmMemory;
  if (rule.starts_with("heat.") || rule == "cpu.slow_clock") return wire::kRingAlarmHeat;
  return rule == kOthers ? wire::kRingAlarmLoad : 0;
}

struct MachineState {
  uint32_t alarms = 0;
  uint32_t others_cpus = 0;
};

MachineState StateOf(const std::vector<analysis::AlarmStatus>& rules) {
  MachineState state;
  for (const analysis::AlarmStatus& status : rules) {
    if (status.verdict != analysis::AlarmVerdict::kRaised) continue;
    const std::string_view name = status.rule.rule->name;
    state.alarms |= KindOf(name);
    if (name == kOthers && !status.readings.empty())
      state.others_cpus =
          static_cast<uint32_t>(std::clamp(std::round(status.readings[0].value.value_or(0)), 0.0, 255.0));
  }
  return state;
}

/// Tells what the alarms say, once a second.
class MachineBoard : public Component {
 public:
  MachineBoard(AlarmComponent& alarms, ProbeComponent& probes) : alarms_(alarms), probes_(probes) {}

  void EverySecond() override { Tell(StateOf(alarms_.Now())); }
  /// Nobody tells the programs any more.
  void Stop() override { Tell({}); }

 private:
  void Tell(const MachineState& state) {
    const auto seconds = static_cast<uint32_t>(MonotonicNs() / 1'000'000'000);
    if (state.alarms == 0 && !told_) return;
    told_ = state.alarms != 0;
    for (const auto& ring : probes_.rings().All()) {
      // A program may be gone: its ring tells nobody.
      static_cast<void>(ring->WriteWord("machine_seconds", seconds));
      static_cast<void>(ring->WriteWord("machine_others", state.others_cpus));
      static_cast<void>(ring->WriteWord("machine_alarms", state.alarms));
    }
  }

  AlarmComponent& alarms_;
  ProbeComponent& probes_;
  bool told_ = false;  ///< that something is raised
};

}  // namespace

std::unique_ptr<Component> MakeMachineBoard(AlarmComponent& alarms, ProbeComponent& probes) {
  return std::make_unique<MachineBoard>(alarms, probes);
}

}  // namespace attune::session
