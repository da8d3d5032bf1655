// Kernels with code for several capabilities: which one runs, and that results do not depend on it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "attune/flow.h"
#include "dataflow/runtime/implementations.h"

namespace attune::flow::test {
namespace {

using namespace vars;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// A kernel with code for each capability, one for AVX2 and every machine, and one for every machine alone.
struct Several {
  Graph graph;
  Field<int> in = graph.AddField<int>("in");
  Field<int> out = graph.AddField<int>("out");
  std::vector<int> sums;

  Several() {
    graph.AddKernel("make", Store(in(a)), [](Out<int, 1>& values) {
      for (int i = 0; i < 1000; ++i) values.put(i, i);
    });
    const auto square = [](int value) { return value * value + 1; };
    graph.AddKernel("square", Fetch(in(a)[x]), Store(out(a)[x]), For<Capability::kAvx2>(square),
                    For<Capability::kAvx512>(square), square);
    graph.AddKernel("sum", Fetch(out(a)), kOrdered, For<Capability::kAvx2>([this](View<int, 1> values) mutable {
                      int sum = 0;
                      for (const int value : values) sum += value;
                      sums.push_back(sum);
                    }),
                    [this](View<int, 1> values) mutable {
                      int sum = 0;
                      for (const int value : values) sum += value;
                      sums.push_back(sum);
                    });
  }
};

TEST(Implementations, EachCapabilityHasItsRow) {
  for (const CapabilityInfo& each : kCapabilities) {
    EXPECT_EQ(CapabilityName(each.capability), each.name);
    ASSERT_NE(FindCapability(each.name), nullptr);
    EXPECT_EQ(FindCapability(each.name)->capability, each.capability);
  }
  EXPECT_EQ(FindCapability("avx3"), nullptr);
  EXPECT_TRUE(HasCapability(Capability::kCpu));
}

#if defined(__x86_64__)
std::vector<std::string> ChosenFor(const Graph& graph, const std::string& wanted, bool (*has)(Capability),
                                   std::string* problem = nullptr) {
  std::vector<detail::Chosen> chosen;
  const std::optional<Error> error = detail::ChooseImplementations(graph.info(), wanted, has, &chosen);
  if (problem != nullptr) *problem = error ? error->what : "";
  std::vector<std::string> names;
  for (const detail::Chosen& each : chosen) {
    EXPECT_NE(each.run, nullptr);
    EXPECT_NE(each.body, nullptr);
    names.emplace_back(CapabilityName(each.capability));
  }
  return names;
}

bool HasAll(Capability) { return true; }
bool HasAvx2(Capability capability) { return capability != Capability::kAvx512; }
bool HasNothing(Capability capability) { return capability == Capability::kCpu; }

TEST(Implementations, TheMostCapableOneThatTheMachineCanRun) {
  const Several it;
  EXPECT_THAT(ChosenFor(it.graph, "", HasAll), ElementsAre("cpu", "avx512", "avx2"));
  EXPECT_THAT(ChosenFor(it.graph, "", HasAvx2), ElementsAre("cpu", "avx2", "avx2"));
  EXPECT_THAT(ChosenFor(it.graph, "", HasNothing), ElementsAre("cpu", "cpu", "cpu"));
}

TEST(Implementations, TheOneThatIsAskedFor) {
  const Several it;
  EXPECT_THAT(ChosenFor(it.graph, "cpu", HasAll), ElementsAre("cpu", "cpu", "cpu"));
  EXPECT_THAT(ChosenFor(it.graph, "avx2", HasAll), ElementsAre("cpu", "avx2", "avx2"));
  EXPECT_THAT(ChosenFor(it.graph, "avx512", HasAll), ElementsAre("cpu", "avx512", "cpu"));
}

TEST(Implementations, WhatCannotBeIsAnErrorThatNamesWhatThereIs) {
  const Several it;
  std::string problem;
  EXPECT_THAT(ChosenFor(it.graph, "avx512", HasAvx2, &problem), ElementsAre("cpu", "cpu", "cpu"));
  EXPECT_EQ(problem, "this machine has no avx512: it has cpu and avx2");
  ChosenFor(it.graph, "avx2", HasNothing, &problem);
  EXPECT_EQ(problem, "this machine has no avx2: it has cpu");
  ChosenFor(it.graph, "sse9", HasAll, &problem);
  EXPECT_EQ(problem, "there is no implementation 'sse9': it is one of cpu, avx2 and avx512");
  Graph plain;
  plain.AddKernel("k", [] {});
  ChosenFor(plain, "avx2", HasAll, &problem);
  EXPECT_EQ(problem, "no kernel has code for avx2: there is code for cpu");
}

TEST(Implementations, ResultsAndReportOfEach) {
  std::vector<std::string> can = {"", "cpu"};
  if (HasCapability(Capability::kAvx2)) can.emplace_back("avx2");
  if (HasCapability(Capability::kAvx512)) can.emplace_back("avx512");
  std::set<uint64_t> checksums;
  for (const std::string& implementation : can) {
    Several it;
    const Report report = it.graph.Run({.threads = 2, .until = 3, .checksum = true, .implementation = implementation});
    ASSERT_TRUE(report.ok()) << report.Describe();
    checksums.insert(report.fields[1].checksum);
    EXPECT_THAT(it.sums, ElementsAre(332834500, 332834500, 332834500, 332834500));
    EXPECT_EQ(report.Find("make")->implementation, "") << "there is only one";
    if (!implementation.empty()) {
      EXPECT_EQ(report.Find("square")->implementation, implementation);
    }
    EXPECT_THAT(report.Table(), HasSubstr("code"));
  }
  EXPECT_EQ(checksums.size(), 1U);
}
#endif

TEST(Implementations, ARunThatCannotHaveItFails) {
  Several it;
  const Report report = it.graph.Run({.threads = 1, .until = 0, .implementation = "none"});
  EXPECT_EQ(report.outcome, Outcome::kFailed);
  EXPECT_EQ(report.error.kind, ErrorKind::kOptions);
  EXPECT_THAT(report.error.what, HasSubstr("there is no implementation 'none'"));
}

TEST(Implementations, TheTableHasNoColumnWithoutThem) {
  Graph graph;
  graph.AddKernel("k", [] {});
  EXPECT_THAT(graph.Run({.threads = 1}).Table(), Not(HasSubstr("code")));
}

}  // namespace
}  // namespace attune::flow::test
