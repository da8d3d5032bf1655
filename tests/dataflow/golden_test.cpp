// Golden values and counts, on any number of threads and with any schedule.

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "golden.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#endif

namespace attune::flow::test {
namespace {

int64_t InstancesOf(const Report& report, const std::string& kernel) {
  const KernelCost* cost = report.Find(kernel);
  return cost == nullptr ? -1 : cost->instances;
}

void ExpectGolden(const Golden& golden, const Report& report) {
  ASSERT_TRUE(report.ok()) << report.Describe();
  EXPECT_EQ(InstancesOf(report, "init"), 1);
  EXPECT_EQ(InstancesOf(report, "mul2"), 25);
  EXPECT_EQ(InstancesOf(report, "plus5"), 20);
  EXPECT_EQ(InstancesOf(report, "print"), 5);
  ASSERT_EQ(golden.printed_m.size(), 5U);
  EXPECT_EQ(golden.printed_m.at(0), (std::vector<int32_t>{10, 11, 12, 13, 14}));
  EXPECT_EQ(golden.printed_p.at(0), (std::vector<int32_t>{20, 22, 24, 26, 28}));
  EXPECT_EQ(golden.printed_m.at(1), (std::vector<int32_t>{25, 27, 29, 31, 33}));
  EXPECT_EQ(golden.printed_p.at(1), (std::vector<int32_t>{50, 54, 58, 62, 66}));
  EXPECT_EQ(golden.printed_m.at(4), (std::vector<int32_t>{235, 251, 267, 283, 299}));
}

TEST(Golden, ValuesAndCounts) {
  Golden golden;
  golden.Print();
  const Report report = golden.graph.Run({.threads = 2, .until = 4});
  ExpectGolden(golden, report);
}

TEST(Golden, EveryPolicyGivesTheSame) {
  for (const char* policy : {"off", "fixed:1", "fixed:3", "fixed:1000", "fuse:mul2+plus5", "fuse:plus5+mul2",
                             "fixed:2,fuse:mul2+plus5,fuse:plus5+mul2", "guided"}) {
    for (const int threads : {1, 2, 4}) {
      Golden golden;
      golden.Print();
      const Report report = golden.graph.Run({.threads = threads, .until = 4, .scheduler = policy});
      SCOPED_TRACE(std::string(policy) + " " + std::to_string(threads));
      ExpectGolden(golden, report);
    }
  }
}

TEST(Golden, NothingRunsThatNobodyReads) {
  // Without print, no result reaches anybody.
  Golden golden;
  const Report report = golden.graph.Run({.threads = 2, .until = 4});
  ASSERT_TRUE(report.ok()) << report.Describe();
  for (const KernelCost& cost : report.kernels) EXPECT_EQ(cost.instances, 0) << cost.kernel;
}

TEST(Golden, ASeedChangesTheScheduleAndNothingElse) {
  constexpr int kElements = 300;
  constexpr int kUntil = 12;
  std::vector<FieldSum> expected;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    for (const int threads : {1, 2, 4}) {
      Golden golden(kElements);
      golden.Print();
      const char* const policies[] = {"off", "guided", "fixed:7,fuse:mul2+plus5"};
      const Report report = golden.graph.Run(
          {.threads = threads, .until = kUntil, .scheduler = policies[seed % 3], .perturb = seed, .checksum = true});
      ASSERT_TRUE(report.ok()) << report.Describe();
      EXPECT_EQ(InstancesOf(report, "mul2"), int64_t{kElements} * (kUntil + 1));
      EXPECT_EQ(InstancesOf(report, "plus5"), int64_t{kElements} * kUntil);
      ASSERT_EQ(report.fields.size(), 2U);
      if (expected.empty()) expected = report.fields;
      for (size_t f = 0; f < 2; ++f) {
        EXPECT_EQ(report.fields[f].checksum, expected[f].checksum) << "seed " << seed << ", " << threads << " threads";
        EXPECT_EQ(report.fields[f].elements, int64_t{kElements} * (kUntil + 1));
        EXPECT_EQ(report.fields[f].ages, kUntil + 1);
      }
    }
  }
}

TEST(Golden, AChecksumTellsOneElement) {
  const auto sum = [](int different) {
    using namespace vars;
    Graph graph;
    auto values = graph.AddField<int>("values");
    graph.AddKernel("make", Store(values(0)), [different](Out<int, 1>& out) {
      for (int i = 0; i < 1000; ++i) out.put(i == different ? -1 : i, i);
    });
    graph.AddKernel("use", Fetch(values(a)), [](View<int, 1>) {});
    return graph.Run({.threads = 1, .until = 0, .checksum = true}).fields.at(0).checksum;
  };
  EXPECT_EQ(sum(-1), sum(-1));
  EXPECT_NE(sum(-1), sum(500));
  EXPECT_NE(sum(501), sum(500));
}

int64_t ResidentKiB() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stoll(line.substr(6));
  }
  return 0;
}

TEST(Golden, MemoryDoesNotGrowWithTheAges) {
#ifdef SANITIZED
  constexpr int64_t kShort = 1000;
  constexpr int64_t kLong = 10'000;
  const bool real = false;  // sanitizers keep what was freed
#else
  constexpr int64_t kShort = 100'000;
  constexpr int64_t kLong = 1'000'000;
  const bool real = true;
#endif
  int64_t after[2] = {};
  int64_t peak[2] = {};
  for (int i = 0; i < 2; ++i) {
    const int64_t until = i == 0 ? kShort : kLong;
    Golden golden;
    using namespace vars;
    int64_t last = 0;
    golden.graph.AddKernel("last", Fetch(golden.m(a)), kOrdered,
                           [&last](auto& instance, View<int32_t, 1>) mutable { last = instance.Age(); });
    const Report report = golden.graph.Run({.threads = 2, .until = until});
    ASSERT_TRUE(report.ok()) << report.Describe();
    EXPECT_EQ(last, until);
    EXPECT_EQ(InstancesOf(report, "mul2"), 5 * until);
    after[i] = ResidentKiB();
    peak[i] = report.peak_bytes;
    std::printf("%lld ages: fields had %lld bytes at most, %lld KiB resident\n", static_cast<long long>(until),
                static_cast<long long>(peak[i]), static_cast<long long>(after[i]));
  }
  EXPECT_LE(peak[1], peak[0] + (1 << 20));
  if (real) {
    EXPECT_LE(after[1], after[0] + 1024);
  }
}

}  // namespace
}  // namespace attune::flow::test
