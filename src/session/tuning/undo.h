#pragma once
/// Undoing changes, by whoever is there to do it: the session, its guardian, `attune restore`.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "actuator/actuators.h"
#include "model/knob.h"
#include "model/knob_file.h"
#include "session/tuning/journal.h"

namespace attune::session {

/// The start of a process as it is now; a machine-wide change has none.
model::KnobTarget TargetOf(pid_t pid);

/// Resolves exported functions of a process's libraries to addresses.
actuator::FindFunction FunctionFinder(const HostRoot& host);

/// Name of a knob that stands for a variable of a program: this, then symbols::ProcessCode::FindVariable's expression.
inline constexpr std::string_view kVariablePrefix = "variable:";
/// The knob of a variable; nullopt: it is no such name.
std::optional<model::Knob> VariableKnob(const std::string& name);

/// Gives threads that were made while a change held the value of before: they have inherited it.
/// @param undone changes of one knob of one process, not empty
void UndoInherited(model::Actuator& actuator, const model::Knob& knob, const std::vector<Change>& undone);

struct Undone {
  size_t changes = 0;                 ///< settings that are as before
  size_t gone = 0;                    ///< settings of processes, threads or descriptors that have ended
  std::vector<std::string> failures;  ///< a sentence each
};
/// Actuator of knobs that programs declare; only the session that saw the declaration knows their descriptions.
inline constexpr std::string_view kProgramActuator = "program";

/// Newest first. What a new thread has inherited of a change is undone, too. Each is noted in its journal.
Undone UndoChanges(std::vector<Change> changes, std::vector<model::Knob> knobs, const actuator::ActuatorHost& host);

/// The same of changes that no session and no guardian holds any more: knobs in the programs are written by way of the
/// programs' memory.
Undone UndoUnheld(std::vector<Change> changes, std::vector<model::Knob> knobs);

}  // namespace attune::session
