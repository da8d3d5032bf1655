#include "session/tuning/undo.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <ranges>
#include <set>

#include "session/core/job.h"
#include "session/tuning/ring_channel.h"
#include "symbols/exported_symbol.h"
#include "track/memory_map.h"

namespace attune::session {
namespace {

/// Actuators by the name of their family, made when they are needed.
class Actuators {
 public:
  explicit Actuators(const actuator::ActuatorHost& host) : host_(host) {}
  Result<model::Actuator*> Of(const model::Knob& knob) {
    std::unique_ptr<model::Actuator>& made = made_[knob.actuator];
    if (made == nullptr) {
      ATTUNE_TRY(made, actuator::MakeActuator(knob.actuator, host_));
    }
    return made.get();
  }

 private:
  const actuator::ActuatorHost& host_;
  std::map<std::string, std::unique_ptr<model::Actuator>> made_;
};

/// Whether what was changed is not there any more: the process, or one of its threads, sockets, ... What is missing
/// while the process lives is only out of reach.
bool IsGone(const Change& change, const Error& error) {
  if (error.code != Errc::kNotFound) return false;
  return change.target.pid == 0 || !change.place.empty() || StartTicks(change.target.pid) != change.target.start_ticks;
}

}  // namespace

model::KnobTarget TargetOf(pid_t pid) { return {pid, pid == 0 ? 0 : StartTicks(pid)}; }

actuator::FindFunction FunctionFinder(const HostRoot& host) {
  return [host](pid_t pid, std::string_view library, std::string_view function) -> Result<actuator::FunctionPlace> {
    ATTUNE_TRY(const std::vector<track::MappedFile> map, track::ReadMemoryMap(host, pid));
    actuator::FunctionPlace place;
    uint64_t bias = 0;
    std::string path;
    for (const track::MappedFile& part : map) {
      const std::string name = std::filesystem::path(part.path).filename().string();
      if (path.empty() && part.offset == 0 && name.starts_with(library)) {
        path = part.path;
        bias = place.library_from = part.start;
      }
      if (!path.empty() && part.path == path) place.library_to = part.end;
    }
    if (path.empty()) return Error{Errc::kNotFound, fmt::format("process {} has no library {}", pid, library), ""};
    if (function.empty()) return place;
    // By way of the process: it may have another root.
    ATTUNE_TRY(const UniqueFd file, host.Open(fmt::format("/proc/{}/root{}", pid, path)));
    const auto symbol = symbols::FindExportedSymbol(file.get(), function);
    if (!symbol)
      return Error{Errc::kNotFound, fmt::format("{} of process {} has no function {}", path, pid, function), ""};
    place.address = bias + symbol->address;
    return place;
  };
}

std::optional<model::Knob> VariableKnob(const std::string& name) {
  if (!name.starts_with(kVariablePrefix)) return std::nullopt;
  return model::Knob{.name = name,
                     .about = "a variable of the program",
                     .type = model::KnobType::kText,
                     .actuator = "variable",
                     .how = {{"variable", name.substr(kVariablePrefix.size())}},
                     .safe_point = "at once"};
}

void UndoInherited(model::Actuator& actuator, const model::Knob& knob, const std::vector<Change>& undone) {
  const Change& first = undone.front();
  const auto now = actuator.Read(knob, first.target);
  if (!now.ok()) return;
  for (const model::KnobSetting& setting : *now) {
    const bool is_known = std::ranges::any_of(undone, [&](const Change& c) { return c.place == setting.place; });
    const bool is_ours = std::ranges::any_of(undone, [&](const Change& c) { return c.after == setting.value; });
    if (!is_known && is_ours) static_cast<void>(actuator.Write(knob, first.target, {setting.place, first.before}));
  }
}

Undone UndoChanges(std::vector<Change> changes, std::vector<model::Knob> knobs, const actuator::ActuatorHost& host) {
  for (const Change& change : changes) {
    if (auto variable = VariableKnob(change.knob)) knobs.push_back(*std::move(variable));
    if (change.actuator == kProgramActuator && !model::FindKnob(knobs, change.knob).ok())
      knobs.push_back({.name = change.knob, .actuator = change.actuator});
  }
  Actuators actuators(host);
  Undone result;
  std::map<std::pair<std::string, pid_t>, std::vector<Change>> by_knob;
  for (const Change& change : changes | std::views::reverse) {
    const auto note = [&](size_t& count) {
      ++count;
      static_cast<void>(NoteUndone(change));
    };
    const auto fail = [&](const Error& error) {
      result.failures.push_back(fmt::format("{} of process {}: {}{}{}", change.knob, change.target.pid, error.message,
                                            error.hint.empty() ? "" : ": ", error.hint));
    };
    if (change.target.pid != 0 && StartTicks(change.target.pid) != change.target.start_ticks) {
      note(result.gone);
      continue;
    }
    const auto knob = model::FindKnob(knobs, change.knob);
    if (!knob.ok()) {
      fail(knob.error());
      continue;
    }
    const auto actuator = actuators.Of(**knob);
    if (!actuator.ok()) {
      fail(actuator.error());
      continue;
    }
    const auto written = (*actuator)->Write(**knob, change.target, {change.place, change.before});
    if (written.ok()) {
      note(result.changes);
    } else if (IsGone(change, written.error())) {
      note(result.gone);
    } else {
      fail(written.error());
      continue;
    }
    if ((*knob)->scope == model::KnobScope::kThread) by_knob[{change.knob, change.target.pid}].push_back(change);
  }
  for (const auto& [of, undone] : by_knob) {
    const auto knob = model::FindKnob(knobs, of.first);
    const auto actuator = actuators.Of(**knob);
    if (actuator.ok()) UndoInherited(**actuator, **knob, undone);
  }
  return result;
}

Undone UndoUnheld(std::vector<Change> changes, std::vector<model::Knob> knobs) {
  RingChannel rings;
  std::set<pid_t> pids;
  for (const Change& change : changes) {
    if (change.target.pid == 0 || !pids.insert(change.target.pid).second) continue;
    if (auto ring = track::RingControl::OpenOf(HostRoot(), change.target.pid); ring.ok())
      rings.Add(std::make_shared<track::RingControl>(*std::move(ring)));
  }
  return UndoChanges(std::move(changes), std::move(knobs),
                     {.host = HostRoot(), .probe = &rings, .find_function = FunctionFinder(HostRoot())});
}

}  // namespace attune::session
