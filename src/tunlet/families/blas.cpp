// How many threads OpenBLAS computes with.
//
// Its helpers spin between two calls. For small matrices a call takes less than handing a part of it over, and where
// each of several processes has as many threads as there are CPUs, they are in each other's way.

#include <fmt/format.h>

#include <algorithm>

#include "tunlet/tunlet.h"

namespace attune::tunlet {
namespace {

constexpr std::string_view kKnob = "openblas.threads";

class Blas : public Tunlet {
 public:
  std::string_view Name() const override { return "blas"; }
  std::string_view About() const override { return "as many threads in OpenBLAS as its matrices are worth"; }

  std::vector<Proposal> Propose(const Observation& seen) const override {
    std::vector<Proposal> proposals;
    const model::Finding* finding = seen.FindingFor(kKnob);
    if (finding == nullptr) return proposals;
    int64_t now = 1;
    for (const std::string& value : seen.ValuesOf(kKnob)) now = std::max(now, NumberOf(value, 1));
    const auto share = static_cast<int64_t>(std::max<size_t>(1, seen.cpus / std::max<size_t>(1, seen.processes)));
    for (const int64_t threads : {share, int64_t{1}}) {
      const bool is_known = std::ranges::any_of(
          proposals, [&](const Proposal& proposal) { return proposal.value == std::to_string(threads); });
      if (threads >= now || is_known) continue;
      proposals.push_back(
          {.knob = std::string(kKnob),
           .value = std::to_string(threads),
           .reason = fmt::format("OpenBLAS computes with {} threads, which spin between its calls", now),
           .finding = finding->id,
           .expected_gain = seen.GainOf(*finding)});
    }
    return proposals;
  }
};

}  // namespace

std::unique_ptr<Tunlet> MakeBlasTunlet() { return std::make_unique<Blas>(); }

}  // namespace attune::tunlet
