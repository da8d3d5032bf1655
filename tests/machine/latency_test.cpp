#include "machine/latency.h"

#include <gmock/gmock.h>

#include <set>

#include "generated_host.h"
#include "machine/memory_chase.h"
#include "machine/pinned_pair.h"

namespace attune::machine {
namespace {

using attune::fakes::FakeHost;
using attune::fakes::GeneratedHost;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Topology Generated(const std::string& host) { return *ReadTopology(GeneratedHost(host).Root(), {}); }

const Progress kQuiet = [](size_t, size_t) {};

TEST(Representatives, AllWhereTheyAreFew) {
  const Topology topology = Generated("sparse-cpus");
  EXPECT_THAT(Representatives(topology, topology.machine.cpus, 7), ElementsAre(0, 1, 4, 5, 12, 13, 96));
  EXPECT_THAT(Representatives(topology, CpuSet({4, 96}), 7), ElementsAre(4, 96)) << "no more than are allowed";
}

TEST(Representatives, OfEveryNodeAndTheNeighboursOfTheFirst) {
  const Topology topology = Generated("512-cpus");
  const auto cpus = Representatives(topology, topology.machine.cpus, 16);
  EXPECT_EQ(cpus.size(), 16u);
  for (int node = 0; node < 8; ++node) EXPECT_THAT(cpus, Contains(64 * node)) << node;
  EXPECT_THAT(cpus, Contains(32)) << "the other thread of the first core";
  EXPECT_THAT(cpus, Contains(1)) << "another core of its node";
}

TEST(Representatives, OfMoreNodesThanPlacesAreSpread) {
  const Topology topology = Generated("six-boards");
  const auto cpus = Representatives(topology, topology.machine.cpus, 12);
  EXPECT_EQ(cpus.size(), 12u);
  std::set<const Object*> boards;
  for (const CpuId cpu : cpus) boards.insert(Containing(topology, cpu, model::ElementKind::kBoard));
  EXPECT_EQ(boards.size(), 6u);
}

TEST(Shares, TheClosestThingThatBothAreIn) {
  const Topology threads = Generated("512-cpus");
  EXPECT_EQ(Shares(threads, 0, 32), "core");
  EXPECT_EQ(Shares(threads, 0, 1), "L3");
  EXPECT_EQ(Shares(threads, 0, 64), "machine");
  const Topology boards = Generated("six-boards");
  EXPECT_EQ(Shares(boards, 0, 4), "board");
  EXPECT_EQ(Shares(boards, 0, 24), "machine");
  Topology without_caches = threads;
  without_caches.caches.clear();
  EXPECT_EQ(Shares(without_caches, 0, 1), "node");
}

TEST(StealTicks, AreTheEighthColumn) {
  EXPECT_EQ(StealTicks("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1\n"), 8u);
  EXPECT_FALSE(StealTicks("cpu  1 2 3\ncpu0 1 2 3 4 5 6 7 8\n").has_value()) << "of a kernel before 2.6.11";
  EXPECT_FALSE(StealTicks("cpu").has_value());
  EXPECT_FALSE(StealTicks("").has_value());
}

TEST(Spread, MedianAndPercentiles) {
  std::vector<double> values;
  for (int i = 100; i >= 0; --i) values.push_back(i);
  const Spread spread = SpreadOf(values);
  EXPECT_EQ(spread.median_ns, 50);
  EXPECT_EQ(spread.low_ns, 5);
  EXPECT_EQ(spread.high_ns, 95);
  EXPECT_EQ(SpreadOf({7}).high_ns, 7);
}

/// Of this machine, for as long as it takes to measure every pair of at most three CPUs.
Latencies Measured(const Topology& topology, const CpuSet& allowed) {
  constexpr int64_t kAmpleNs = 30'000'000'000;
  return MeasureLatencies(
      HostRoot(), topology,
      {.allowed = allowed, .max_cpus = 3, .cpu_budget_ns = kAmpleNs, .node_budget_ns = kAmpleNs, .batches = 5}, kQuiet);
}

TEST(Latency, OfThisMachineIsMeasuredForAllowedCpus) {
  const Topology topology = *ReadTopology(HostRoot(), {});
  const CpuSet allowed = CpuSet::Allowed();
  const Latencies latencies = Measured(topology, allowed);
  EXPECT_EQ(latencies.cpus.size(), std::min<size_t>(3, allowed.size()));
  EXPECT_EQ(latencies.pairs.size(), latencies.cpus.size() * (latencies.cpus.size() - 1) / 2);
  for (const CpuLatency& pair : latencies.pairs) {
    // Only where somebody else has the CPUs for half a minute, and then that is said.
    if (!pair.ns) {
      EXPECT_THAT(latencies.notes, Contains(HasSubstr("their CPUs were busy")));
      continue;
    }
    EXPECT_GT(pair.ns->low_ns, 0);
    EXPECT_LE(pair.ns->low_ns, pair.ns->median_ns);
    EXPECT_LE(pair.ns->median_ns, pair.ns->high_ns);
  }
  ASSERT_FALSE(latencies.nodes.empty());
  for (const NodeLatency& node : latencies.nodes) {
    // Where the kernel does not let us choose the node, a note says so.
    if (!node.ns) {
      EXPECT_FALSE(latencies.notes.empty());
      continue;
    }
    EXPECT_GT(node.ns->median_ns, 0);
  }
}

TEST(Latency, OneCpuAloneIsSaid) {
  const Topology topology = *ReadTopology(HostRoot(), {});
  const CpuId one = *CpuSet::Allowed().begin();
  const Latencies latencies = Measured(topology, CpuSet({one}));
  EXPECT_TRUE(latencies.pairs.empty());
  EXPECT_TRUE(latencies.shared.empty());
  EXPECT_THAT(latencies.notes, Contains(HasSubstr("CPU " + std::to_string(one) + " alone")));
}

TEST(Latency, WithoutTimeEveryPairIsMissingAndThatIsSaid) {
  const Topology topology = Generated("512-cpus");
  const Latencies latencies = MeasureLatencies(HostRoot(), topology, {.allowed = topology.machine.cpus}, kQuiet);
  EXPECT_EQ(latencies.pairs.size(), 120u);
  EXPECT_EQ(latencies.nodes.size(), 64u);
  EXPECT_THAT(latencies.notes, Contains(HasSubstr("16 of 512 CPUs")));
  EXPECT_THAT(latencies.notes, Contains(HasSubstr("120 of 120 pairs of CPUs")));
  EXPECT_THAT(latencies.notes, Contains(HasSubstr("64 of 64 pairs of nodes")));
  EXPECT_EQ(latencies.nodes[0].relative, 10u);
  EXPECT_EQ(latencies.nodes[1].relative, 16u);
}

TEST(Latency, StealTimeIsSaid) {
  FakeHost host;
  host.Write("/proc/stat", "cpu 1 2 3 4 5 6 7 8\n");
  Topology topology = *ReadTopology(HostRoot(), {});
  LatencyOptions options{.allowed = CpuSet({*CpuSet::Allowed().begin()}), .node_budget_ns = 1'000'000'000};
  const Progress steal = [&](size_t, size_t) { host.Write("/proc/stat", "cpu 1 2 3 4 5 6 7 20\n"); };
  EXPECT_THAT(MeasureLatencies(host.Root(), topology, options, steal).notes, Contains(HasSubstr("12 ticks of steal")));
}

TEST(MemoryChase, OfANodeThatIsNotThere) {
  const auto chase = MemoryChase::Make(1023);
  ASSERT_FALSE(chase.ok());
  EXPECT_THAT(chase.error().message, HasSubstr("node1023"));
  EXPECT_FALSE(MemoryChase::Make(100'000).ok());
}

TEST(PinnedPair, ACpuThatIsNotThereRunsNothing) {
  bool ran = false;
  const CpuId one = *CpuSet::Allowed().begin();
  const Status status = RunPinned(one, [&] { ran = true; }, 1 << 19, [&] { ran = true; });
  EXPECT_FALSE(status.ok());
  EXPECT_FALSE(ran);
  EXPECT_FALSE(RunPinned(1 << 19, [&] { ran = true; }).ok());
  EXPECT_FALSE(ran);
}

TEST(Turns, EndWhenTheTimeIsOver) {
  Turns turns(0);
  EXPECT_FALSE(turns.Await(1));
  turns.Give(2);
  EXPECT_TRUE(turns.Await(2)) << "what is there needs no waiting";
}

}  // namespace
}  // namespace attune::machine
