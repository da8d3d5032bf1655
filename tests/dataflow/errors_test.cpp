// Each error ends the run and names kernel, field, age and index.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "golden.h"

namespace attune::flow::test {
namespace {

using namespace vars;
using testing::ElementsAre;
using testing::HasSubstr;

/// A field of `n` elements at each age from 0 on, in whose ages `make` stores 0 to n - 1.
struct Numbers {
  Graph graph;
  Field<int> numbers = graph.AddField<int>("numbers");
  explicit Numbers(int n) {
    graph.AddKernel("make", Store(numbers(a)), [n](Out<int, 1>& out) {
      for (int i = 0; i < n; ++i) out.put(i, i);
    });
  }
};

TEST(Errors, StoredTwiceByTwoKernels) {
  Numbers it(8);
  auto out = it.graph.AddField<int>("out");
  it.graph.AddKernel("one", Fetch(it.numbers(a)[x]), Store(out(a)[x]), [](int value) { return value; });
  it.graph.AddKernel("two", Fetch(it.numbers(a)), Store(out(a)), [](auto& instance, View<int, 1>, Out<int, 1>& values) {
    if (instance.Age() == 3) values.put(1, 5);
  });
  it.graph.AddKernel("use", Fetch(out(a)), [](View<int, 1>) {});
  for (const int threads : {1, 2, 4}) {
    const Report report = it.graph.Run({.threads = threads, .until = 6});
    EXPECT_EQ(report.outcome, Outcome::kFailed);
    EXPECT_EQ(report.error.kind, ErrorKind::kStoredTwice);
    EXPECT_EQ(report.error.field, "out");
    EXPECT_EQ(report.error.age, 3);
    EXPECT_THAT(report.error.what, HasSubstr("out(3)[5] is stored a second time"));
    if (report.error.kernel == "one") {
      EXPECT_THAT(report.error.index, ElementsAre(5));
    } else {
      EXPECT_EQ(report.error.kernel, "two");
    }
  }
}

TEST(Errors, StoredTwiceByOnePut) {
  Graph graph;
  auto values = graph.AddField<int>("values");
  graph.AddKernel("make", Store(values(a)), [](auto& instance, Out<int, 1>& out) {
    out.put(1, 7);
    if (instance.Age() == 2) out.put(1, 7);  // an equal value is a second one, too
  });
  graph.AddKernel("use", Fetch(values(a)), [](View<int, 1>) {});
  graph.Sparse(values);
  const Report report = graph.Run({.threads = 2, .until = 4});
  EXPECT_EQ(report.error.kind, ErrorKind::kStoredTwice);
  EXPECT_EQ(report.error.kernel, "make");
  EXPECT_EQ(report.error.age, 2);
  EXPECT_THAT(report.error.what, HasSubstr("values(2)[7]"));
}

TEST(Errors, StoredTwiceInSeveralDimensions) {
  Graph graph;
  auto values = graph.AddField<int, 2>("values");
  graph.AddKernel("make", Store(values(0)), [](Out<int, 2>& out) {
    out.put(1, 3, 4);
    out.put(1, 3, 4);
  });
  graph.AddKernel("use", Fetch(values(a)), [](View<int, 2>) {});
  EXPECT_THAT(graph.Run({.threads = 1, .until = 0}).error.what,
              HasSubstr("kernel 'make': values(0)[3][4] is stored a second time"));
}

TEST(Errors, HoleThatAnElementFetchWaitsFor) {
  Graph graph;
  auto values = graph.AddField<int>("values");
  graph.AddKernel("make", Store(values(a)), [](auto& instance, Out<int, 1>& out) {
    for (int i = 0; i < 10; ++i) {
      if (instance.Age() != 1 || i != 6) out.put(i, i);
    }
  });
  graph.AddKernel("use", Fetch(values(a)[x + 1]), [](int) {});
  const Report report = graph.Run({.threads = 2, .until = 3});
  EXPECT_EQ(report.error.kind, ErrorKind::kHole);
  EXPECT_EQ(report.error.kernel, "use");
  EXPECT_EQ(report.error.age, 1);
  EXPECT_THAT(report.error.index, ElementsAre(5));
  EXPECT_THAT(report.error.what, HasSubstr("nobody stored values(1)[6]"));
}

TEST(Errors, HoleThatAViewReads) {
  Graph graph;
  auto values = graph.AddField<int, 2>("values");
  graph.AddKernel("make", Store(values(a)), [](Out<int, 2>& out) {
    out.put(1, 0, 0);
    out.put(1, 1, 1);
  });
  graph.AddKernel("use", Fetch(values(a)[x][all]), [](View<int, 1> row) { EXPECT_EQ(row[1], 1); });
  const Report report = graph.Run({.threads = 1, .until = 0});
  EXPECT_EQ(report.error.kind, ErrorKind::kHole);
  EXPECT_EQ(report.error.kernel, "use");
  EXPECT_EQ(report.error.age, 0);
  EXPECT_THAT(report.error.index, ElementsAre(0));
  EXPECT_THAT(report.error.what, HasSubstr("values(0)[0][1]"));
}

TEST(Errors, ReadOutside) {
  Numbers it(8);
  it.graph.AddKernel("use", Fetch(it.numbers(a)[x], it.numbers(a)), [](auto& instance, int value, View<int, 1> all_of) {
    return void(value + all_of[instance.Age() == 2 && value == 3 ? 8 : value]);
  });
  const Report report = it.graph.Run({.threads = 2, .until = 4});
  EXPECT_EQ(report.error.kind, ErrorKind::kOutside);
  EXPECT_EQ(report.error.kernel, "use");
  EXPECT_EQ(report.error.age, 2);
  EXPECT_THAT(report.error.index, ElementsAre(3));
  EXPECT_THAT(report.error.what, HasSubstr("index 8 of dimension 0 is outside of numbers(2), whose extent is 8"));
}

TEST(Errors, StoredOutside) {
  Graph graph;
  auto values = graph.AddField<int>("values");
  graph.AddKernel("make", Store(values(0)), [](Out<int, 1>& out) { out.put(1, -1); });
  graph.AddKernel("use", Fetch(values(a)), [](View<int, 1>) {});
  EXPECT_EQ(graph.Run({.threads = 1, .until = 0}).error.kind, ErrorKind::kOutside);

  Graph large;
  auto more = large.AddField<int>("more");
  large.AddKernel("make", Store(more(0)), [](Out<int, 1>& out) { out.put(1, 1000); });
  large.AddKernel("use", Fetch(more(a)), [](View<int, 1>) {});
  EXPECT_EQ(large.Run({.threads = 1, .until = 0, .max_extent = 1000}).error.kind, ErrorKind::kOutside);
  large.Sparse(more);
  EXPECT_TRUE(large.Run({.threads = 1, .until = 0, .max_extent = 1001}).ok());
}

/// More elements than a number of 64 bits counts. The expected extents are no more than a hint.
TEST(Errors, AFieldOfSeveralDimensionsThatIsTooLarge) {
  constexpr int64_t kIndex = (int64_t{1} << 32) - 1;
  for (const int64_t index : {kIndex, int64_t{0}}) {
    Graph graph;
    auto f = graph.AddField<char, 2>("f");
    graph.Expect(f, kIndex + 1, kIndex + 1);
    graph.AddKernel("s", Store(f(0)), [index](Out<char, 2>& out) { out.put(1, index, index); });
    graph.AddKernel("q", Fetch(f(a)), [](const View<char, 2>&) {});
    const Report report = graph.Run();
    EXPECT_EQ(report.error.kind, index == 0 ? ErrorKind::kNone : ErrorKind::kMemory);
    EXPECT_THAT(report.error.what,
                HasSubstr(index == 0 ? "" : "there is no memory for f(0): 4294967296 x 4294967296 elements of 1 byte"));
  }
}

TEST(Errors, MoreInstancesThanCanBeCounted) {
  Graph graph;
  auto f = graph.AddField<int>("f");
  graph.AddKernel("s", Store(f(0)), [](Out<int, 1>& out) { out.put(1, 0); });
  graph.AddKernel("k", Range(x, int64_t{1} << 32), Range(y, int64_t{1} << 32), Fetch(f(a)), [](const View<int, 1>&) {});
  const Report report = graph.Run();
  EXPECT_EQ(report.error.kind, ErrorKind::kExtents);
  EXPECT_EQ(report.error.kernel, "k");
}

TEST(Errors, ARangeWithoutValuesHasNoInstances) {
  for (const int64_t bound : {0, -1, -1000}) {
    Graph graph;
    auto f = graph.AddField<int>("f");
    graph.AddKernel("s", Store(f(0)), [](Out<int, 1>& out) { out.put(1, 0); });
    graph.AddKernel("k", Range(x, bound), Fetch(f(a)), [](const View<int, 1>&) {});
    const Report report = graph.Run();
    EXPECT_TRUE(report.ok()) << report.Describe();
    EXPECT_EQ(report.Find("k")->instances, 0);
  }
}

TEST(Errors, ExtentsThatDisagree) {
  Numbers it(8);
  auto others = it.graph.AddField<int>("others");
  it.graph.AddKernel("short", Store(others(a)), [](auto& instance, Out<int, 1>& out) {
    for (int i = 0; i < (instance.Age() == 2 ? 7 : 8); ++i) out.put(i, i);
  });
  it.graph.AddKernel("both", Fetch(it.numbers(a)[x], others(a)[x]), [](int, int) {});
  const Report report = it.graph.Run({.threads = 2, .until = 4});
  EXPECT_EQ(report.error.kind, ErrorKind::kExtents);
  EXPECT_EQ(report.error.kernel, "both");
  EXPECT_EQ(report.error.age, 2);
  EXPECT_THAT(report.error.what, HasSubstr("numbers(2) with extent 8"));
  EXPECT_THAT(report.error.what, HasSubstr("others(2) with extent 7"));
}

TEST(Errors, Exception) {
  for (const char* policy : {"off", "fixed:16", "guided"}) {
    Numbers it(100);
    auto out = it.graph.AddField<int>("out");
    it.graph.AddKernel("half", Fetch(it.numbers(a)[x]), Store(out(a)[x]), [](auto& instance, int value) {
      if (instance.Age() == 3 && value == 42) throw std::runtime_error("no half of 42");
      return value / 2;
    });
    it.graph.AddKernel("use", Fetch(out(a)[x]), [](int) {});
    const Report report = it.graph.Run({.threads = 2, .until = 4, .scheduler = policy});
    EXPECT_EQ(report.outcome, Outcome::kFailed);
    EXPECT_EQ(report.ExitCode(), 1);
    EXPECT_EQ(report.error.kind, ErrorKind::kException);
    EXPECT_EQ(report.error.kernel, "half");
    EXPECT_EQ(report.error.age, 3);
    EXPECT_THAT(report.error.index, ElementsAre(42)) << policy;
    EXPECT_EQ(report.error.what, "kernel 'half', age 3, index [42]: exception: no half of 42");
  }
}

TEST(Errors, ExceptionOfNoStandardTypeInSeveralDimensions) {
  Graph graph;
  graph.AddKernel("grid", Range(x, 6), Range(y, 7), [](auto& instance) {
    if (instance.template Index<0>() == 4 && instance.template Index<1>() == 5) throw 1;
  });
  const Report report = graph.Run({.threads = 2});
  EXPECT_EQ(report.error.kind, ErrorKind::kException);
  EXPECT_EQ(report.error.age, -1);
  EXPECT_THAT(report.error.index, ElementsAre(4, 5));
}

TEST(Errors, WhatWasStoredBeforeStaysWhole) {
  Numbers it(4);
  it.graph.AddKernel("fail", Fetch(it.numbers(a)), [](auto& instance, View<int, 1>) {
    if (instance.Age() == 3) throw std::runtime_error("enough");
  });
  it.graph.Keep(it.numbers);
  RunningGraph run = it.graph.Start({.threads = 2, .until = 10});
  EXPECT_EQ(run.Wait().error.age, 3);
  for (int age = 0; age <= 3; ++age) {
    const View<int, 1> kept = run.Kept(it.numbers, age);
    ASSERT_EQ(kept.Extent(), 4) << age;
    EXPECT_EQ(kept[3], 3);
  }
}

TEST(Errors, GraphsThatCannotRun) {
  const auto what = [](const Graph& graph) {
    const Report report = graph.Run({.threads = 1, .until = 1});
    EXPECT_EQ(report.outcome, Outcome::kFailed);
    EXPECT_EQ(report.error.kind, ErrorKind::kGraph);
    return report.error.what;
  };
  {
    Graph graph;
    auto f = graph.AddField<int>("f");
    auto g = graph.AddField<int>("g");
    graph.AddKernel("there", Fetch(f(a)[x]), Store(g(a)[x]), [](int v) { return v; });
    graph.AddKernel("back", Fetch(g(a)[x]), Store(f(a)[x]), [](int v) { return v; });
    EXPECT_THAT(what(graph), HasSubstr("depends on itself without getting to a later age"));
  }
  {
    Graph graph;
    auto f = graph.AddField<int>("f");
    graph.AddKernel("use", Fetch(f(a)[x]), [](int) {});
    EXPECT_EQ(what(graph), "kernel 'use' fetches field 'f', which no kernel stores");
  }
  {
    Graph graph;
    graph.AddKernel("same", [] {});
    graph.AddKernel("same", [] {});
    EXPECT_EQ(what(graph), "two kernels have the name 'same'");
  }
  {
    Graph graph, other;
    auto f = other.AddField<int>("f");
    graph.AddKernel("use", Store(f(0)), [](Out<int, 1>&) {});
    EXPECT_EQ(what(graph), "kernel 'use' uses a field of another graph");
  }
  {
    Numbers it(1);
    (void)it.graph.AddFeed(it.numbers);
    EXPECT_THAT(what(it.graph), HasSubstr("is fed from outside, so kernel 'make' cannot store into it"));
  }
}

TEST(Errors, OptionsThatDoNotFit) {
  Golden golden;
  const std::pair<RunOptions, const char*> wrong[] = {
      {{.until = 1, .scheduler = "fast"}, "there is no scheduler 'fast'"},
      {{.until = 1, .scheduler = "fixed:0"}, "fixed: wants a number"},
      {{.until = 1, .scheduler = "fuse:init+mul2"}, "'mul2' cannot run behind 'init'"},
      {{.until = 1, .scheduler = "fuse:mul2+plus6"}, "there is no kernel 'plus6'"},
      {{.until = 1, .nodes = "none"}, "'none' is no group of CPUs"}};
  for (const auto& [options, what] : wrong) {
    const Report report = golden.graph.Run(options);
    EXPECT_EQ(report.outcome, Outcome::kFailed);
    EXPECT_EQ(report.error.kind, ErrorKind::kOptions);
    EXPECT_THAT(report.error.what, HasSubstr(what));
  }
}

TEST(Errors, ARunAfterAnErrorIsWhole) {
  Numbers it(50);
  bool fail = true;
  int64_t sum = 0;
  it.graph.AddKernel("use", Fetch(it.numbers(a)), kOrdered, [&](View<int, 1> values) mutable {
    if (fail) throw std::runtime_error("first");
    for (const int value : values) sum += value;
  });
  EXPECT_FALSE(it.graph.Run({.threads = 2, .until = 9}).ok());
  fail = false;
  EXPECT_TRUE(it.graph.Run({.threads = 2, .until = 9}).ok());
  EXPECT_EQ(sum, 10 * 49 * 50 / 2);
}

}  // namespace
}  // namespace attune::flow::test
