// Memory that malloc gives back and asks for again: each page of it costs a fault and a clearing anew.

#include "tunlet/tunlet.h"

namespace attune::tunlet {
namespace {

constexpr std::string_view kKnob = "malloc.keep";
constexpr std::string_view kBytes = "268435456";

class Malloc : public Tunlet {
 public:
  std::string_view Name() const override { return "malloc"; }
  std::string_view About() const override {
    return "freed memory stays with a program that asks for it again and again";
  }

  std::vector<Proposal> Propose(const Observation& seen) const override {
    const model::Finding* finding = seen.FindingFor(kKnob);
    if (finding == nullptr || seen.ValuesOf(kKnob).front() == kBytes) return {};
    return {{.knob = std::string(kKnob),
             .value = std::string(kBytes),
             .reason = "pages of memory that was freed are asked for again",
             .finding = finding->id,
             .expected_gain = seen.GainOf(*finding)}};
  }
};

}  // namespace

std::unique_ptr<Tunlet> MakeMallocTunlet() { return std::make_unique<Malloc>(); }

}  // namespace attune::tunlet
