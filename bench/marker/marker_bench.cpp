// What a marker costs the program, and a record the session.

#include <attune/probe.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "harness/figure.h"
#include "track/ring_reader.h"
#include "wire/ring.h"
#include "wire/tsc.h"

namespace {

using namespace attune;
using bench::Better;
using track::RingReader;

constexpr int kPairs = 5000;  // fit into the ring
constexpr int kOffPairs = 200'000;

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

[[noreturn]] void Fail(const std::string& why) {
  std::fprintf(stderr, "marker_bench: %s\n", why.c_str());
  std::exit(1);
}

size_t Drain(RingReader* reader) {
  const auto records = reader->Drain([](auto) {});
  if (!records.ok()) Fail(records.error().message);
  return *records;
}

[[gnu::noinline]] void EmitPairs(int count) {
  for (int i = 0; i < count; ++i) {
    ATTUNE_REGION("pair");
  }
}

[[gnu::noinline]] void ReadCounterTwice(int count) {
  uint64_t sum = 0;
  for (int i = 0; i < count; ++i) {
    sum += ReadTsc();
    sum += ReadTsc();
  }
  __asm__ volatile("" ::"r"(sum));
}

/// Pairs with a level, the ring drained before, outside of the time.
double PairNs(RingReader* reader, int pairs) {
  Drain(reader);
  return static_cast<double>(bench::TimeNs([&] { EmitPairs(pairs); })) / pairs;
}

void MeasurePairs(RingReader* reader) {
  PairNs(reader, kPairs);  // the first lap takes page faults
  PairNs(reader, kPairs);
  PairNs(reader, kPairs);
  std::vector<double> bare;
  std::vector<double> on;
  const auto two_reads = [&] {
    const double ns = static_cast<double>(bench::TimeNs([] { ReadCounterTwice(kPairs); })) / kPairs;
    bare.push_back(ns);
    return ns;
  };
  const auto pair_on = [&] {
    on.push_back(PairNs(reader, kPairs));
    return on.back();
  };
  const bench::Ratio ratio = bench::Compare(two_reads, pair_on);
  bench::Report({"two bare reads of the cycle counter", Median(bare), "ns", 60, Better::kLower,
                 "the floor of a pair with two times; the machine's, not ours"});
  bench::Report({"marker pair, on", Median(on), "ns", 45, Better::kLower, "region begin and end, two times, no drops"});
  bench::Report(
      {"marker pair, on / two bare reads", ratio.median, "ratio", 2.5, Better::kLower, bench::Describe(ratio)});
  if (!reader->SetLevel(ATTUNE_LEVEL_OFF).ok()) Fail("cannot set the level");
  bench::Report({"marker pair, off", bench::MedianNs([] { EmitPairs(kOffPairs); }, kOffPairs), "ns", 3, Better::kLower,
                 "region begin and end, with the loop around them, 21 rounds"});
  if (!reader->SetLevel(ATTUNE_LEVEL_PROFILE).ok()) Fail("cannot set the level");
}

void MeasureReader(RingReader* reader) {
  std::vector<double> idle;
  std::vector<double> record;
  for (int round = 0; round < 21; ++round) {
    Drain(reader);
    idle.push_back(static_cast<double>(bench::TimeNs([&] { Drain(reader); })));
    EmitPairs(kPairs);
    size_t records = 0;
    const auto ns = static_cast<double>(bench::TimeNs([&] { records = Drain(reader); }));
    record.push_back(ns / static_cast<double>(records));
  }
  bench::Report({"drain of a ring without news", Median(idle) / 1000, "us", 20, Better::kLower, "21 rounds"});
  bench::Report({"record read and decoded", Median(record), "ns", 40, Better::kLower, "21 rounds"});
}

/// Written and read by turns, on one CPU: what the machine's load does to two threads is not in it.
void MeasureThroughput(RingReader* reader) {
  constexpr int kTurns = 100;
  const double ns = bench::MedianNs(
      [&] {
        for (int turn = 0; turn < kTurns; ++turn) {
          EmitPairs(kPairs);
          Drain(reader);
        }
      },
      double{kTurns} * kPairs * 2);
  bench::Report({"events through one ring", 1e9 / ns, "events/s", 1e7, Better::kHigher,
                 "written and read by turns on one CPU, 21 rounds"});
}

/// One thread emits as fast as it can while another one drains, or does not get to it: nothing is lost uncounted.
void MeasureAccounting(RingReader* reader) {
  constexpr uint64_t kEvents = 4'000'000;
  std::vector<double> accounted;
  std::vector<double> dropped;
  for (int round = 0; round < 21; ++round) {
    Drain(reader);
    const track::RingCounters before = reader->Counters();
    std::atomic<bool> done = false;
    std::thread writer([&] {
      EmitPairs(kEvents / 2);
      done = true;
    });
    while (!done) Drain(reader);
    writer.join();
    if (!reader->Finish([](auto) {}).ok()) Fail("the ring is damaged");
    const track::RingCounters now = reader->Counters();
    dropped.push_back(static_cast<double>(now.dropped - before.dropped) / kEvents);
    accounted.push_back(dropped.back() + static_cast<double>(now.delivered - before.delivered) / kEvents);
  }
  // More would be as wrong as less.
  const auto [low, high] = std::minmax_element(accounted.begin(), accounted.end());
  bench::Report({"events read or counted as dropped, worst of 21 rounds", 1 - std::max(1 - *low, *high - 1), "ratio", 1,
                 Better::kHigher,
                 "writer at full speed; dropped " + std::to_string(std::lround(100 * Median(dropped))) +
                     " % in the median round, which depends on the machine's load"});
}

/// Time of a process that does nothing but start, with or without a session.
double StartNs(const char* program, char* const* environment) {
  return static_cast<double>(bench::TimeNs([&] {
    std::string arguments[2] = {program, "--nothing"};
    char* argv[] = {arguments[0].data(), arguments[1].data(), nullptr};
    pid_t child = 0;
    int status = 0;
    if (::posix_spawn(&child, program, nullptr, nullptr, argv, environment) != 0) Fail("cannot start itself");
    ::waitpid(child, &status, 0);
  }));
}

void MeasureAttach(const char* program, const std::string& folder) {
  std::string with = ATTUNE_RING_FOLDER_VARIABLE "=" + folder;
  std::string without = "NO_RINGS=" + folder;
  char* with_rings[] = {with.data(), nullptr};
  char* without_rings[] = {without.data(), nullptr};
  std::vector<double> extra;
  for (int round = 0; round < 41; ++round) {
    const double base = StartNs(program, without_rings);
    extra.push_back(StartNs(program, with_rings) - base);
  }
  bench::Report({"start of a program, added by attaching", Median(extra) / 1000, "us", 1000, Better::kLower,
                 "fork, exec and exit with a session minus without, 41 rounds"});
}

int Measure(const char* program) {
  const char* path = std::getenv(ATTUNE_RING_FOLDER_VARIABLE);
  const UniqueFd folder(::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const auto names = track::ListRings(folder.get());
  if (!names.ok() || names->size() != 1) Fail("the probe did not attach to " + std::string(path));
  auto reader = RingReader::Open(folder.get(), names->front());
  if (!reader.ok()) Fail(reader.error().message);
  MeasurePairs(&*reader);
  MeasureReader(&*reader);
  MeasureThroughput(&*reader);
  MeasureAccounting(&*reader);
  MeasureAttach(program, path);
  return 0;
}

}  // namespace

/// Starts itself again with a ring folder: the probe attaches before main.
int main(int argc, char** argv) {
  if (argc > 1) return std::string(argv[1]) == "--nothing" ? 0 : Measure("/proc/self/exe");
  char folder[] = "/dev/shm/attune-bench-XXXXXX";
  if (::mkdtemp(folder) == nullptr) Fail("cannot make a folder in /dev/shm");
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv(ATTUNE_RING_FOLDER_VARIABLE, folder, 1);
    ::execl("/proc/self/exe", argv[0], "--measure", nullptr);
    ::_exit(1);
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  std::filesystem::remove_all(folder);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
