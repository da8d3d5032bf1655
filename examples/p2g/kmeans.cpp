// k-means as P2G has it: a distance for each point and centre, then the centres anew.
//
//   p2g_kmeans [POINTS [CENTRES [ITERATIONS [THREADS [SCHEDULER]]]]]

#include <attune/flow.h>

#include <cstdio>
#include <cstdlib>

namespace {

using namespace attune::flow;
using namespace attune::flow::vars;

struct Point {
  float x, y;
};

/// The same points in each run, without a library's generator.
float Random(uint32_t* state) {
  *state = *state * 1664525 + 1013904223;
  return static_cast<float>(*state >> 8) / static_cast<float>(1 << 24);
}

bool IsNearest(const View<float, 2>& distances, int64_t point, int64_t centre) {
  const float own = distances(point, centre);
  for (int64_t c = 0; c < distances.Extent(1); ++c) {
    if (distances(point, c) < own || (c < centre && distances(point, c) == own)) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const auto argument = [&](int i, int otherwise) { return argc > i ? std::atoi(argv[i]) : otherwise; };
  const int n = argument(1, 2000);
  const int k = argument(2, 100);
  if (n < k || k < 1) return std::fputs("kmeans: at least one centre, and no more than points\n", stderr), 2;

  Graph graph;
  auto points = graph.AddConstant<Point>("points");
  auto centres = graph.AddField<Point>("centres");
  auto distances = graph.AddField<float, 2>("distances");
  graph.AddKernel("init", Store(points, centres(0)), [n, k](Out<Point, 1>& all_points, Out<Point, 1>& first) {
    uint32_t state = 1;
    for (int i = 0; i < n; ++i) {
      const float px = Random(&state);
      const Point point{px, Random(&state)};
      all_points.put(point, i);
      if (i < k) first.put(point, i);
    }
  });
  graph.AddKernel("assign", Fetch(points[x], centres(a)[y]), Store(distances(a)[x][y]),
                  [](const Point& p, const Point& c) { return (p.x - c.x) * (p.x - c.x) + (p.y - c.y) * (p.y - c.y); });
  graph.AddKernel("refine", Fetch(centres(a)[x], points, distances(a)), Store(centres(a + 1)[x]),
                  [](auto& instance, const Point& before, const View<Point, 1>& all_points, const View<float, 2>& d) {
                    Point sum{0, 0};
                    int count = 0;
                    for (int64_t i = 0; i < all_points.Extent(); ++i) {
                      if (!IsNearest(d, i, instance.Index())) continue;
                      sum = {sum.x + all_points[i].x, sum.y + all_points[i].y};
                      ++count;
                    }
                    if (count == 0) return before;
                    return Point{sum.x / static_cast<float>(count), sum.y / static_cast<float>(count)};
                  });
  graph.AddKernel("print", Fetch(centres(a)), kOrdered, [](auto& instance, View<Point, 1> c) {
    std::printf("age %lld: centre 0 at (%.4f, %.4f)\n", static_cast<long long>(instance.Age()),
                static_cast<double>(c[0].x), static_cast<double>(c[0].y));
  });
  const Report report =
      graph.Run({.threads = argument(4, 0), .until = argument(3, 10), .scheduler = argc > 5 ? argv[5] : "guided"});
  std::fprintf(stderr, "%s in %.3f s\n%s\n%s", report.Describe().c_str(), static_cast<double>(report.wall_ns) / 1e9,
               report.ThesisTable().c_str(), report.Table().c_str());
  return report.ExitCode();
}
