#pragma once
/// File of kept settings: attune tune --save FILE writes it, attune run --settings FILE sets it
/// again.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/knob.h"
#include "session/tuning/tuning_choice.h"

namespace attune::session {

/// @param text foreign bytes  @param file how messages call it
Result<std::vector<KnobChoice>> ParseSettings(std::string_view text, std::string_view file,
                                              std::span<const model::Knob> knobs);
Result<std::vector<KnobChoice>> ReadSettings(const std::string& file);
/// @param of what was tuned: a comment
/// Class of a finding, from its id: "busy-wait" of "busy-wait Work".
std::string FindingClassOf(std::string_view id);

std::string SettingsText(std::span<const KnobChoice> settings, std::string_view of);

}  // namespace attune::session
