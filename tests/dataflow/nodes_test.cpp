// Groups of CPUs: their texts, those of a machine, and runs whose workers are bound to them.

#include "dataflow/runtime/nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "attune/flow.h"

namespace attune::flow::detail::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<int> ListOf(const cpu_set_t& cpus) {
  std::vector<int> list;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &cpus)) list.push_back(cpu);
  }
  return list;
}

cpu_set_t Cpus(const char* text) {
  cpu_set_t cpus;
  EXPECT_TRUE(ParseCpus(text, &cpus)) << text;
  return cpus;
}

TEST(Nodes, ListsOfTheKernel) {
  EXPECT_THAT(ListOf(Cpus("0-3,8,10-11")), ElementsAre(0, 1, 2, 3, 8, 10, 11));
  EXPECT_THAT(ListOf(Cpus("")), IsEmpty());
  cpu_set_t cpus;
  for (const char* wrong : {"x", "1-", "-1", "1-2-3", "0-1024", "5,,6", " 1"})
    EXPECT_FALSE(ParseCpus(wrong, &cpus)) << wrong;
}

TEST(Nodes, GroupsMustBeAllowed) {
  std::vector<cpu_set_t> nodes;
  std::string problem;
  ASSERT_TRUE(ParseNodes("0-1;4", Cpus("0-7"), &nodes, &problem)) << problem;
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_THAT(ListOf(nodes[0]), ElementsAre(0, 1));
  EXPECT_THAT(ListOf(nodes[1]), ElementsAre(4));
  EXPECT_FALSE(ParseNodes("0-1;8", Cpus("0-7"), &nodes, &problem));
  EXPECT_THAT(problem, HasSubstr("may not use all of the CPUs 8"));
  EXPECT_FALSE(ParseNodes("0;;1", Cpus("0-7"), &nodes, &problem));
  EXPECT_THAT(problem, HasSubstr("groups are as in 0-3;4-7"));
}

class Machine : public testing::Test {
 protected:
  Machine() : folder_(testing::TempDir() + "nodes_test") {}
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void Write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = folder_ + "/" + name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  const std::string folder_;
};

TEST_F(Machine, NodesWithoutAllowedCpusAreLeftOut) {
  Write("online", "0,2-3");
  Write("node0/cpulist", "0-3,16-19");
  Write("node2/cpulist", "4-7");
  Write("node3/cpulist", "");
  const auto nodes = NodesIn(folder_, Cpus("2-7,17"));
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_THAT(ListOf(nodes[0]), ElementsAre(2, 3, 17));
  EXPECT_THAT(ListOf(nodes[1]), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(NodesIn(folder_, Cpus("0-3")), IsEmpty());
}

TEST_F(Machine, OneNodeIsNone) {
  Write("online", "0");
  Write("node0/cpulist", "0-3");
  EXPECT_THAT(NodesIn(folder_, Cpus("0-3")), IsEmpty());
  EXPECT_THAT(NodesIn(folder_ + "/none", Cpus("0-3")), IsEmpty());
}

TEST(Nodes, WorkersAreBoundAndAnAgeIsDividedAmongThem) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  const std::vector<int> cpus = ListOf(allowed);
  // On a machine with one CPU both groups have it.
  const int first = cpus.front(), last = cpus.back();
  constexpr int kInstances = 4000, kAges = 5;
  using namespace vars;
  Graph graph;
  auto in = graph.AddField<int>("in"), out = graph.AddField<int>("out");
  std::atomic<int> bound = 0;
  graph.AddKernel("make", Store(in(a)), [](Out<int, 1>& values) {
    for (int i = 0; i < kInstances; ++i) values.put(i, i);
  });
  graph.AddKernel("work", Fetch(in(a)[x]), Store(out(a)[x]), [&](int value) {
    cpu_set_t own;
    sched_getaffinity(0, sizeof own, &own);
    if (CPU_COUNT(&own) == 1 && (CPU_ISSET(first, &own) || CPU_ISSET(last, &own)))
      bound.fetch_add(1, std::memory_order_relaxed);
    return value + 1;
  });
  std::vector<int> sums;
  graph.AddKernel("show", Fetch(out(a)), kOrdered, [&](View<int, 1> values) {
    int sum = 0;
    for (int i = 0; i < values.Extent(); ++i) sum += values[i] - i;
    sums.push_back(sum);
  });
  const std::string nodes = std::to_string(first) + ";" + std::to_string(last);
  const Report report = graph.Run({.threads = 2, .until = kAges - 1, .nodes = nodes});
  ASSERT_TRUE(report.ok()) << report.Describe();
  EXPECT_EQ(sums.size(), size_t{kAges});
  EXPECT_THAT(sums, Each(kInstances));
  EXPECT_EQ(bound, kInstances * kAges);
}

TEST(Nodes, GroupsThatMakeNoSenseAreAnErrorOfTheRun) {
  using namespace vars;
  Graph graph;
  auto field = graph.AddField<int>("field");
  graph.AddKernel("make", Store(field(0)), kEffects, [](Out<int, 1>& values) { values.put(1, 0); });
  const Report report = graph.Run({.threads = 2, .nodes = "0;banana"});
  EXPECT_FALSE(report.ok());
  EXPECT_THAT(report.Describe(), HasSubstr("'banana' is no group of CPUs"));
}

}  // namespace
}  // namespace attune::flow::detail::test
