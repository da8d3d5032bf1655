// How many threads an OpenMP team has.
//
// A team that has more threads than CPUs takes turns at them: whoever waits for the team's end waits for a thread that
// has no CPU, and those that spin meanwhile take it from those with work. T(n) = W / min(n, C) + (n > C) * B, where W
// is the work, C the CPUs of a process and B what a barrier costs beyond; so the best n is at most C. Where a region is
// so short that waking its team costs more than it saves, fewer are better: C / 2 and 1 are tried too.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tunlet/tunlet.h"

namespace attune::tunlet {
namespace {

/// The runtime of LLVM first: a program that has it has the other knob, too, which changes nothing there.
constexpr std::array<std::string_view, 2> kKnobs{"openmp.llvm-team", "openmp.team"};

class Team : public Tunlet {
 public:
  std::string_view Name() const override { return "team"; }
  std::string_view About() const override { return "as many threads in a parallel region as there are CPUs, or fewer"; }

  std::vector<Proposal> Propose(const Observation& seen) const override {
    std::vector<Proposal> proposals;
    for (const std::string_view knob : kKnobs) ProposeFor(knob, seen, proposals);
    return proposals;
  }

 private:
  static void ProposeFor(std::string_view knob, const Observation& seen, std::vector<Proposal>& proposals) {
    const model::Finding* finding = seen.FindingFor(knob);
    if (finding == nullptr || seen.widest_team < 2 || seen.cpus == 0) return;
    const auto cpus = static_cast<int64_t>(std::max<size_t>(1, seen.cpus / std::max<size_t>(1, seen.processes)));
    int64_t now = seen.widest_team;
    for (const std::string& value : seen.ValuesOf(knob)) {
      if (const int64_t limit = NumberOf(value, 0); limit > 0) now = std::min(now, limit);
    }
    const double gain = seen.GainOf(*finding);
    const auto propose = [&](int64_t threads, double expected) {
      if (threads >= now || threads < 1) return;
      proposals.push_back(
          {.knob = std::string(knob),
           .value = std::to_string(threads),
           .reason = fmt::format("parallel regions have {} threads and {} CPU{}", now, cpus, cpus == 1 ? "" : "s"),
           .finding = finding->id,
           .expected_gain = expected});
    };
    propose(cpus, gain);
    if (cpus / 2 > 1) propose(cpus / 2, gain / 2);
    if (cpus > 1) propose(1, gain / 4);
  }
};

}  // namespace

std::unique_ptr<Tunlet> MakeTeamTunlet() { return std::make_unique<Team>(); }

}  // namespace attune::tunlet
