// Cost of timing an instance: P2G's probe of its thesis (section 6.1) with each of its clocks, by the number of
// iterations, and the timers of a dataflow graph.

#include <attune/flow.h>
#include <fmt/format.h>
#include <sys/time.h>
#include <x86intrin.h>

#include <cstdlib>
#include <ctime>
#include <functional>
#include <mutex>
#include <vector>

#include "harness/figure.h"

namespace {

using namespace attune;
using namespace attune::flow::vars;

constexpr int64_t kMostIterations = 10'000'000;
constexpr int kRounds = 21;

int64_t OfTimeOfDay() {
  timeval now{};
  ::gettimeofday(&now, nullptr);
  return now.tv_sec * int64_t{1'000'000} + now.tv_usec;
}
int64_t OfClock() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}
int64_t OfCycles() { return static_cast<int64_t>(__rdtsc()); }
int64_t OfSerializedCycles() {
  _mm_lfence();
  return static_cast<int64_t>(__rdtsc());
}

/// Sums behind a lock, as the thesis has them.
struct Probe {
  std::mutex mutex;
  int64_t total = 0;
  int64_t count = 0;

  template <typename Clock>
  void Time(const Clock& clock) {
    const int64_t begin = clock();
    const int64_t end = clock();
    const std::lock_guard lock(mutex);
    total += end - begin;
    ++count;
  }
};

double CyclesANs() {
  const int64_t cycles = OfCycles();
  const int64_t ns = OfClock();
  while (OfClock() - ns < 50'000'000) {
  }
  return static_cast<double>(OfCycles() - cycles) / static_cast<double>(OfClock() - ns);
}

template <typename Clock>
void ReportProbe(const char* name, const Clock& clock, double ticks_a_ns) {
  for (int64_t iterations = 1; iterations <= kMostIterations; iterations *= 10) {
    Probe probe;
    const int64_t took_ns = bench::TimeNs([&] {
      for (int64_t i = 0; i < iterations; ++i) probe.Time(clock);
    });
    const auto count = static_cast<double>(iterations);
    const std::string title = fmt::format("probe, {}, {} iterations", name, iterations);
    bench::Report({title + ": measured", static_cast<double>(probe.total) / ticks_a_ns / count, "ns", {}});
    bench::Report({title + ": execution", static_cast<double>(took_ns) / count, "ns", {}});
  }
}

/// Process CPU time of an empty instance.
double GraphNs(int64_t instances, bool timing) {
  flow::Graph graph;
  auto in = graph.AddField<int>("in");
  const std::vector<int> values(static_cast<size_t>(instances), 1);
  graph.AddKernel("make", flow::Store(in(a)),
                  [&values](flow::Out<int, 1>& out) { out.put_range(values.data(), std::ssize(values)); });
  graph.AddKernel("empty", flow::Fetch(in(a)[x]), flow::kEffects, [](int) {});
  const int64_t start = bench::CpuNs();
  const flow::Report report = graph.Run({.threads = 1, .until = 9, .scheduler = "off", .timing = timing});
  if (!report.ok()) {
    std::fprintf(stderr, "timers_bench: %s\n", report.Describe().c_str());
    std::exit(1);
  }
  return static_cast<double>(bench::CpuNs() - start) / static_cast<double>(10 * instances);
}

void ReportGraph() {
  for (int64_t instances = 10; instances <= 100'000; instances *= 10) {
    std::vector<double> differences;
    for (int round = 0; round < kRounds; ++round)
      differences.push_back(GraphNs(instances, true) - GraphNs(instances, false));
    const bench::Spread cost = bench::SpreadOf(differences);
    bench::Report({fmt::format("timers of a graph, ages of {}", instances),
                   cost.median,
                   "ns",
                   {},
                   bench::Better::kLower,
                   fmt::format("an empty instance, with timers less without, {} pairs of ten ages", kRounds),
                   cost});
  }
}

}  // namespace

int main() {
  const double cycles = CyclesANs();
  ReportProbe("gettimeofday", OfTimeOfDay, 1e-3);
  ReportProbe("clock_gettime", OfClock, 1);
  ReportProbe("RDTSC", OfSerializedCycles, cycles);
  ReportProbe("RDTSC non-serializing", OfCycles, cycles);
  ReportGraph();
}
