#pragma once
/// Knobs that people turn themselves: attune get, set and restore.

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/knob.h"
#include "session/tuning/undo.h"

namespace attune::session {

/// The number of a process. @param text empty: 0  Error: kInvalidArgument
Result<pid_t> ParseProcess(const std::string& text);

/// @param pid 0: the knob is the machine's
Result<std::vector<model::KnobSetting>> GetByHand(const model::Knob& knob, pid_t pid);

/// The same without a thread of the program doing anything for it. Error: kUnavailable: the knob takes that
Result<std::vector<model::KnobSetting>> PeekByHand(const model::Knob& knob, pid_t pid);

/// Sets all settings of the process. It stays until RestoreChanges(), or until the process ends.
/// @param value as model::CheckValue gives it  @return the settings of before
/// Error: kExists: a session has this knob; after an error nothing is changed
Result<std::vector<model::KnobSetting>> SetByHand(const model::Knob& knob, pid_t pid, const std::string& value);

/// All knobs that this process has or may have: those of the catalog, and those that it declares. @param pid 0: none
Result<std::vector<model::Knob>> KnobsOf(pid_t pid);

/// A knob of `knobs`, or `into` as the knob of a variable. Error: kNotFound, with the names that are near
Result<const model::Knob*> KnobOrVariable(std::span<const model::Knob> knobs, const std::string& name,
                                          model::Knob& into);

enum class CallReturns : uint8_t { kInt, kLong, kBool, kDouble, kText, kNothing };
/// Has a thread of a process call a function. @param function as symbols::ProcessCode::FindFunction takes it
/// @param arguments "5" and "0x10" as whole numbers, "2.5" as a double, else the address of a copy of the text that is
///   there during the call
/// @param anywhere by a thread that is in the function's own library, too  @return the result as text
Result<std::string> CallByHand(pid_t pid, const std::string& function, const std::vector<std::string>& arguments,
                               CallReturns returns, int64_t limit_ns, bool anywhere);

/// Undoes what killed sessions and hands have changed. @param pid 0: of all processes
Result<Undone> RestoreChanges(pid_t pid);

}  // namespace attune::session
