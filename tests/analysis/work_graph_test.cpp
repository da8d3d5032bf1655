#include "analysis/work/work_graph.h"

#include <gtest/gtest.h>

#include "model/program_series.h"

namespace attune::analysis::work_graph_test {
namespace {

/// Counters of two processes, in one stream.
class WorkGraphTest : public testing::Test {
 protected:
  void Add(const std::string& signal, model::ElementId process, std::vector<int64_t> values) {
    const auto id = static_cast<model::SeriesId>(meta_.series.size() + 1);
    model::Series series;
    series.id = id;
    series.sensor = model::kProgramSensor;
    series.signal = signal;
    series.element = process;
    meta_.series.push_back(series);
    stream_.series.push_back(id);
    columns_.push_back(std::move(values));
  }
  WorkGraph GraphOf(model::TimeRange range) {
    WorkSums sums(range);
    const std::vector<uint32_t> wanted = sums.Columns(meta_, stream_);
    std::vector<std::vector<int64_t>> block;
    for (const uint32_t column : wanted) block.push_back(columns_[column]);
    sums.AddSamples(stream_, {times_, block});
    return sums.Graph();
  }

  model::Metadata meta_;
  model::Stream stream_{.id = 1};
  std::vector<int64_t> times_{10, 20, 30};
  std::vector<std::vector<int64_t>> columns_;
};

TEST_F(WorkGraphTest, KernelsOfAllProcessesAreSummed) {
  for (const model::ElementId process : {1, 2}) {
    Add("work/encode/instances", process, {5, 10, 40});
    Add("work/encode/body_ns", process, {100, 200, 900});
    Add("work/encode/store/blocks", process, {1, 2, 3});
  }
  Add("work/read/dispatch_ns", 1, {7, model::kAbsent, model::kAbsent});
  Add("queue", 1, {1, 2, 3});
  const WorkGraph graph = GraphOf(kWholeRun);
  ASSERT_EQ(graph.kernels.size(), 2u);
  EXPECT_EQ(graph.kernels[0].name, "encode");
  EXPECT_EQ(graph.kernels[0].instances, 80);
  EXPECT_EQ(graph.kernels[0].body_ns, 1800);
  EXPECT_EQ(graph.kernels[1].dispatch_ns, 7);
  ASSERT_EQ(graph.data.size(), 1u);
  EXPECT_EQ(graph.data[0].field, "blocks");
  EXPECT_TRUE(graph.data[0].is_store);
  EXPECT_EQ(graph.data[0].bytes, 6);
}

TEST_F(WorkGraphTest, ThreadsAndAgesHaveLimits) {
  Add("work//threads", 1, {INT64_MAX, INT64_MAX, INT64_MAX});
  Add("work/a/fetch_age/f", 1, {INT64_MAX, INT64_MAX, INT64_MAX});
  Add("work/a/store_age/f", 1, {-INT64_MAX, -INT64_MAX, -INT64_MAX});
  const WorkGraph graph = GraphOf(kWholeRun);
  EXPECT_EQ(graph.threads, 1 << 16);
  ASSERT_EQ(graph.data.size(), 2u);
  EXPECT_EQ(graph.data[0].age, -graph.data[1].age);
}

TEST_F(WorkGraphTest, APartOfTheTimeHasWhatWasDoneInIt) {
  Add("work/encode/instances", 1, {5, 10, 40});
  Add("work/encode/grain", 1, {1, 64, 8});
  Add("work/encode/behind/read", 1, {0, 1, 0});
  const WorkKernel kernel = GraphOf({10, 20}).kernels.at(0);
  EXPECT_EQ(kernel.instances, 5);
  EXPECT_EQ(kernel.grain, 64);
  EXPECT_EQ(kernel.runs_behind, "read");
  EXPECT_EQ(GraphOf(kWholeRun).kernels.at(0).runs_behind, "");
}

TEST_F(WorkGraphTest, OddNamesAreNoTrouble) {
  for (const char* name : {"work/", "work/a", "work//", "work/a/b/c/d", "work/a/instances/x"}) Add(name, 1, {1, 2, 3});
  EXPECT_EQ(GraphOf(kWholeRun).data.size(), 0u);
}

}  // namespace
}  // namespace attune::analysis::work_graph_test
