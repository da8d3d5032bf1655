#pragma once
/// Settings that were kept of a program before: they are tried first the next time. A file a program in
/// StateFolder("tuned"), in the form of settings files.

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "session/tuning/tuning_choice.h"

namespace attune::session {

/// @param program its file; a file with another build-id is another program  @return empty: nothing is known of it
std::vector<KnobChoice> Remembered(const std::string& program);
/// In place of what was known of it.
Status Remember(const std::string& program, std::span<const KnobChoice> kept);

}  // namespace attune::session
