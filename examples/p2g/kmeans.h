#pragma once
/// k-means as P2G has it: a distance for each point and centre, then the centres anew.

#include <attune/flow.h>

#include <cstdint>

namespace kmeans {

struct Point {
  float x, y;
  bool operator==(const Point&) const = default;
};

/// The same points in each run, without a library's generator.
inline float Random(uint32_t* state) {
  *state = *state * 1664525 + 1013904223;
  return static_cast<float>(*state >> 8) / static_cast<float>(1 << 24);
}

/// put(point, i) for n points, of which the first ones are the first centres.
template <typename Put>
void MakePoints(int n, const Put& put) {
  uint32_t state = 1;
  for (int i = 0; i < n; ++i) {
    const float x = Random(&state);
    put(Point{x, Random(&state)}, i);
  }
}

inline float Distance(const Point& p, const Point& c) { return (p.x - c.x) * (p.x - c.x) + (p.y - c.y) * (p.y - c.y); }

/// @param distances of a point from each of k centres
inline bool IsNearest(const float* distances, int64_t k, int64_t centre) {
  const float own = distances[centre];
  for (int64_t c = 0; c < k; ++c) {
    if (distances[c] < own || (c < centre && distances[c] == own)) return false;
  }
  return true;
}

/// The mean of the points that are nearest to a centre; where it was before, where there are none.
/// @param distances gives those of a point
template <typename Distances>
Point Refine(const Point& before, const Point* points, int64_t n, const Distances& distances, int64_t k,
             int64_t centre) {
  Point sum{0, 0};
  int count = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (!IsNearest(distances(i), k, centre)) continue;
    sum = {sum.x + points[i].x, sum.y + points[i].y};
    ++count;
  }
  if (count == 0) return before;
  return {sum.x / static_cast<float>(count), sum.y / static_cast<float>(count)};
}

/// Adds the kernels to an empty graph.
/// @return the centres of each age
inline attune::flow::Field<Point> AddKernels(attune::flow::Graph* graph, int n, int k) {
  using namespace attune::flow;
  using namespace attune::flow::vars;
  auto points = graph->AddConstant<Point>("points");
  auto centres = graph->AddField<Point>("centres");
  auto distances = graph->AddField<float, 2>("distances");
  graph->AddKernel("init", Store(points, centres(0)), [n, k](Out<Point, 1>& all_points, Out<Point, 1>& first) {
    MakePoints(n, [&](const Point& point, int i) {
      all_points.put(point, i);
      if (i < k) first.put(point, i);
    });
  });
  graph->AddKernel("assign", Fetch(points[x], centres(a)[y]), Store(distances(a)[x][y]),
                   [](const Point& p, const Point& c) { return Distance(p, c); });
  graph->AddKernel("refine", Fetch(centres(a)[x], points, distances(a)), Store(centres(a + 1)[x]),
                   [](auto& instance, const Point& before, const View<Point, 1>& all_points, const View<float, 2>& d) {
                     return Refine(
                         before, all_points.data(), all_points.Extent(), [&d](int64_t i) { return d[i].data(); },
                         d.Extent(1), instance.Index());
                   });
  return centres;
}

}  // namespace kmeans
