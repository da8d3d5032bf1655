// k-means of 20000 points and 100 centres on two threads: the cost of the timers of kernels for a whole run, and a
// dataflow graph beside loops of OpenMP that store the same distances.

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "examples/p2g/kmeans.h"
#include "harness/figure.h"

namespace {

using namespace attune;
using kmeans::Point;

constexpr int kPoints = 20'000;
constexpr int kCentres = 100;
constexpr int kThreads = 2;
constexpr int kIterations = 25;  // 0.5 s
constexpr int kTimerRounds = 201;
constexpr int kLoopRounds = 21;

/// @return the last centres
std::vector<Point> Flow(const char* scheduler, bool timing) {
  flow::Graph graph;
  const auto centres = kmeans::AddKernels(&graph, kPoints, kCentres);
  graph.Keep(centres);
  flow::RunningGraph run =
      graph.Start({.threads = kThreads, .until = kIterations, .scheduler = scheduler, .timing = timing});
  if (const flow::Report& report = run.Wait(); !report.ok()) {
    std::fprintf(stderr, "kmeans_bench: %s\n", report.Describe().c_str());
    std::exit(1);
  }
  const auto last = run.Kept(centres, kIterations);
  std::vector<Point> values;
  for (int64_t i = 0; i < last.Extent(); ++i) values.push_back(last[i]);
  return values;
}

std::vector<Point> Loops() {
  std::vector<Point> points(kPoints), centres(kCentres), next(kCentres);
  kmeans::MakePoints(kPoints, [&](const Point& point, int i) {
    points[static_cast<size_t>(i)] = point;
    if (i < kCentres) centres[static_cast<size_t>(i)] = point;
  });
  std::vector<float> distances(size_t{kPoints} * kCentres);
  const auto distances_of = [&](int64_t point) { return distances.data() + point * kCentres; };
  for (int iteration = 0; iteration < kIterations; ++iteration) {
#pragma omp parallel for num_threads(kThreads) schedule(guided)
    for (int64_t i = 0; i < kPoints; ++i) {
      for (int64_t c = 0; c < kCentres; ++c)
        distances_of(i)[c] = kmeans::Distance(points[static_cast<size_t>(i)], centres[static_cast<size_t>(c)]);
    }
#pragma omp parallel for num_threads(kThreads) schedule(guided)
    for (int64_t c = 0; c < kCentres; ++c) {
      next[static_cast<size_t>(c)] =
          kmeans::Refine(centres[static_cast<size_t>(c)], points.data(), kPoints, distances_of, kCentres, c);
    }
    centres.swap(next);
  }
  return centres;
}

double SecondsOf(const std::function<void()>& work) { return static_cast<double>(bench::TimeNs(work)) / 1e9; }

void ReportTimers(const char* scheduler) {
  const bench::Ratio ratio = bench::Compare([&] { return SecondsOf([&] { Flow(scheduler, false); }); },
                                            [&] { return SecondsOf([&] { Flow(scheduler, true); }); }, kTimerRounds);
  bench::Report({fmt::format("k-means, {}, 95 % bound of timing on / off", scheduler), ratio.bound95, "ratio", 1.01,
                 bench::Better::kLower, fmt::format("median {:.3f}, {}", ratio.median, Describe(ratio, kTimerRounds))});
}

}  // namespace

int main() {
  const std::vector<Point> expected = Loops();
  if (Flow("guided", true) != expected) {
    std::fputs("kmeans_bench: the graph and the loops do not have the same centres\n", stderr);
    return 1;
  }
  bench::Report({"k-means, loops of OpenMP", bench::MedianNs([] { Loops(); }, 1e6, kLoopRounds), "ms", {}});
  const bench::Ratio ratio = bench::Compare([] { return SecondsOf([] { Loops(); }); },
                                            [] { return SecondsOf([] { Flow("guided", true); }); }, kLoopRounds);
  bench::Report({"k-means, guided / loops of OpenMP", ratio.median, "ratio", 1.3, bench::Better::kLower,
                 Describe(ratio, kLoopRounds)});
  for (const char* scheduler : {"off", "fixed:1024"}) ReportTimers(scheduler);
}
