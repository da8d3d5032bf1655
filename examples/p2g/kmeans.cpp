// k-means on any number of threads.
//
//   p2g_kmeans [POINTS [CENTRES [ITERATIONS [THREADS [SCHEDULER [timed|untimed]]]]]]

#include "kmeans.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

int main(int argc, char** argv) {
  using namespace attune::flow;
  using namespace attune::flow::vars;
  const auto argument = [&](int i, int otherwise) { return argc > i ? std::atoi(argv[i]) : otherwise; };
  const int n = argument(1, 2000);
  const int k = argument(2, 100);
  if (n < k || k < 1) return std::fputs("kmeans: at least one centre, and no more than points\n", stderr), 2;

  Graph graph;
  const auto centres = kmeans::AddKernels(&graph, n, k);
  graph.AddKernel("print", Fetch(centres(a)), kOrdered, [](auto& instance, View<kmeans::Point, 1> c) {
    std::printf("age %lld: centre 0 at (%.4f, %.4f)\n", static_cast<long long>(instance.Age()),
                static_cast<double>(c[0].x), static_cast<double>(c[0].y));
  });
  const Report report = graph.Run({.threads = argument(4, 0),
                                   .until = argument(3, 10),
                                   .scheduler = argc > 5 ? argv[5] : "guided",
                                   .timing = argc <= 6 || std::strcmp(argv[6], "untimed") != 0});
  std::fprintf(stderr, "%s in %.3f s\n%s\n%s", report.Describe().c_str(), static_cast<double>(report.wall_ns) / 1e9,
               report.ThesisTable().c_str(), report.Table().c_str());
  return report.ExitCode();
}
