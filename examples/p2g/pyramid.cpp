// Corners in three sizes of each picture of a video, and how they move: kernels whose cost depends on what they see.
//
//   p2g_pyramid IN.y4m [THREADS [SCHEDULER]]

#include <attune/flow.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <vector>

#include "features.h"
#include "video.h"

namespace {

using namespace attune::flow;
using namespace attune::flow::vars;
using features::Motion, features::Picture, features::Tile;

constexpr int kLevels = 3;

int Track(int argc, char** argv) {
  video::Reader reader(argv[1]);
  const int width = reader.plane(0).stride, height = reader.plane(0).rows;
  Graph graph;
  std::vector<Field<uint8_t, 1>> levels;
  std::vector<Field<Tile, 1>> corners;
  for (int level = 0; level < kLevels; ++level) {
    levels.push_back(graph.AddField<uint8_t>("level" + std::to_string(level)));
    corners.push_back(graph.AddField<Tile>("corners" + std::to_string(level)));
  }
  auto motions = graph.AddField<Motion>("motions");
  graph.AddKernel("read", Store(levels[0](a)), kOrdered,
                  [&reader, frame = std::vector<uint8_t>()](auto& instance, Out<uint8_t, 1>& out) mutable {
                    if (!reader.Next(&frame)) return instance.Finish();
                    out.put_range(frame.data(), static_cast<int64_t>(reader.plane(0).bytes));
                  });
  for (int level = 0; level < kLevels; ++level) {
    const int across = width >> level, down = height >> level;
    const auto tiles = features::TilesAcross(across) * features::TilesAcross(down);
    if (level + 1 < kLevels)
      graph.AddKernel("halve" + std::to_string(level), Fetch(levels[level](a)), Store(levels[level + 1](a)),
                      [across, down](const View<uint8_t, 1>& pixels, Out<uint8_t, 1>& out) {
                        features::Halve({pixels.data(), across, down},
                                        [&out](const std::vector<uint8_t>& row, int64_t first) {
                                          out.put_range(row.data(), static_cast<int64_t>(row.size()), first);
                                        });
                      });
    graph.AddKernel("detect" + std::to_string(level), Range(x, tiles), Fetch(levels[level](a)),
                    Store(corners[level](a)[x]), [across, down](auto& instance, const View<uint8_t, 1>& pixels) {
                      return features::Detect({pixels.data(), across, down}, instance.Index());
                    });
  }
  const int across = features::TilesAcross(width);
  graph.AddKernel("first", Fetch(corners[0](0)[x]), Store(motions(0)[x]), [](const Tile&) { return Motion{}; });
  graph.AddKernel("match", Fetch(corners[0](a)[x], corners[0](a - 1)), Store(motions(a)[x]),
                  [across](auto& instance, const Tile& tile, const View<Tile, 1>& before) {
                    return features::Match(tile, instance.Index(), across, before.Extent(),
                                           [&before](int64_t number) -> const Tile& { return before[number]; });
                  });
  graph.AddKernel("print", Fetch(corners[0](a), corners[1](a), corners[2](a), motions(a)), kOrdered,
                  [](auto& instance, const View<Tile, 1>& large, const View<Tile, 1>& middle,
                     const View<Tile, 1>& small, const View<Motion, 1>& all) {
                    int counts[3] = {};
                    for (const Tile& tile : large) counts[0] += tile.count;
                    for (const Tile& tile : middle) counts[1] += tile.count;
                    for (const Tile& tile : small) counts[2] += tile.count;
                    Motion sum;
                    for (const Motion& one : all) sum = {sum.found + one.found, sum.dx + one.dx, sum.dy + one.dy};
                    const double found = std::max(sum.found, 1);
                    std::printf("picture %lld: %d + %d + %d corners, %d found again, moved by (%.2f, %.2f)\n",
                                static_cast<long long>(instance.Age()), counts[0], counts[1], counts[2], sum.found,
                                sum.dx / found, sum.dy / found);
                  });
  const Report report =
      graph.Run({.threads = argc > 2 ? std::atoi(argv[2]) : 0, .scheduler = argc > 3 ? argv[3] : "guided"});
  std::fprintf(stderr, "%s in %.3f s\n%s\n%s", report.Describe().c_str(), static_cast<double>(report.wall_ns) / 1e9,
               report.ThesisTable().c_str(), report.Table().c_str());
  return report.ExitCode();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fputs("usage: p2g_pyramid IN.y4m [THREADS [SCHEDULER]]\n", stderr), 2;
  try {
    return Track(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "p2g_pyramid: %s\n", error.what());
    return 1;
  }
}
