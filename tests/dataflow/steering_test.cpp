// Runs that make room for others, by what the machine's alarms say.

#include "dataflow/runtime/steering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dataflow/runtime/workers.h"

namespace attune::flow::detail::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

struct Told final : Steered {
  void SetThreads(int threads) override { wanted = threads; }
  int WantedThreads() const override { return wanted; }
  void LimitThreads(int limit) override { most = limit; }
  void SetGrain(int64_t given) override { grain = given; }
  void SetAhead(int64_t ages) override { ahead = ages; }
  void Note(std::string change, std::string reason) override { notes.push_back(change + ": " + reason); }

  int wanted = 8;
  int most = Workers::kMost;
  int64_t grain = 0;
  int64_t ahead = 16;
  std::vector<std::string> notes;
};

TEST(Steering, LeavesTheirCpusToOthersDownToHalf) {
  Told run;
  Steering steering(&run, {8, 0, 16}, true, 8);
  steering.Follow({});
  EXPECT_THAT(run.notes, IsEmpty());
  steering.Follow({.others_cpus = 2});
  EXPECT_EQ(run.most, 6);
  steering.Follow({.others_cpus = 2});
  steering.Follow({.others_cpus = 7});
  EXPECT_EQ(run.most, 4);
  steering.Follow({});
  EXPECT_EQ(run.most, Workers::kMost);
  EXPECT_THAT(run.notes, ElementsAre("threads 8 -> 6: other programs have 2 of 8 CPUs",
                                     "threads 6 -> 4: other programs have 7 of 8 CPUs",
                                     StartsWith("threads 4 -> 8: other programs have no CPUs")));
}

TEST(Steering, NothingIsTakenFromARunThatHasFewThreads) {
  Told run;
  run.wanted = 2;
  Steering steering(&run, {2, 0, 16}, true, 8);
  steering.Follow({.others_cpus = 6});
  EXPECT_THAT(run.notes, IsEmpty());
  run.wanted = 1;
  steering.Follow({.heat = true, .others_cpus = 200});
  EXPECT_EQ(run.most, 1);
  EXPECT_THAT(run.notes, IsEmpty());
}

TEST(Steering, HeatTakesHalfOfTheThreads) {
  Told run;
  Steering steering(&run, {8, 0, 16}, true, 8);
  steering.Follow({.heat = true});
  EXPECT_EQ(run.most, 4);
  EXPECT_THAT(run.notes, ElementsAre("threads 8 -> 4: an alarm of heat is raised"));
}

TEST(Steering, ShortMemoryLeavesOneAge) {
  Told run;
  Steering steering(&run, {8, 0, 16}, true, 8);
  steering.Follow({.memory = true});
  EXPECT_EQ(run.ahead, 1);
  EXPECT_EQ(run.most, Workers::kMost);
  steering.Follow({});
  EXPECT_EQ(run.ahead, 16);
  EXPECT_THAT(run.notes, ElementsAre("ages ahead 16 -> 1: an alarm of memory is raised",
                                     "ages ahead 1 -> 16: no alarm of memory is raised any more"));
}

}  // namespace
}  // namespace attune::flow::detail::test
