// What costs time in memory, from samples that were written down here, and where nothing is claimed.

#include <gmock/gmock.h>

#include "analysis/findings/finding.h"
#include "analysis/findings/judgement.h"
#include "analysis/profile/memory_use.h"
#include "fake_source.h"

namespace attune::analysis::finding_memory_test {
namespace {

using model::Access;
using model::AccessKind;
using model::ElementId;
using model::ElementKind;
using testing::DoubleNear;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kPeriodNs = 4 * kMs;
constexpr int64_t kLine = 0x10000;

/// Two threads that compute for a second, each on a CPU of its own.
struct Program : FakeSource {
  Program() {
    extent = {0, 1000 * kMs};
    process = AddElement(ElementKind::kProcess, "solver", 0, 100);
    meta.processes.push_back({.id = process, .pid = 100, .start_ns = 0, .end_ns = 1000 * kMs});
    for (int i = 0; i < 2; ++i) {
      thread.push_back(AddElement(ElementKind::kThread, "worker", process, 100 + i));
      meta.elements.back().start_ns = 0;
      meta.elements.back().end_ns = 1000 * kMs;
      for (int64_t t_ns = 0; t_ns < 1000 * kMs; t_ns += kPeriodNs)
        cpu_samples.push_back({t_ns, thread.back(), i, 0, 0, kPeriodNs});
    }
    count = Site("count", 10);
    other = Site("other", 20);
  }
  ElementId Site(const std::string& function, int64_t line) {
    const ElementId id = AddElement(ElementKind::kSite, "solver+" + function, process);
    meta.sites.push_back({.id = id, .line = line, .function = function, .file = "solver.c", .module = "/bin/solver"});
    return id;
  }
  /// So many samples of a thread, one every period from a time on.
  void Use(size_t who, int64_t address, int64_t times, AccessKind kind = AccessKind::kUpdate, ElementId site = 0,
           int64_t from_ms = 0, int64_t cpu = -1) {
    for (int64_t i = 0; i < times; ++i) {
      accesses.push_back({.t_ns = from_ms * kMs + i * kPeriodNs,
                          .thread = thread[who],
                          .cpu = cpu < 0 ? static_cast<int64_t>(who) : cpu,
                          .site = site == 0 ? count : site,
                          .kind = kind,
                          .address = address,
                          .bytes = 8,
                          .weight_ns = kPeriodNs});
    }
  }
  std::vector<Finding> Findings() {
    auto judged = JudgeProgram(*this);
    EXPECT_TRUE(judged.ok());
    return std::move(judged->findings);
  }

  ElementId process, count, other;
  std::vector<ElementId> thread;
};

TEST(FalseSharing, TwoCountersInALine) {
  Program program;
  program.Use(0, kLine, 200);
  program.Use(1, kLine + 8, 100);
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  const Finding& finding = findings[0];
  EXPECT_EQ(finding.kind, FindingClass::kFalseSharing);
  EXPECT_EQ(finding.lost_ns, 300 * kPeriodNs);
  EXPECT_THAT(finding.share, DoubleNear(0.6, 1e-9));
  EXPECT_EQ(finding.site.function, "count");
  EXPECT_EQ(finding.object_name, "cache line 0x10000");
  EXPECT_EQ(finding.thread_count, 2);
  EXPECT_EQ(finding.threads[0].tid, 100);
  EXPECT_THAT(finding.evidence[0], HasSubstr("bytes 0-7 by thread 100 (worker), bytes 8-15 by thread 101"));
  EXPECT_THAT(finding.figures.at("part_of_cpu_time"), DoubleNear(0.6, 1e-9));
}

TEST(FalseSharing, AReaderBesideAWriter) {
  Program program;
  program.Use(0, kLine, 100, AccessKind::kWrite);
  program.Use(1, kLine + 32, 100, AccessKind::kRead, program.other);
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].site.function, "count") << "who writes takes the line away";
  EXPECT_THAT(findings[0].places, SizeIs(2));
}

TEST(FalseSharing, LinesThatAreWrittenAtOnePlaceAreOneFinding) {
  Program program;
  for (int64_t line = 0; line < 3; ++line) {
    program.Use(0, kLine + line * kCacheLineBytes, 50);
    program.Use(1, kLine + line * kCacheLineBytes + 8, 50);
  }
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].object_name, "3 cache lines from 0x10000");
  EXPECT_EQ(findings[0].lost_ns, 300 * kPeriodNs);
}

TEST(FalseSharing, IsNotSaidOfLinesOfTheirOwn) {
  Program program;
  program.Use(0, kLine, 200);
  program.Use(1, kLine + kCacheLineBytes, 200);
  EXPECT_THAT(program.Findings(), IsEmpty());
}

TEST(FalseSharing, IsNotSaidOfWhatIsReallyShared) {
  Program program;
  program.Use(0, kLine, 200);
  program.Use(1, kLine, 200);
  EXPECT_THAT(program.Findings(), IsEmpty());
  // Nor where other bytes of that line are used besides.
  program.Use(1, kLine + 8, 50);
  EXPECT_THAT(program.Findings(), IsEmpty());
}

TEST(FalseSharing, IsNotSaidOfReaders) {
  Program program;
  program.Use(0, kLine, 200, AccessKind::kRead);
  program.Use(1, kLine + 8, 200, AccessKind::kRead);
  EXPECT_THAT(program.Findings(), IsEmpty());
}

TEST(FalseSharing, IsNotSaidOfOneAfterTheOther) {
  Program program;
  program.Use(0, kLine, 100, AccessKind::kUpdate, 0, 0);
  program.Use(1, kLine + 8, 100, AccessKind::kUpdate, 0, 500);
  EXPECT_THAT(program.Findings(), IsEmpty());
}

TEST(FalseSharing, IsNotSaidOnOneCpu) {
  Program program;
  program.Use(0, kLine, 200, AccessKind::kUpdate, 0, 0, 1);
  program.Use(1, kLine + 8, 200, AccessKind::kUpdate, 0, 0, 1);
  EXPECT_THAT(program.Findings(), IsEmpty());
}

TEST(FalseSharing, IsNotSaidOfAFewSamples) {
  Program program;
  program.Use(0, kLine, 200);
  program.Use(1, kLine + 8, 4);
  EXPECT_THAT(program.Findings(), IsEmpty());
}

TEST(FalseSharing, AnAccessOverALinesEndIsInBoth) {
  Program program;
  program.Use(0, kLine + 60, 200);
  program.Use(1, kLine + kCacheLineBytes + 8, 200);
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].object_name, "cache line 0x10040");
}

TEST(FalseSharing, TheLastLineOfAllHasAnEnd) {
  Program program;
  program.Use(0, -21, 100);
  program.Use(1, -9, 100);
  program.Use(1, -4, 100);  // goes on at address 0, as a file may say
  EXPECT_THAT(program.Findings(), SizeIs(1));
}

TEST(RemoteMemory, TheCauseIsWhoTouchedItFirst) {
  Program program;
  const ElementId fill = program.Site("fill", 5);
  for (int64_t page = 0; page < 10; ++page) {
    program.accesses.push_back({.t_ns = page,
                                .thread = program.thread[0],
                                .site = fill,
                                .kind = AccessKind::kFirstTouch,
                                .address = kLine + page * 4096,
                                .bytes = 4096,
                                .page_node = 0,
                                .cpu_node = 0});
  }
  program.Use(1, kLine, 100, AccessKind::kRead);
  for (auto& access : program.accesses) {
    access.page_node = 0;
    access.cpu_node = access.kind == AccessKind::kFirstTouch ? 0 : 1;
  }
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  const Finding& finding = findings[0];
  EXPECT_EQ(finding.kind, FindingClass::kRemoteMemory);
  EXPECT_EQ(finding.lost_ns, 100 * kPeriodNs);
  EXPECT_EQ(finding.site.function, "fill");
  ASSERT_THAT(finding.caused_by, SizeIs(1));
  EXPECT_EQ(finding.caused_by[0].tid, 100);
  ASSERT_THAT(finding.places, SizeIs(1));
  EXPECT_EQ(finding.places[0].function, "count");
  EXPECT_THAT(finding.evidence[0], HasSubstr("1 thread spent 40 % of its CPU time at memory of other nodes"));
}

TEST(RemoteMemory, WithoutFirstTouchesItIsWhereItIsUsed) {
  Program program;
  program.Use(1, kLine, 100, AccessKind::kRead);
  for (auto& access : program.accesses) {
    access.page_node = 0;
    access.cpu_node = 1;
  }
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].site.function, "count");
  EXPECT_EQ(findings[0].confidence, Confidence::kLow);
}

TEST(RemoteMemory, IsNotSaidOfTheOwnNode) {
  Program program;
  program.Use(1, kLine, 200, AccessKind::kRead);
  for (auto& access : program.accesses) access.page_node = access.cpu_node = 1;
  EXPECT_THAT(program.Findings(), IsEmpty());
}

}  // namespace
}  // namespace attune::analysis::finding_memory_test
