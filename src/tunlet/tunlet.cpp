#include "tunlet/tunlet.h"

#include <algorithm>
#include <charconv>

namespace attune::tunlet {

const model::Finding* Observation::FindingFor(std::string_view knob) const {
  const auto found = knobs.find(std::string(knob));
  if (found == knobs.end()) return nullptr;
  const std::vector<std::string>& answers = found->second.answers;
  const auto answered = std::ranges::find_if(findings, [&](const model::Finding& finding) {
    return std::ranges::find(answers, finding.finding_class) != answers.end();
  });
  return answered == findings.end() ? nullptr : &*answered;
}

double Observation::GainOf(const model::Finding& finding) const {
  const auto wall = static_cast<double>(std::max<int64_t>(wall_ns, 1));
  const auto gain = static_cast<double>(std::max<int64_t>(finding.gain_ns, 0));
  constexpr double kMostOfTheTime = 0.95;
  return 1 / (1 - std::min(gain / wall, kMostOfTheTime)) - 1;
}

int64_t NumberOf(std::string_view value, int64_t otherwise) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return error == std::errc() && end == value.data() + value.size() ? number : otherwise;
}

}  // namespace attune::tunlet
