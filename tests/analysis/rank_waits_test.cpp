#include "analysis/messages/rank_waits.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/messages/message_facts.h"
#include "analysis/waits/critical_path.h"
#include "message_source.h"

namespace attune::analysis::rank_waits_test {
namespace {

constexpr int64_t kMs = JobSource::kMs;

CriticalPath PathOf(JobSource& job) {
  const SiteNames names(job.meta, {});
  MessageFactsOperator messages(names);
  Operator* const only[] = {&messages};
  EXPECT_TRUE(FeedRows(job, only).ok());
  const auto facts = messages.Finish(job, job.meta);
  EXPECT_TRUE(facts.ok());
  return facts->graph.critical_path;
}

int64_t OnPath(const CriticalPath& path, model::ElementId rank) {
  const auto found = std::ranges::find(path.threads, rank, &PathThread::thread);
  return found == path.threads.end() ? 0 : found->ns;
}

TEST(RankWaits, ThePathGoesToTheRankThatWasLate) {
  JobSource job(2);
  const model::ElementId site = job.Site("exchange", 5);
  // Rank 1 waits from 1 s on for what rank 0 sends at 4 s.
  job.Send(0, 1, {site, 4000, 4010}, {site, 1000, 4020});
  const CriticalPath path = PathOf(job);
  ASSERT_NE(path.process, 0u);
  EXPECT_EQ(path.length_ns, JobSource::kLifeNs);
  EXPECT_EQ(OnPath(path, job.rank[0]), 4000 * kMs);
  EXPECT_EQ(OnPath(path, job.rank[1]), (10'000 - 4020) * kMs);
  EXPECT_EQ(path.handing_over_ns, 20 * kMs);
  ASSERT_EQ(path.objects.size(), 1u);
  EXPECT_EQ(path.objects[0].name, "rank 0");
  ASSERT_EQ(path.what_ifs.size(), 1u);
  // Rank 0 itself lives as long: nothing is saved.
  EXPECT_EQ(path.what_ifs[0].saved_ns, 0);
}

TEST(RankWaits, WhatIsSavedIsWhatNobodyElseNeeds) {
  JobSource job(2);
  const model::ElementId site = job.Site("exchange", 5);
  job.Send(0, 1, {site, 4000, 4000}, {site, 1000, 4000});
  job.meta.processes[0].end_ns = 5000 * kMs;
  const CriticalPath path = PathOf(job);
  ASSERT_EQ(path.what_ifs.size(), 1u);
  EXPECT_EQ(path.what_ifs[0].saved_ns, 3000 * kMs);
}

TEST(RankWaits, AtACollectiveOperationTheLastToComeCounts) {
  JobSource job(3);
  const model::ElementId site = job.Site("meet", 9);
  const model::ElementId barrier = job.Function("MPI_Barrier");
  job.Meet(barrier, 1, 0, {site, 1000, 3000});
  job.Meet(barrier, 1, 1, {site, 3000, 3000});
  job.Meet(barrier, 1, 2, {site, 2000, 3000});
  const CriticalPath path = PathOf(job);
  EXPECT_EQ(OnPath(path, job.rank[1]), 3000 * kMs + (path.threads.size() == 1 ? 7000 * kMs : 0));
  ASSERT_FALSE(path.what_ifs.empty());
  EXPECT_EQ(path.what_ifs[0].name, "rank 1");
}

TEST(RankWaits, OfOneCallTheLatestMessageCounts) {
  JobSource job(3);
  const model::ElementId site = job.Site("exchange", 5);
  // Both are complete in one call, which began at 1 s.
  job.Send(0, 2, {site, 2000, 2000}, {site, 1000, 5000});
  job.Send(1, 2, {site, 4900, 4900}, {site, 1000, 5000}, 1000, 1);
  const CriticalPath path = PathOf(job);
  EXPECT_EQ(OnPath(path, job.rank[1]), 4900 * kMs);
  EXPECT_EQ(OnPath(path, job.rank[0]), 0);
  EXPECT_EQ(path.handing_over_ns, 100 * kMs);
}

TEST(RankWaits, TimesOfAnySizeAreTaken) {
  JobSource job(2);
  const model::ElementId site = job.Site("exchange", 5);
  job.Send(0, 1, {site, 4000, 4010}, {site, 1000, 4020});
  for (const int64_t t_ns : {INT64_MIN + 1, INT64_MAX}) {
    model::Message strange = job.messages[1];
    strange.t_ns = t_ns;
    job.messages.push_back(strange);
    strange = job.messages[0];
    strange.post_ns = t_ns;
    job.messages.push_back(strange);
  }
  PathOf(job);
}

}  // namespace
}  // namespace attune::analysis::rank_waits_test
