// What it costs to record what two processes send each other by pipes, sockets, message queues and a channel of their
// own in shared memory: a ping-pong, bare against recorded. Each run is a process of its own: where its memory lies
// decides how long a message takes.

#include <fmt/format.h>

#include "harness/figure.h"
#include "recorded.h"
#include "sync/child.h"

namespace {

using attune::bench::Child;
using attune::bench::Folder;
using attune::bench::Recorded;

constexpr int kRounds = 101;
constexpr int kRuns = 4;  ///< of small messages the rings are full once by then

struct Case {
  const char* way;
  const char* what;
  long bytes;
  long times;  ///< there and back, in a round
  double limit;
};
constexpr Case kCases[] = {
    {"box", "channel of its own in shared memory", 8, 2'000, 1.10},
    {"box", "channel of its own in shared memory", 262'144, 200, 1.03},
    {"pipe", "pipe", 8, 1'000, 1.10},
    {"pipe", "pipe", 262'144, 100, 1.03},
    {"unix", "UNIX socket", 8, 1'000, 1.10},
    {"unix", "UNIX socket", 262'144, 100, 1.03},
    {"tcp", "TCP socket", 8, 1'000, 1.10},
    {"tcp", "TCP socket", 262'144, 100, 1.03},
    {"mqueue", "POSIX message queue", 8, 1'000, 1.10},
    {"system-v", "System V message queue", 8, 1'000, 1.10},
};

double Run(const Child& target, const std::string& way, const Case& of) {
  target.Tell(fmt::format("{} {} {}", way, of.bytes, of.times));
  return std::stod(target.Answer()) / static_cast<double>(2 * (of.times - 1));
}

/// In a process of its own, the last of kRuns.
double RunBare(const std::string& way, const Case& of) {
  const Child bare({ATTUNE_CHANNEL_TARGET}, {});
  double ns = 0;
  for (int i = 0; i < kRuns; ++i) ns = Run(bare, way, of);
  return ns;
}

double RunRecorded(const Case& of) {
  const Folder rings("/dev/shm");
  attune::bench::MakeRings(rings.Path());
  Recorded recorded(rings.Path());
  const Child observed({ATTUNE_CHANNEL_TARGET}, attune::bench::RecordedInto(rings.Path()));
  double ns = 0;
  for (int i = 0; i < kRuns; ++i) {
    ns = Run(observed, of.way, of);
    recorded.ExpectBytes(static_cast<uint64_t>(2 * of.times * of.bytes));
  }
  return ns;
}

void ReportClocks(const Case& of) {
  const auto ratio =
      attune::bench::Compare([&] { return RunBare(of.way, of); }, [&] { return RunBare("clocks", of); }, kRounds);
  attune::bench::Report(
      {.name = fmt::format("{}, ping-pong of {} bytes, with four bare readings of the clock / bare", of.what, of.bytes),
       .value = ratio.median,
       .unit = "ratio",
       .limit = {},
       .note = attune::bench::Describe(ratio, kRounds) + "; what times alone would cost"});
}

}  // namespace

int main() {
  for (const Case& of : kCases) {
    const auto ratio =
        attune::bench::Compare([&] { return RunBare(of.way, of); }, [&] { return RunRecorded(of); }, kRounds);
    attune::bench::Report({.name = fmt::format("{}, ping-pong of {} bytes, recorded / bare", of.what, of.bytes),
                           .value = ratio.median,
                           .unit = "ratio",
                           .limit = of.limit,
                           .note = attune::bench::Describe(ratio, kRounds) +
                                   fmt::format("; bare {:.0f} ns one way", RunBare(of.way, of))});
    if (&of == kCases) ReportClocks(of);
  }
  return 0;
}
