#include "analysis/findings/nameless.h"

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "analysis/places/own_place.h"

namespace attune::analysis {
namespace {

/// A function without a name, by its file and where it begins there: one file has several names (libdb.so.0,
/// libdb.so.0.8).
using Function = std::pair<std::string, std::string>;

Function FunctionOf(model::ElementId site, const CodePlace& place, const SiteNames& names) {
  const std::span<const model::Site> frames = names.FramesOf(site);
  const std::string& build = frames.empty() ? place.module : frames.front().build_id;
  return {build.empty() ? place.module : build, place.function.substr(place.function.rfind('+') + 1)};
}

}  // namespace

void NameCallers(const FindingInput& input, std::vector<Finding>& findings) {
  if (input.cpu_samples == nullptr) return;
  std::map<Function, std::map<std::string, int64_t>> callers;  // with their CPU time, by function without a name
  for (const Finding& finding : findings) {
    if (!finding.site.name.empty() && !finding.site.function.empty() && !finding.site.HasSymbol())
      callers[FunctionOf(finding.site.id, finding.site, input.names)];
  }
  if (callers.empty()) return;
  for (const auto& [key, ns] : input.cpu_samples->weights) {
    std::string named;
    for (const model::ElementId site : input.cpu_samples->PathOf(key.second)) {
      const CodePlace place = input.names.PlaceOf(site);
      if (place.HasSymbol() && !IsBegin(place.function) && !IsProbe(place.module)) named = place.function;
      if (place.HasSymbol() || place.function.empty() || named.empty()) continue;
      const auto found = callers.find(FunctionOf(site, place, input.names));
      if (found == callers.end()) continue;
      AddTo(found->second[named], ns);
      break;
    }
  }
  for (Finding& finding : findings) {
    if (finding.site.function.empty() || finding.site.HasSymbol()) continue;
    const auto found = callers.find(FunctionOf(finding.site.id, finding.site, input.names));
    if (found == callers.end() || found->second.empty()) continue;
    finding.site.below =
        std::ranges::max_element(found->second, {}, [](const auto& caller) { return caller.second; })->first;
  }
}

}  // namespace attune::analysis
