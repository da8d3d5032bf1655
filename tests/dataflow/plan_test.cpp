// Which ages of kernels run.

#include "dataflow/runtime/plan.h"

#include <gtest/gtest.h>

#include "dataflow/runtime/age_table.h"
#include "golden.h"

namespace attune::flow::test {
namespace {

using namespace vars;

detail::Plan PlanOf(const Graph& graph, int64_t until) {
  detail::Plan plan;
  EXPECT_FALSE(detail::MakePlan(graph.info(), until, &plan));
  return plan;
}

TEST(Plan, NoInstanceBeyondTheLimit) {
  Golden golden;
  golden.Print();
  const detail::Plan plan = PlanOf(golden.graph, 4);
  EXPECT_EQ(plan.kernels[0].high, 0);  // init
  EXPECT_EQ(plan.kernels[1].high, 4);  // mul2
  EXPECT_EQ(plan.kernels[2].high, 3);  // plus5 stores into the next age
  EXPECT_EQ(plan.kernels[3].high, 4);  // print
  EXPECT_GE(PlanOf(golden.graph, -1).kernels[2].high, detail::kNoLimit / 2);
}

TEST(Plan, ResultsThatReachNobodyAreNotComputed) {
  // As in k-means: the last centres are printed, so distances to them are not wanted.
  Graph graph;
  auto centres = graph.AddField<int>("centres");
  auto distances = graph.AddField<int>("distances");
  auto unread = graph.AddField<int>("unread");
  graph.AddKernel("init", Store(centres(0)), [](Out<int, 1>&) {});
  graph.AddKernel("assign", Fetch(centres(a)[x]), Store(distances(a)[x]), [](int v) { return v; });
  graph.AddKernel("refine", Fetch(distances(a)), Store(centres(a + 1)), [](View<int, 1>, Out<int, 1>&) {});
  graph.AddKernel("print", Fetch(centres(a)), [](View<int, 1>) {});
  graph.AddKernel("dead", Fetch(centres(a)[x]), Store(unread(a)[x]), [](int v) { return v; });
  graph.AddKernel("log", Fetch(centres(a)[x]), Store(unread(a)[x + 100]), kEffects, [](int v) { return v; });
  const detail::Plan plan = PlanOf(graph, 10);
  EXPECT_EQ(plan.kernels[1].high, 9);
  EXPECT_EQ(plan.kernels[2].high, 9);
  EXPECT_EQ(plan.kernels[3].high, 10);
  EXPECT_LT(plan.kernels[4].high, plan.kernels[4].low);
  EXPECT_EQ(plan.kernels[5].high, 10);
}

TEST(Plan, AgesThatDoNotExist) {
  Graph graph;
  auto f = graph.AddField<int>("f");
  graph.AddKernel("make", Store(f(a)), [](Out<int, 1>&) {});
  graph.AddKernel("back", Fetch(f(a), f(a - 3)), [](View<int, 1>, View<int, 1>) {});
  graph.AddKernel("ahead", Fetch(f(a + 2)), [](View<int, 1>) {});
  const detail::Plan plan = PlanOf(graph, 9);
  EXPECT_EQ(plan.kernels[1].low, 3);
  EXPECT_EQ(plan.kernels[1].high, 9);
  EXPECT_EQ(plan.kernels[2].low, 0);
  EXPECT_EQ(plan.kernels[2].high, 7);
  EXPECT_TRUE(plan.kernels[0].source);
  EXPECT_FALSE(plan.kernels[1].source);
}

TEST(Plan, ChainsAreKernelsThatCanRunBehindOthers) {
  Golden golden;
  golden.Print();
  const detail::Plan plan = PlanOf(golden.graph, 4);
  ASSERT_EQ(plan.chains.size(), 2U);
  EXPECT_EQ(plan.chains[0].first, 2);  // plus5, then mul2 of the next age
  EXPECT_EQ(plan.chains[0].second, 1);
  EXPECT_EQ(plan.chains[1].first, 1);
  EXPECT_EQ(plan.chains[1].second, 2);
}

TEST(AgeSet, JoinsNeighbours) {
  detail::AgeSet set;
  for (const int64_t age : {0, 1, 5, 3, 2, 10}) set.Add(age);
  EXPECT_EQ(set.intervals(), 3U);  // 0-3, 5, 10
  EXPECT_TRUE(set.Contains(3));
  EXPECT_FALSE(set.Contains(4));
  set.Add(4);
  EXPECT_EQ(set.intervals(), 2U);
  set.AddAllBelow(9);
  EXPECT_EQ(set.intervals(), 2U);
  EXPECT_TRUE(set.Contains(8));
  EXPECT_FALSE(set.Contains(9));
  set.AddAllBelow(10);
  EXPECT_EQ(set.intervals(), 1U);
  EXPECT_TRUE(set.Contains(10));
}

TEST(AgeTable, KeepsOrder) {
  detail::AgeTable<int> table;
  int values[] = {0, 1, 2};
  table.Insert(7, &values[0]);
  table.Insert(3, &values[1]);
  table.Insert(5, &values[2]);
  EXPECT_EQ(table.entries().front().first, 3);
  EXPECT_EQ(table.Find(5), &values[2]);
  EXPECT_EQ(table.Find(6), nullptr);
  table.Erase(5);
  table.Erase(6);
  EXPECT_EQ(table.Find(5), nullptr);
  EXPECT_EQ(table.entries().size(), 2U);
}

}  // namespace
}  // namespace attune::flow::test
