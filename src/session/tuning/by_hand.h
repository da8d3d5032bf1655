#pragma once
/// Knobs that people turn themselves: attune get, set and restore.

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "model/knob.h"
#include "session/tuning/undo.h"

namespace attune::session {

/// The number of a process. @param text empty: 0  Error: kInvalidArgument
Result<pid_t> ParseProcess(const std::string& text);

/// @param pid 0: the knob is the machine's
Result<std::vector<model::KnobSetting>> GetByHand(const model::Knob& knob, pid_t pid);

/// Sets all settings of the process. It stays until RestoreChanges(), or until the process ends.
/// @param value as model::CheckValue gives it  @return the settings of before
/// Error: kExists: a session has this knob; after an error nothing is changed
Result<std::vector<model::KnobSetting>> SetByHand(const model::Knob& knob, pid_t pid, const std::string& value);

/// Undoes what killed sessions and hands have changed. @param pid 0: of all processes
Result<Undone> RestoreChanges(pid_t pid);

}  // namespace attune::session
