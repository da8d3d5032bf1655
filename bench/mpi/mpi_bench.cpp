// What it costs to record every message: a ping-pong of two ranks, bare against recorded. Two pairs of ranks live side
// by side, and are measured in turn; nobody polls while it is the other pair's turn. The rings are drained between
// rounds, and nothing may have been lost.

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/figure.h"
#include "recorded.h"
#include "sync/child.h"

namespace {

using attune::bench::Child;
using attune::bench::Fail;
using attune::bench::Folder;
using attune::bench::Recorded;

constexpr int kRounds = 101;

struct Case {
  int bytes;
  long times;  ///< there and back, in a round
  double limit;
};
constexpr Case kCases[] = {{8, 2'000, 1.10}, {262'144, 200, 1.03}};

std::string TargetOf(const std::string& library) { return std::string(ATTUNE_MPI_TARGETS) + "/mpi_target_" + library; }

/// Two ranks under mpirun.
class Pair {
 public:
  Pair(const std::string& library, const std::string& folder, const std::string& name,
       const std::vector<std::string>& environment)
      : child_(Command(library, folder + "/" + name), environment) {}

  double Run(const Case& of, bool is_timed = false) const {
    child_.Tell(fmt::format("{} {} {}", of.bytes, of.times, is_timed ? 1 : 0));
    return std::stod(child_.Answer()) / static_cast<double>(2 * of.times);
  }

 private:
  static std::vector<std::string> Command(const std::string& library, const std::string& pipe) {
    if (::mkfifo(pipe.c_str(), 0600) != 0) Fail("no pipe");
    std::vector<std::string> command = {"mpirun." + library};
    if (library == "openmpi") command.insert(command.end(), {"--allow-run-as-root", "--bind-to", "core"});
    if (library == "mpich") command.insert(command.end(), {"-bind-to", "core"});
    command.insert(command.end(), {"-n", "2", TargetOf(library), pipe});
    return command;
  }

  Child child_;
};

void Measure(const std::string& library) {
  if (::access(TargetOf(library).c_str(), X_OK) != 0) {
    attune::bench::ReportUnavailable(fmt::format("MPI ping-pong, {}", library), "the library is not there");
    return;
  }
  const Folder pipes("/tmp");
  const Folder rings("/dev/shm");
  attune::bench::MakeRings(rings.Path());
  Recorded recorded(rings.Path());
  const Pair bare(library, pipes.Path(), "bare", {});
  const Pair observed(library, pipes.Path(), "observed", attune::bench::RecordedInto(rings.Path()));
  for (const Case& of : kCases) {
    const auto run_observed = [&] {
      const double ns = observed.Run(of);
      recorded.ExpectMessages(static_cast<uint64_t>(4 * of.times));
      return ns;
    };
    bare.Run(of);
    run_observed();
    const auto ratio = attune::bench::Compare([&] { return bare.Run(of); }, run_observed, kRounds);
    attune::bench::Report(
        {.name = fmt::format("MPI ping-pong of {} bytes, {}, recorded / bare", of.bytes, library),
         .value = ratio.median,
         .unit = "ratio",
         .limit = of.limit,
         .note = attune::bench::Describe(ratio, kRounds) + fmt::format("; bare {:.0f} ns one way", bare.Run(of))});
    if (of.bytes > 8) continue;
    const auto clocks =
        attune::bench::Compare([&] { return bare.Run(of); }, [&] { return bare.Run(of, true); }, kRounds);
    attune::bench::Report(
        {.name = fmt::format("MPI ping-pong of {} bytes, {}, with three bare readings of the clock / bare", of.bytes,
                             library),
         .value = clocks.median,
         .unit = "ratio",
         .limit = {},
         .note = attune::bench::Describe(clocks, kRounds) + "; what times alone would cost"});
  }
}

}  // namespace

int main() {
  for (const char* library : {"openmpi", "mpich"}) Measure(library);
  return 0;
}
