#include "analysis/messages/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "message_source.h"

namespace attune::analysis::placement_test {
namespace {

using model::ElementKind;
using testing::HasSubstr;

/// Four ranks, on CPUs 0 to 3: two of each node.
struct TwoNodes : JobSource {
  TwoNodes() : JobSource(4) {
    for (int64_t node = 0; node < 2; ++node) {
      nodes.push_back(AddElement(ElementKind::kNode, "node" + std::to_string(node), machine, node));
      for (int64_t cpu = 2 * node; cpu < 2 * node + 2; ++cpu)
        AddElement(ElementKind::kCpu, "cpu" + std::to_string(cpu), nodes.back(), cpu);
    }
    site = Site("exchange", 5);
  }
  void Exchange(size_t a, size_t b, int64_t bytes) {
    const int64_t at_ms = 100 * static_cast<int64_t>(messages.size() + 1);
    Send(a, b, {site, at_ms, at_ms + 10}, {site, at_ms, at_ms + 20}, bytes);
  }
  PlacementPlan Plan() {
    const auto graph = BuildTaskGraph(*this);
    return PlanPlacement(meta, *graph);
  }
  std::vector<model::ElementId> nodes;
  model::ElementId site = 0;
};

TEST(Placement, PutsThoseTogetherThatSendEachOtherMost) {
  TwoNodes job;
  job.Exchange(0, 2, 1000);
  job.Exchange(3, 1, 900);
  job.Exchange(0, 1, 10);
  const PlacementPlan plan = job.Plan();
  EXPECT_TRUE(plan.IsBetter());
  EXPECT_EQ(plan.far_bytes, 1900);
  EXPECT_EQ(plan.far_bytes_then, 10);
  ASSERT_EQ(plan.ranks.size(), 4u);
  EXPECT_EQ(plan.ranks[0].group_then, plan.ranks[2].group_then);
  EXPECT_EQ(plan.ranks[1].group_then, plan.ranks[3].group_then);
  // Each CPU is somebody's.
  std::vector<int64_t> cpus;
  for (const RankPlace& rank : plan.ranks) cpus.push_back(rank.then.cpu);
  EXPECT_THAT(cpus, testing::UnorderedElementsAre(0, 1, 2, 3));
  // Two CPUs of a node are 2 apart, of two nodes 4.
  EXPECT_DOUBLE_EQ(plan.bytes_by_distance, 1900 * 4 + 10 * 2);
  EXPECT_DOUBLE_EQ(plan.bytes_by_distance_then, 1900 * 2 + 10 * 4);
}

TEST(Placement, TheRankFileHasAllRanks) {
  TwoNodes job;
  job.Exchange(0, 2, 1000);
  job.Exchange(1, 3, 1000);
  const std::string text = ToRankFile(job.Plan());
  EXPECT_THAT(text, HasSubstr("--rankfile FILE -n 4 PROGRAM"));
  EXPECT_THAT(text, HasSubstr("-bind-to user:"));
  EXPECT_THAT(text, HasSubstr("# 0 bytes between groups instead of 2000"));
  for (const char* line : {"\nrank 0=host slot=", "\nrank 1=host slot=", "\nrank 2=host slot=", "\nrank 3=host slot="})
    EXPECT_THAT(text, HasSubstr(line));
}

TEST(Placement, WhatIsGoodStays) {
  TwoNodes job;
  job.Exchange(0, 1, 1000);
  job.Exchange(2, 3, 1000);
  const PlacementPlan plan = job.Plan();
  EXPECT_FALSE(plan.IsBetter());
  for (const RankPlace& rank : plan.ranks) EXPECT_EQ(rank.now, rank.then);
  EXPECT_THAT(ToRankFile(plan), HasSubstr("no better placement was found"));
}

TEST(Placement, OnOneNodeThereIsNothingToChoose) {
  JobSource job(2);
  job.AddElement(ElementKind::kCpu, "cpu0", job.machine, 0);
  job.AddElement(ElementKind::kCpu, "cpu1", job.machine, 1);
  const model::ElementId site = job.Site("exchange", 5);
  job.Send(0, 1, {site, 1, 2}, {site, 1, 3});
  EXPECT_TRUE(PlanPlacement(job.meta, *BuildTaskGraph(job)).ranks.empty());
}

TEST(Placement, HostsAreGroupsWhereThereAreSeveral) {
  JobSource job(4);
  const model::ElementId other = job.AddElement(ElementKind::kMachine, "other");
  job.AddElement(ElementKind::kCpu, "cpu0", job.machine, 0);
  job.meta.elements.back().host = "host";
  job.AddElement(ElementKind::kCpu, "cpu0", other, 0);
  job.meta.elements.back().host = "other";
  for (const size_t i : {1u, 3u}) {
    for (model::Element& element : job.meta.elements) {
      if (element.id == job.rank[i]) element.host = "other";
    }
  }
  const model::ElementId site = job.Site("exchange", 5);
  for (const auto& [a, b] : {std::pair<size_t, size_t>{0, 1}, {2, 3}})
    job.Send(a, b, {site, 100, 110}, {site, 100, 120}, 5000);
  for (model::Message& row : job.messages) row.cpu = 0;
  const PlacementPlan plan = PlanPlacement(job.meta, *BuildTaskGraph(job));
  ASSERT_EQ(plan.ranks.size(), 4u);
  EXPECT_EQ(plan.far_bytes, 10'000);
  EXPECT_EQ(plan.far_bytes_then, 0);
  EXPECT_EQ(plan.ranks[0].then.host, plan.ranks[1].then.host);
  EXPECT_DOUBLE_EQ(plan.bytes_by_distance, 10'000 * 5);
  EXPECT_DOUBLE_EQ(plan.bytes_by_distance_then, 0);
}

}  // namespace
}  // namespace attune::analysis::placement_test
