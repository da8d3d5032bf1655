#include "session/tuning/by_hand.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <thread>

#include "actuator/actuators.h"
#include "base/clock.h"
#include "model/knob_file.h"

namespace attune::session {
namespace {

actuator::ActuatorHost Host() {
  return {.host = HostRoot(), .probe = nullptr, .find_function = FunctionFinder(HostRoot())};
}

Result<model::KnobTarget> CheckedTarget(const model::Knob& knob, pid_t pid) {
  const bool is_machine = knob.scope == model::KnobScope::kMachine;
  if (is_machine) return model::KnobTarget();
  if (pid == 0)
    return Error{Errc::kInvalidArgument, fmt::format("{} is a knob of a process", knob.name), "say which one: -p PID"};
  const model::KnobTarget target = TargetOf(pid);
  if (target.start_ticks == 0)
    return Error{Errc::kNotFound, fmt::format("there is no process {}", pid), "ps -e lists them"};
  return target;
}

}  // namespace

Result<pid_t> ParseProcess(const std::string& text) {
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (text.empty() || (error == std::errc() && end == text.data() + text.size() && pid > 0)) return pid;
  return Error{Errc::kInvalidArgument, fmt::format("--pid: '{}' is not a process id", text), "ps -e lists them"};
}

Result<std::vector<model::KnobSetting>> GetByHand(const model::Knob& knob, pid_t pid) {
  ATTUNE_TRY(const model::KnobTarget target, CheckedTarget(knob, pid));
  ATTUNE_TRY(const auto actuator, actuator::MakeActuator(knob.actuator, Host()));
  return actuator->Read(knob, target);
}

Result<std::vector<model::KnobSetting>> SetByHand(const model::Knob& knob, pid_t pid, const std::string& value) {
  ATTUNE_TRY(const model::KnobTarget target, CheckedTarget(knob, pid));
  ATTUNE_TRY(const auto actuator, actuator::MakeActuator(knob.actuator, Host()));
  ATTUNE_TRY(std::vector<model::KnobSetting> before, actuator->Read(knob, target));
  const std::string name = fmt::format("hand-{}-{}", getpid(), MonotonicNs());
  ATTUNE_CHECK_OK(CheckUnowned(knob.name, target, name));
  ATTUNE_TRY(Journal journal, Journal::Create(name, Journal::By::kHand));
  for (const model::KnobSetting& setting : before) {
    ATTUNE_TRY(
        const int64_t number,
        journal.Note(
            {.knob = knob.name, .target = target, .place = setting.place, .before = setting.value, .after = value}));
    static_cast<void>(number);
    const auto written = actuator->Write(knob, target, {setting.place, value});
    if (written.ok() || written.error().code == Errc::kNotFound) continue;
    // What was written up to here is undone.
    auto changes = HeldChanges(journal.path());
    if (changes.ok()) static_cast<void>(UndoChanges(*std::move(changes), {knob}, Host()));
    journal.Remove();
    return written.error();
  }
  return before;
}

Result<Undone> RestoreChanges(pid_t pid) {
  ATTUNE_TRY(const std::vector<model::Knob> knobs, model::AllKnobs());
  ATTUNE_TRY(std::vector<Change> changes, HeldChanges());
  // A session that was killed right now holds its journal until it is gone.
  for (int tries = 0; tries < 10 && std::ranges::any_of(changes, &Change::is_held); ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ATTUNE_TRY(changes, HeldChanges());
  }
  std::erase_if(changes,
                [&](const Change& change) { return change.is_held || (pid != 0 && change.target.pid != pid); });
  Undone undone = UndoChanges(std::move(changes), knobs, Host());
  static_cast<void>(HeldChanges());  // removes journals that hold nothing any more
  return undone;
}

}  // namespace attune::session
