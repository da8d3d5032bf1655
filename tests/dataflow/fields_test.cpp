// Fields, slices and what bodies get of them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <optional>

#include "golden.h"

namespace attune::flow::test {
namespace {

using namespace vars;
using testing::ElementsAre;

struct Pixel {
  float x, y;
};

TEST(Fields, ProductOfTwoFetches) {
  // As in k-means: every point with every centre.
  Graph graph;
  auto points = graph.AddConstant<Pixel>("points");
  auto centres = graph.AddField<Pixel>("centres");
  auto distances = graph.AddField<float, 2>("distances");
  graph.AddKernel("points", Store(points), [](Out<Pixel, 1>& out) {
    for (int i = 0; i < 30; ++i) out.put({float(i), 0}, i);
  });
  graph.AddKernel("centres", Store(centres(0)), [](Out<Pixel, 1>& out) {
    for (int i = 0; i < 7; ++i) out.put({float(10 * i), 0}, i);
  });
  graph.AddKernel("distance", Fetch(points[x], centres(a)[y]), Store(distances(a)[x][y]),
                  [](const Pixel& p, const Pixel& c) { return p.x - c.x; });
  graph.Keep(distances);
  for (const char* policy : {"off", "fixed:13", "guided"}) {
    RunningGraph run = graph.Start({.threads = 2, .until = 0, .scheduler = policy});
    ASSERT_TRUE(run.Wait().ok()) << run.Wait().Describe();
    EXPECT_EQ(run.Wait().Find("distance")->instances, 210);
    const View<float, 2> d = run.Kept(distances);
    ASSERT_EQ(d.Extent(0), 30);
    ASSERT_EQ(d.Extent(1), 7);
    for (int i = 0; i < 30; ++i) {
      for (int c = 0; c < 7; ++c) ASSERT_EQ(d(i, c), float(i - 10 * c));
    }
  }
}

TEST(Fields, RowsColumnsAndPlanes) {
  Graph graph;
  auto cube = graph.AddConstant<int, 3>("cube");
  auto sums = graph.AddConstant<int, 2>("sums");
  auto rows = graph.AddConstant<int>("rows");
  auto columns = graph.AddConstant<int>("columns");
  graph.AddKernel("cube", Range(x, 4), Store(cube[x]), [](auto& instance, Out<int, 2>& plane) {
    for (int j = 0; j < 5; ++j) {
      for (int k = 0; k < 6; ++k) plane.put(100 * int(instance.Index()) + 10 * j + k, j, k);
    }
  });
  graph.AddKernel("sum", Fetch(cube[x][y][all]), Store(sums[x][y]),
                  [](View<int, 1> row) { return std::accumulate(row.begin(), row.end(), 0); });
  graph.AddKernel("row", Fetch(sums[x]), Store(rows[x]),
                  [](View<int, 1> row) { return std::accumulate(row.begin(), row.end(), 0); });
  graph.AddKernel("column", Fetch(sums[all][x]), Store(columns[x]), [](View<int, 1> column) {
    int sum = 0;
    for (int i = 0; i < column.Extent(); ++i) sum += column[i];
    return sum;
  });
  graph.Keep(rows);
  graph.Keep(columns);
  graph.Keep(sums);
  RunningGraph run = graph.Start({.threads = 2});
  ASSERT_TRUE(run.Wait().ok()) << run.Wait().Describe();
  EXPECT_EQ(run.Kept(sums)[3][4], 6 * 340 + 15);
  const View<int, 1> of_rows = run.Kept(rows);
  EXPECT_THAT(std::vector<int>(of_rows.begin(), of_rows.end()), ElementsAre(675, 3675, 6675, 9675));
  EXPECT_EQ(run.Kept(columns).Extent(), 5);
  EXPECT_EQ(run.Kept(columns)[1], 6 * (0 + 100 + 200 + 300) + 4 * (60 + 15));
}

TEST(Fields, FixedIndexAndAge) {
  Graph graph;
  auto table = graph.AddConstant<int, 2>("table");
  auto steps = graph.AddField<int>("steps");
  auto out = graph.AddField<int>("out");
  graph.AddKernel("table", Store(table[1]), [](Out<int, 1>& row) {
    for (int i = 0; i < 3; ++i) row.put(10 * i, i);
  });
  graph.AddKernel("steps", Store(steps(a)), [](auto& instance, Out<int, 1>& values) {
    for (int i = 0; i < 3; ++i) values.put(int(instance.Age()) + i, i);
  });
  graph.AddKernel("add", Fetch(table[1][x], steps(a)[x], steps(0)[2]), Store(out(a)[x]),
                  [](int t, int s, int fixed) { return t + s + 1000 * fixed; });
  graph.Keep(out);
  graph.Sparse(table);
  RunningGraph run = graph.Start({.threads = 2, .until = 40});
  ASSERT_TRUE(run.Wait().ok()) << run.Wait().Describe();
  for (int age = 0; age <= 40; ++age) EXPECT_EQ(run.Kept(out, age)[2], 20 + age + 2 + 2000);
}

TEST(Fields, NeighboursOutsideAreNoInstances) {
  Graph graph;
  auto line = graph.AddField<int>("line");
  graph.AddKernel("first", Store(line(0)), [](Out<int, 1>& out) {
    for (int i = 0; i < 10; ++i) out.put(i == 5 ? 64 : 0, i);
  });
  graph.AddKernel("edges", Fetch(line(a)), Store(line(a + 1)), [](View<int, 1> now, Out<int, 1>& next) {
    next.put(0, 0);
    next.put(0, now.Extent() - 1);
  });
  graph.AddKernel("blur", Fetch(line(a)[x - 1], line(a)[x], line(a)[x + 1]), Store(line(a + 1)[x]),
                  [](int l, int m, int r) { return (l + 2 * m + r) / 4; });
  graph.Keep(line);
  RunningGraph run = graph.Start({.threads = 2, .until = 2});
  ASSERT_TRUE(run.Wait().ok()) << run.Wait().Describe();
  EXPECT_EQ(run.Wait().Find("blur")->instances, 16);
  const View<int, 1> last = run.Kept(line, 2);
  EXPECT_THAT(std::vector<int>(last.begin(), last.end()), ElementsAre(0, 0, 0, 4, 16, 24, 16, 4, 0, 0));
}

TEST(Fields, ShiftedStoresSkipWhatWouldBeNegative) {
  Graph graph;
  auto in = graph.AddField<int>("in");
  auto out = graph.AddField<int>("out");
  graph.AddKernel("in", Store(in(a)), [](Out<int, 1>& values) {
    for (int i = 0; i < 100; ++i) values.put(i, i);
  });
  graph.AddKernel("left", Fetch(in(a)[x]), Store(out(a)[x - 2]), [](int v) { return v; });
  graph.Keep(out);
  for (const char* policy : {"off", "fuse:in+left", "guided"}) {
    if (std::string(policy).starts_with("fuse")) continue;
    RunningGraph run = graph.Start({.threads = 2, .until = 3, .scheduler = policy});
    ASSERT_TRUE(run.Wait().ok()) << run.Wait().Describe();
    EXPECT_EQ(run.Wait().Find("left")->instances, 4 * 98);
    EXPECT_EQ(run.Kept(out, 3).Extent(), 98);
    EXPECT_EQ(run.Kept(out, 3)[97], 99);
  }
}

TEST(Fields, SparseFieldsHaveNoInstancesForHoles) {
  for (const char* policy : {"off", "fixed:16", "guided"}) {
    Graph graph;
    auto all_numbers = graph.AddField<int>("all");
    auto even = graph.AddField<int>("even");
    auto doubled = graph.AddField<int>("doubled");
    graph.AddKernel("all", Store(all_numbers(a)), [](Out<int, 1>& out) {
      for (int i = 0; i < 1000; ++i) out.put(i, i);
    });
    graph.AddKernel("filter", Fetch(all_numbers(a)[x]), Store(even(a)[x]),
                    [](int v) { return v % 2 == 0 ? std::optional(v) : std::nullopt; });
    graph.AddKernel("double", Fetch(even(a)[x]), Store(doubled(a)[x]), [](int v) { return 2 * v; });
    int64_t present = 0;
    graph.AddKernel("count", Fetch(doubled(a)), kOrdered, [&present](View<int, 1> values) mutable {
      for (int64_t i = 0; i < values.Extent(); ++i) present += values.Has(i) ? 1 : 0;
    });
    graph.Sparse(even);
    graph.Sparse(doubled);
    const Report report = graph.Run({.threads = 2, .until = 4, .scheduler = policy});
    ASSERT_TRUE(report.ok()) << report.Describe();
    EXPECT_EQ(report.Find("filter")->instances, 5000);
    EXPECT_EQ(report.Find("double")->instances, 2500) << policy;
    EXPECT_EQ(present, 2500);
  }
}

TEST(Fields, SeveralStoresAndCellsThatAreNotAssigned) {
  Graph graph;
  auto in = graph.AddField<int>("in");
  auto big = graph.AddField<int>("big");
  auto squares = graph.AddField<long>("squares");
  graph.AddKernel("in", Store(in(a)), [](Out<int, 1>& values) {
    for (int i = 0; i < 200; ++i) values.put(i, i);
  });
  graph.AddKernel("split", Fetch(in(a)[x]), Store(big(a)[x], squares(a)[x]),
                  [](int v, Cell<int>& of_big, Cell<long>& of_squares) {
                    if (v >= 100) of_big = v;
                    of_squares = long{v} * v;
                  });
  graph.Sparse(big);
  graph.Keep(big);
  graph.Keep(squares);
  RunningGraph run = graph.Start({.threads = 2, .until = 1});
  ASSERT_TRUE(run.Wait().ok()) << run.Wait().Describe();
  EXPECT_FALSE(run.Kept(big, 1).Has(99));
  EXPECT_EQ(run.Kept(big, 1)[100], 100);
  EXPECT_EQ(run.Kept(squares, 1)[199], 199L * 199);
}

TEST(Fields, ElementsDoNotMoveWhileAFieldGrows) {
  // Single elements of a field whose extent nobody knows start instances, over many blocks.
  constexpr int kMany = 100'000;
  Graph graph;
  auto in = graph.AddField<int>("in");
  auto out = graph.AddField<int>("out");
  graph.AddKernel("in", Store(in(a)), [](Out<int, 1>& values) {
    for (int i = 0; i < kMany; ++i) values.put(i, i);
  });
  graph.AddKernel("next", Fetch(in(a)[x]), Store(out(a)[x]), [](int v) { return v + 1; });
  graph.Keep(out);
  RunningGraph run = graph.Start({.threads = 4, .until = 2});
  ASSERT_TRUE(run.Wait().ok()) << run.Wait().Describe();
  for (int age = 0; age < 3; ++age) {
    const View<int, 1> values = run.Kept(out, age);
    ASSERT_EQ(values.Extent(), kMany);
    for (int i = 0; i < kMany; ++i) ASSERT_EQ(values[i], i + 1);
  }
}

TEST(Fields, SeveralDimensionsGrowAndKeepWhatTheyHave) {
  Graph graph;
  auto image = graph.AddField<int, 2>("image");
  graph.AddKernel("left", Range(x, 20), Range(y, 10), Store(image(a)[x][y]), [](auto& instance) {
    return int(100 * instance.template Index<0>() + instance.template Index<1>());
  });
  graph.AddKernel("right", Store(image(a)), [](Out<int, 2>& out) {
    for (int i = 0; i < 30; ++i) {
      for (int j = i < 20 ? 10 : 0; j < 25; ++j) out.put(100 * i + j, i, j);
    }
  });
  graph.Keep(image);
  RunningGraph run = graph.Start({.threads = 2, .until = 5});
  ASSERT_TRUE(run.Wait().ok()) << run.Wait().Describe();
  for (int age = 0; age <= 5; ++age) {
    const View<int, 2> all_of = run.Kept(image, age);
    ASSERT_EQ(all_of.Extent(0), 30);
    ASSERT_EQ(all_of.Extent(1), 25);
    for (int i = 0; i < 30; ++i) {
      for (int j = 0; j < 25; ++j) ASSERT_EQ(all_of(i, j), 100 * i + j);
    }
  }
}

TEST(Fields, PutRangeStoresAndFindsASecondStore) {
  Graph graph;
  auto values = graph.AddField<int>("values");
  auto next = graph.AddField<int>("next");
  graph.AddKernel("make", Store(values(a)), [](auto& instance, Out<int, 1>& out) {
    std::vector<int> numbers(500);
    std::iota(numbers.begin(), numbers.end(), 0);
    out.put_range(numbers.data(), 500);
    if (instance.Age() == 3) out.put_range(numbers.data(), 10, 495);
  });
  graph.AddKernel("next", Fetch(values(a)[x]), Store(next(a)[x]), [](int v) { return v + 1; });
  graph.Keep(next);
  RunningGraph run = graph.Start({.threads = 2, .until = 2});
  ASSERT_TRUE(run.Wait().ok()) << run.Wait().Describe();
  EXPECT_EQ(run.Kept(next, 2)[499], 500);
  const Report report = graph.Run({.threads = 2, .until = 5});
  EXPECT_EQ(report.error.kind, ErrorKind::kStoredTwice);
  EXPECT_THAT(report.error.what, testing::HasSubstr("values(3)[495]"));
}

TEST(Fields, AnEmptyAgeHasNoInstances) {
  Graph graph;
  auto values = graph.AddField<int>("values");
  auto next = graph.AddField<int>("next");
  graph.AddKernel("make", Store(values(a)), [](auto& instance, Out<int, 1>& out) {
    if (instance.Age() % 2 == 0) out.put(1, 0);
  });
  graph.AddKernel("next", Fetch(values(a)[x]), Store(next(a)[x]), [](int v) { return v; });
  graph.AddKernel("end", Fetch(next(a)), [](View<int, 1>) {});
  const Report report = graph.Run({.threads = 2, .until = 999});
  ASSERT_TRUE(report.ok()) << report.Describe();
  EXPECT_EQ(report.Find("make")->instances, 1000);
  EXPECT_EQ(report.Find("next")->instances, 500);
  EXPECT_EQ(report.Find("end")->instances, 500);
}

}  // namespace
}  // namespace attune::flow::test
