#include "analysis/report/thread_counts.h"

#include <gtest/gtest.h>

#include "fake_source.h"

namespace attune::analysis {
namespace {

TEST(ThreadCounts, RowsOfAThreadAddUp) {
  FakeSource source;
  const auto machine = source.AddElement(model::ElementKind::kMachine, "host");
  const auto process = source.AddElement(model::ElementKind::kProcess, "solver", machine, 40);
  const auto idle = source.AddElement(model::ElementKind::kThread, "idle", process, 40);
  const auto busy = source.AddElement(model::ElementKind::kThread, "busy", process, 41);
  source.thread_counts = {{.t_ns = 1, .element = idle, .event = "page-faults", .count = 3},
                          {.t_ns = 1, .element = busy, .event = "page-faults", .count = 10},
                          {.t_ns = 1, .element = busy, .event = "cycles", .count = 500, .counted_ppm = 250'000},
                          {.t_ns = 2, .element = busy, .event = "page-faults", .count = 7},
                          {.t_ns = 2, .element = machine, .event = "cycles", .count = 5}};
  const auto counts = SumThreadCounts(source);
  ASSERT_TRUE(counts.ok());
  EXPECT_EQ(counts->events, (std::vector<std::string>{"page-faults", "cycles"}));
  EXPECT_EQ(counts->totals, (std::vector<double>{20, 505}));
  EXPECT_EQ(counts->is_scaled, (std::vector<bool>{false, true}));
  ASSERT_EQ(counts->threads.size(), 3u);
  EXPECT_EQ(counts->threads[0].name, "busy");
  EXPECT_EQ(counts->threads[0].pid, 40);
  EXPECT_EQ(counts->threads[0].tid, 41);
  EXPECT_EQ(counts->threads[0].counts, (std::vector<double>{17, 500}));
  EXPECT_EQ(counts->threads[1].counts, (std::vector<double>{3, 0}));
  EXPECT_EQ(counts->threads[2].tid, model::kAbsent) << "threads that were too short-lived to be seen";
}

TEST(ThreadCounts, NothingWasCounted) {
  FakeSource source;
  const auto counts = SumThreadCounts(source);
  ASSERT_TRUE(counts.ok());
  EXPECT_EQ(ThreadCountsJson(*counts), nullptr);
}

}  // namespace
}  // namespace attune::analysis
