// Knobs that the program has declared itself, of which no model is known: climbing by factors of two, then by smaller
// steps.
//
// From its value now a knob is tried at twice and at half of it; what helps is kept, and from there it goes on. Where
// neither does, a step to three quarters and to three halves is tried, and then the knob stays.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tunlet/tunlet.h"

namespace attune::tunlet {
namespace {

/// Nobody knows: as much as is worth keeping.
constexpr double kExpected = 0.05;

class Search : public Tunlet {
 public:
  std::string_view Name() const override { return "search"; }
  std::string_view About() const override { return "knobs that the program declares itself, step by step"; }

  std::vector<Proposal> Propose(const Observation& seen) const override {
    std::vector<Proposal> proposals;
    double expected = kExpected;
    for (const double factor : {2.0, 0.5, 1.5, 0.75}) {
      for (const DeclaredKnob& knob : seen.declared) {
        const auto now = static_cast<double>(knob.value);
        const double wanted = knob.value == 0 ? factor - 1 : now * factor;
        const double inside =
            std::clamp(std::round(wanted), static_cast<double>(knob.low), static_cast<double>(knob.high));
        if (inside == now) continue;
        proposals.push_back(
            {.knob = knob.name,
             .value = std::to_string(std::llround(inside)),
             .reason = fmt::format("the program lets it be anything from {} to {}", knob.low, knob.high),
             .finding = "",
             .expected_gain = expected});
      }
      expected *= 0.9;  // in this order
    }
    return proposals;
  }
};

}  // namespace

std::unique_ptr<Tunlet> MakeSearchTunlet() { return std::make_unique<Search>(); }

}  // namespace attune::tunlet
