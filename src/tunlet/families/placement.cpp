// Threads that may use fewer CPUs than their program.

#include <fmt/format.h>

#include <algorithm>

#include "tunlet/tunlet.h"

namespace attune::tunlet {
namespace {

constexpr std::string_view kKnob = "cpu.affinity";

class Placement : public Tunlet {
 public:
  std::string_view Name() const override { return "placement"; }
  std::string_view About() const override { return "threads that queue for few CPUs may use all of them"; }

  std::vector<Proposal> Propose(const Observation& seen) const override {
    const model::Finding* finding = seen.FindingFor(kKnob);
    if (finding == nullptr) return {};
    const std::vector<std::string>& values = seen.ValuesOf(kKnob);
    const auto narrow = std::ranges::find_if(values, [&](const std::string& value) { return value != seen.cpu_list; });
    if (narrow == values.end()) return {};
    return {{.knob = std::string(kKnob),
             .value = seen.cpu_list,
             .reason = fmt::format("threads queue for CPU {} while others of {} are free", *narrow, seen.cpu_list),
             .finding = finding->id,
             .expected_gain = seen.GainOf(*finding)}};
  }
};

}  // namespace

std::unique_ptr<Tunlet> MakePlacementTunlet() { return std::make_unique<Placement>(); }

}  // namespace attune::tunlet
