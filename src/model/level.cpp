#include "model/level.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/units.h"

namespace attune::model {

std::vector<std::string> LevelNames() { return {Words<Level>::kAll.begin(), Words<Level>::kAll.end()}; }

Result<Level> ParseLevel(std::string_view text) {
  for (size_t i = 0; i < Words<Level>::kAll.size(); ++i) {
    if (text == Words<Level>::kAll[i]) return static_cast<Level>(i);
  }
  const std::string nearest = DidYouMean(text, LevelNames());
  return Error{Errc::kInvalidArgument, fmt::format("there is no level '{}'", text),
               nearest.empty() ? fmt::format("levels are {}", fmt::join(LevelNames(), ", ")) : nearest};
}

}  // namespace attune::model
