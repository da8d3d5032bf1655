#pragma once
/// The files of catalog/knobs, as the build found them.

#include <span>
#include <string_view>

namespace attune::model {

struct ShippedKnobFile {
  std::string_view name;
  std::string_view text;
};

std::span<const ShippedKnobFile> ShippedKnobFiles();

}  // namespace attune::model
