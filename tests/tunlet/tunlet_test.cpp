// Decisions of the tunlets on synthetic observations.

#include "tunlet/tunlet.h"

#include <gmock/gmock.h>

#include "analysis/findings/finding_class_names.h"
#include "model/knob_file.h"

namespace attune::tunlet {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kSecond = 1'000'000'000;

/// Ten seconds of a program on two CPUs.
Observation Seen(std::string finding, const std::map<std::string, std::vector<std::string>>& values,
                 size_t processes = 1) {
  static const std::vector<model::Knob> catalog = *model::AllKnobs();
  std::map<std::string, SeenKnob> knobs;
  for (const auto& [name, of_knob] : values) knobs[name] = {of_knob, (*model::FindKnob(catalog, name))->answers};
  return {.cpus = 2,
          .cpu_list = "0-1",
          .processes = processes,
          .wall_ns = 10 * kSecond,
          .findings = {{.id = finding + "-1", .finding_class = finding, .gain_ns = 5 * kSecond}},
          .knobs = std::move(knobs)};
}

std::vector<Proposal> Of(std::string_view tunlet, const Observation& seen) {
  for (const auto& make : AllTunlets()) {
    if (make()->Name() == tunlet) return make()->Propose(seen);
  }
  ADD_FAILURE() << "there is no tunlet " << tunlet;
  return {};
}

TEST(Tunlets, ProposeKnobsThatThereAreForFindingsThatThereAre) {
  const auto knobs = model::AllKnobs();
  ASSERT_TRUE(knobs.ok());
  const auto names = analysis::FindingClassNames();
  const std::vector<std::string_view> classes(names.begin(), names.end());
  for (const model::Knob& knob : *knobs) {
    for (const std::string& answer : knob.answers) EXPECT_THAT(classes, Contains(answer)) << knob.name;
  }
}

TEST(Tunlets, SayNothingWithoutAFinding) {
  Observation seen = Seen("",
                          {{"openmp.team", {"0"}},
                           {"mpi.yield", {"off"}},
                           {"openblas.threads", {"2"}},
                           {"cpu.affinity", {"0"}},
                           {"pipe.size", {"4096"}},
                           {"malloc.keep", {"default"}}},
                          8);
  seen.findings.clear();
  seen.widest_team = 8;
  for (const auto& make : AllTunlets()) EXPECT_THAT(make()->Propose(seen), IsEmpty()) << make()->Name();
}

TEST(Tunlets, TeamIsAsWideAsTheCpus) {
  Observation seen = Seen("oversubscription", {{"openmp.team", {"0"}}});
  seen.widest_team = 8;
  const auto proposals = Of("team", seen);
  ASSERT_THAT(proposals, SizeIs(2));
  EXPECT_EQ(proposals[0].value, "2");
  EXPECT_DOUBLE_EQ(proposals[0].expected_gain, 1.0);
  EXPECT_EQ(proposals[1].value, "1");
  seen.knobs["openmp.team"].values = {"2"};
  EXPECT_EQ(Of("team", seen).front().value, "1");
  seen.knobs["openmp.team"].values = {"1"};
  EXPECT_THAT(Of("team", seen), IsEmpty());
  seen.widest_team = 0;
  EXPECT_THAT(Of("team", seen), IsEmpty());
}

TEST(Tunlets, BlasComputesAlone) {
  EXPECT_EQ(Of("blas", Seen("busy-wait", {{"openblas.threads", {"2"}}})).front().value, "1");
  EXPECT_THAT(Of("blas", Seen("busy-wait", {{"openblas.threads", {"1"}}})), IsEmpty());
  EXPECT_THAT(Of("blas", Seen("page-faults", {{"openblas.threads", {"2"}}})), IsEmpty());
}

TEST(Tunlets, RanksYieldWhereThereAreTooMany) {
  EXPECT_EQ(Of("mpi", Seen("late-sender", {{"mpi.yield", {"off"}}}, 8)).front().value, "on");
  EXPECT_THAT(Of("mpi", Seen("late-sender", {{"mpi.yield", {"on"}}}, 8)), IsEmpty());
  EXPECT_THAT(Of("mpi", Seen("late-sender", {{"mpi.yield", {"off"}}}, 2)), IsEmpty());
}

TEST(Tunlets, NarrowThreadsMayUseAllCpus) {
  EXPECT_EQ(Of("placement", Seen("narrow-affinity", {{"cpu.affinity", {"0-1", "1"}}})).front().value, "0-1");
  EXPECT_THAT(Of("placement", Seen("narrow-affinity", {{"cpu.affinity", {"0-1"}}})), IsEmpty());
}

TEST(Tunlets, SmallBuffersGrow) {
  const auto proposals = Of("channels", Seen("slow-peer", {{"pipe.size", {"65536"}},
                                                           {"socket.send-buffer", {"automatic 87040", "8192"}},
                                                           {"socket.receive-buffer", {"automatic 131072"}}}));
  ASSERT_THAT(proposals, SizeIs(2));
  EXPECT_EQ(proposals[0].knob, "socket.send-buffer");
  EXPECT_EQ(proposals[1].knob, "pipe.size");
}

TEST(Tunlets, ChannelsSendSmallPiecesAtOnceThatWaitForAcknowledgements) {
  const auto proposals = Of("channels", Seen("delayed-ack", {{"socket.no-delay", {"off", "on"}}}));
  ASSERT_THAT(proposals, SizeIs(1));
  EXPECT_EQ(proposals[0].value, "on");
  EXPECT_THAT(Of("channels", Seen("delayed-ack", {{"socket.no-delay", {"on"}}})), IsEmpty());
  EXPECT_THAT(Of("channels", Seen("slow-peer", {{"socket.no-delay", {"off"}}})), IsEmpty());
}

TEST(Tunlets, FreedMemoryStays) {
  EXPECT_EQ(Of("malloc", Seen("page-faults", {{"malloc.keep", {"default"}}})).front().value, "268435456");
  EXPECT_THAT(Of("malloc", Seen("page-faults", {{"malloc.keep", {"268435456"}}})), IsEmpty());
}

TEST(Tunlets, LoopsAreSharedOutWhereThreadsWaitForEachOther) {
  Observation seen = Seen("load-imbalance", {{"openmp.schedule", {"program"}}, {"openmp.chunk", {"0"}}});
  EXPECT_THAT(Of("loops", seen), IsEmpty()) << "no loop that could be shared out otherwise";
  seen.has_runtime_loops = true;
  auto proposals = Of("loops", seen);
  ASSERT_THAT(proposals, SizeIs(2));
  EXPECT_EQ(proposals[0].knob, "openmp.schedule");
  EXPECT_EQ(proposals[0].value, "dynamic");
  EXPECT_DOUBLE_EQ(proposals[0].expected_gain, 1);
  EXPECT_EQ(proposals[1].value, "guided");
  EXPECT_LT(proposals[1].expected_gain, proposals[0].expected_gain);
  seen.has_runtime_loops = false;
  seen.has_dynamic_loops = true;
  proposals = Of("loops", seen);
  ASSERT_THAT(proposals, SizeIs(1));
  EXPECT_EQ(proposals[0].knob, "openmp.chunk");
  seen.knobs["openmp.chunk"].values = {"1"};
  EXPECT_THAT(Of("loops", seen), IsEmpty());
}

TEST(Tunlets, ThreadsOfLlvmSleepAtOnceWhereTheyAreInTheWay) {
  Observation seen = Seen("oversubscription", {{"openmp.llvm-blocktime", {"200"}}});
  ASSERT_THAT(Of("spin", seen), SizeIs(1));
  EXPECT_EQ(Of("spin", seen).front().value, "0");
  seen.knobs["openmp.llvm-blocktime"].values = {"0"};
  EXPECT_THAT(Of("spin", seen), IsEmpty());
}

}  // namespace
}  // namespace attune::tunlet
