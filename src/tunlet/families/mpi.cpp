// Whether ranks that wait in MPI give up their CPU.
//
// A rank that polls takes the CPU of one with work where there are more ranks than CPUs: the message that it waits for
// comes a time slice later. Yielding hands the CPU over at once.

#include <fmt/format.h>

#include <algorithm>

#include "tunlet/tunlet.h"

namespace attune::tunlet {
namespace {

constexpr std::string_view kKnob = "mpi.yield";

class Mpi : public Tunlet {
 public:
  std::string_view Name() const override { return "mpi"; }
  std::string_view About() const override { return "ranks that wait give up their CPU, where there are fewer CPUs"; }

  std::vector<Proposal> Propose(const Observation& seen) const override {
    const model::Finding* finding = seen.FindingFor(kKnob);
    if (finding == nullptr || seen.processes <= seen.cpus) return {};
    const std::vector<std::string>& values = seen.ValuesOf(kKnob);
    if (std::ranges::find(values, "off") == values.end()) return {};
    return {
        {.knob = std::string(kKnob),
         .value = "on",
         .reason = fmt::format("{} processes wait for messages without sleeping on {} CPUs", seen.processes, seen.cpus),
         .finding = finding->id,
         .expected_gain = seen.GainOf(*finding)}};
  }
};

}  // namespace

std::unique_ptr<Tunlet> MakeMpiTunlet() { return std::make_unique<Mpi>(); }

}  // namespace attune::tunlet
