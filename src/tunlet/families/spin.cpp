// Whether threads that wait for work spin or sleep.
//
// A thread that spins takes up work at once, and a CPU until then. Where more threads want to run than there are CPUs,
// it takes that CPU from one with work: sleeping at once costs a wake-up a region, spinning up to the whole block time.

#include "tunlet/tunlet.h"

namespace attune::tunlet {
namespace {

constexpr std::string_view kKnob = "openmp.llvm-blocktime";

class Spin : public Tunlet {
 public:
  std::string_view Name() const override { return "spin"; }
  std::string_view About() const override { return "threads that wait sleep where others need their CPU"; }

  std::vector<Proposal> Propose(const Observation& seen) const override {
    const model::Finding* finding = seen.FindingFor(kKnob);
    if (finding == nullptr || seen.ValuesOf(kKnob).front() == "0") return {};
    return {{.knob = std::string(kKnob),
             .value = "0",
             .reason = "threads of the runtime spin for " + seen.ValuesOf(kKnob).front() +
                       " ms after each region, and others need their CPU",
             .finding = finding->id,
             .expected_gain = seen.GainOf(*finding)}};
  }
};

}  // namespace

std::unique_ptr<Tunlet> MakeSpinTunlet() { return std::make_unique<Spin>(); }

}  // namespace attune::tunlet
