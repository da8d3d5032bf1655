// How the iterations of OpenMP loops are shared out.
//
// With a static schedule each thread gets its part before the loop begins: where iterations differ in cost, all wait
// for the one with the costly part. With a dynamic schedule whoever is done takes the next piece: they wait at most for
// one piece, and each piece costs an atomic operation. Pieces that shrink with what is left (guided, a form of
// factoring) need fewer of them: the first piece of n threads is 1 / n of the loop, which is too much where its costs
// differ by more than that.

#include "tunlet/tunlet.h"

namespace attune::tunlet {
namespace {

constexpr std::string_view kSchedule = "openmp.schedule";
constexpr std::string_view kChunk = "openmp.chunk";
/// What guided gains less where costs differ much.
constexpr double kOfGuided = 0.9;

class Loops : public Tunlet {
 public:
  std::string_view Name() const override { return "loops"; }
  std::string_view About() const override { return "iterations of OpenMP loops go to whoever is free"; }

  std::vector<Proposal> Propose(const Observation& seen) const override {
    std::vector<Proposal> proposals;
    const model::Finding* finding = seen.FindingFor(kSchedule);
    if (finding != nullptr && seen.has_runtime_loops && seen.ValuesOf(kSchedule).front() == "program") {
      for (const auto& [value, part] : {std::pair{"dynamic", 1.0}, std::pair{"guided", kOfGuided}})
        proposals.push_back({.knob = std::string(kSchedule),
                             .value = value,
                             .reason = "threads wait for the one that has the costly iterations of a loop",
                             .finding = finding->id,
                             .expected_gain = part * seen.GainOf(*finding)});
    }
    finding = seen.FindingFor(kChunk);
    if (finding != nullptr && seen.has_dynamic_loops && seen.ValuesOf(kChunk).front() == "0")
      proposals.push_back({.knob = std::string(kChunk),
                           .value = "1",
                           .reason = "threads wait for the one that took the last piece of a loop",
                           .finding = finding->id,
                           .expected_gain = seen.GainOf(*finding)});
    return proposals;
  }
};

}  // namespace

std::unique_ptr<Tunlet> MakeLoopsTunlet() { return std::make_unique<Loops>(); }

}  // namespace attune::tunlet
