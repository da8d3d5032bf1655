// Functions by CPU time, from samples that were written down here.

#include "analysis/profile/cpu_profile.h"

#include <gmock/gmock.h>

#include "fake_source.h"

namespace attune::analysis::cpu_profile_test {
namespace {

using model::ElementId;
using model::ElementKind;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

struct Program : FakeSource {
  Program() {
    process = AddElement(ElementKind::kProcess, "solver", 0, 100);
    thread = AddElement(ElementKind::kThread, "worker", process, 100);
  }
  ElementId Site(const std::string& function, int64_t line) {
    const ElementId id = AddElement(ElementKind::kSite, "solver+" + std::to_string(line), process);
    if (!function.empty())
      meta.sites.push_back({.id = id, .line = line, .function = function, .file = "a.c", .module = "/bin/solver"});
    return id;
  }
  void Sample(int64_t stack, int64_t ns) {
    cpu_samples.push_back({1, thread, 0, stack_rows[static_cast<size_t>(stack - 1)].site, stack, ns});
  }
  CpuProfile Profile() {
    const auto read = ReadCpuSamples(*this);
    EXPECT_TRUE(read.ok());
    return SummariseCpu(*read, SiteNames(meta, {}));
  }

  ElementId process, thread;
};

TEST(CpuProfile, OfNoSamplesIsEmpty) {
  Program program;
  const CpuProfile profile = program.Profile();
  EXPECT_EQ(profile.sampled_ns, 0);
  EXPECT_THAT(profile.functions, IsEmpty());
}

TEST(CpuProfile, SelfIsOfTheFunctionAndTotalOfItsCalleesToo) {
  Program program;
  program.stack_rows = {{1, 0, program.Site("main", 1)},
                        {2, 1, program.Site("solve", 10)},
                        {3, 1, program.Site("solve", 20)},
                        {4, 2, program.Site("", 30)}};
  program.Sample(2, 100);
  program.Sample(3, 300);
  program.Sample(4, 200);
  const CpuProfile profile = program.Profile();
  EXPECT_EQ(profile.sampled_ns, 600);
  ASSERT_THAT(profile.functions, SizeIs(2)) << "nothing was in main itself";
  EXPECT_EQ(profile.functions[0].place.function, "solve");
  EXPECT_EQ(profile.functions[0].place.line, 20) << "the place with most of it";
  EXPECT_EQ(profile.functions[0].self_ns, 400);
  EXPECT_EQ(profile.functions[0].total_ns, 600);
  EXPECT_DOUBLE_EQ(profile.functions[0].share, 400.0 / 600);
  EXPECT_EQ(profile.functions[1].place.name, "solver+30") << "a place without a name stands for itself";
}

TEST(CpuProfile, WhoCallsItselfCountsOnce) {
  Program program;
  const ElementId site = program.Site("recurse", 1);
  program.stack_rows = {{1, 0, site}, {2, 1, site}, {3, 2, site}};
  program.Sample(3, 100);
  const CpuProfile profile = program.Profile();
  ASSERT_THAT(profile.functions, SizeIs(1));
  EXPECT_EQ(profile.functions[0].total_ns, 100);
}

TEST(CpuProfile, PathsAreOutermostFirst) {
  Program program;
  program.stack_rows = {{1, 0, 11}, {2, 1, 12}, {3, 2, 13}};
  const auto read = ReadCpuSamples(program);
  ASSERT_TRUE(read.ok());
  EXPECT_THAT(read->PathOf(3), ElementsAre(11, 12, 13));
  EXPECT_THAT(read->PathOf(4), IsEmpty());
}

TEST(CpuProfile, AStackThatNamesItselfIsLeftOut) {
  Program program;
  program.stack_rows = {{1, 1, 11}, {2, 3, 12}, {3, 2, 13}};
  const auto read = ReadCpuSamples(program);
  ASSERT_TRUE(read.ok());
  EXPECT_THAT(read->PathOf(3), ElementsAre(13)) << "its parent comes after it, and is none";
}

}  // namespace
}  // namespace attune::analysis::cpu_profile_test
