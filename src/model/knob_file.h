#pragma once
/// Files of knobs: those that attune ships (catalog/knobs/*.toml) and a user's own (docs/knobs.md).

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/catalog_files.h"
#include "base/result.h"
#include "model/knob.h"

namespace attune::model {

/// @param text foreign bytes  @param file how messages call it
Result<std::vector<Knob>> ParseKnobs(std::string_view text, std::string_view file);

/// The files of catalog/knobs.
std::span<const ShippedFile> ShippedKnobFiles();

/// Those that attune ships, and those of ~/.config/attune/knobs.toml and of the files of the folder
/// ~/.config/attune/knobs, which take the place of one of the same name. Error: a file of the user's is wrong
Result<std::vector<Knob>> AllKnobs();

/// Error: kNotFound, with the names that are near.
Result<const Knob*> FindKnob(std::span<const Knob> knobs, std::string_view name);

}  // namespace attune::model
