// A program's main activity in one sentence.

#include "analysis/report/verdict.h"

#include <gmock/gmock.h>

#include "program_source.h"

namespace attune::analysis::verdict_test {
namespace {

using model::ElementId;
using testing::HasSubstr;
using testing::Not;

constexpr double kSecond = 1e9;

ThreadAccount Thread(double running, double asleep, double alone, std::string_view what = "poll") {
  return {.life_ns = kSecond,
          .running_ns = running * kSecond,
          .lines = {{"running", running * kSecond}, {what, asleep * kSecond}},
          .alone_ns = alone * kSecond};
}

Account OnTwoCpus(std::vector<ThreadAccount> threads, double no_thread) {
  Account account{.is_exact = true, .threads = std::move(threads)};
  account.cpus = {.cpus = 2, .wall_ns = kSecond, .no_thread_ns = no_thread * kSecond};
  return account;
}

HotSpot Step() {
  return {{.name = "solver+1", .function = "step", .file = "/src/solver.c", .line = 12, .module = "/src/solver"}, 0.9};
}

TEST(Verdict, OfAThreadThatComputesSaysWhereAndThatCpusDoNotHelp) {
  const Verdict verdict = FindVerdict(OnTwoCpus({Thread(0.99, 0.01, 0.99)}, 0.01), Step(), -1);
  EXPECT_TRUE(verdict.IsComputeBound());
  EXPECT_EQ(verdict.hot_spot.place.function, "step");
  EXPECT_DOUBLE_EQ(verdict.hot_spot.share, 0.9);
  EXPECT_DOUBLE_EQ(verdict.cpus_used, 0.99);
  EXPECT_DOUBLE_EQ(verdict.speedup_limit, 1);
  EXPECT_THAT(verdict.text, HasSubstr("1.0 of 2 CPUs"));
  EXPECT_THAT(verdict.text, HasSubstr("step (solver.c:12)"));
  EXPECT_THAT(verdict.text, HasSubstr("more CPUs would not make it faster"));
}

TEST(Verdict, OfParallelThreadsHasAmdahlsLimit) {
  const Verdict parallel = FindVerdict(OnTwoCpus({Thread(1, 0, 0), Thread(1, 0, 0)}, 0), {}, -1);
  EXPECT_TRUE(parallel.IsComputeBound());
  EXPECT_EQ(parallel.speedup_limit, 0) << "no limit is seen";
  EXPECT_TRUE(parallel.hot_spot.place.name.empty());
  const Verdict serial = FindVerdict(OnTwoCpus({Thread(1, 0, 0.25), Thread(0.75, 0.25, 0)}, 0), {}, 1.75 * kSecond);
  EXPECT_DOUBLE_EQ(serial.speedup_limit, 4);
  EXPECT_THAT(serial.text, HasSubstr("at most 4.0 times as fast"));
  const Verdict far = FindVerdict(OnTwoCpus({Thread(1, 0, 0.1), Thread(0.9, 0.1, 0)}, 0), {}, 1.9 * kSecond);
  EXPECT_DOUBLE_EQ(far.speedup_limit, 10);
  EXPECT_THAT(far.text, Not(HasSubstr("times as fast"))) << "two CPUs are not held back by that";
}

TEST(Verdict, OfWhatWaitsSaysForWhat) {
  const Verdict waits = FindVerdict(OnTwoCpus({Thread(0.2, 0.8, 0.2, "file")}, 0.8), Step(), -1);
  EXPECT_EQ(waits.doing, Doing::kWaits);
  EXPECT_THAT(waits.text, HasSubstr("80 % of its threads' time for: file"));
  EXPECT_FALSE(waits.IsComputeBound());
  const Verdict unknown = FindVerdict(OnTwoCpus({Thread(0.2, 0.01, 0.2, "semaphore")}, 0.8), {}, -1);
  EXPECT_THAT(unknown.text, Not(HasSubstr("semaphore"))) << "most of it is not known";
  const Verdict idle = FindVerdict(OnTwoCpus({Thread(0.001, 0.999, 0)}, 0.999), {}, -1);
  EXPECT_EQ(idle.doing, Doing::kIdles);
  EXPECT_THAT(idle.text, HasSubstr("it is idle"));
}

TEST(Verdict, WithoutSwitchesIsWithoutLimit) {
  Account account = OnTwoCpus({Thread(0.9, 0.1, 0)}, 0);
  account.is_exact = false;
  const Verdict verdict = FindVerdict(account, {}, -1);
  EXPECT_TRUE(verdict.IsComputeBound());
  EXPECT_LT(verdict.alone_ns, 0);
  EXPECT_THAT(verdict.text, Not(HasSubstr("times as fast")));
}

TEST(HotSpot, IsTheProgramsOwnFunctionWithWhatItCalls) {
  ProgramSource program("solver", 1);
  const auto place = [&](const char* function, int64_t line, const char* module) {
    return program.Place(function, {{.line = line, .function = function, .file = "x.c", .module = module}});
  };
  const ElementId copies = place("memcpy", 1, "/usr/lib/libc.so.6");
  SampleSums samples{.total = 1000, .samples = 100};
  const auto add = [&](ElementId outer, int64_t ns) {
    samples.stacks.push_back({.id = static_cast<int64_t>(samples.stacks.size()) + 1, .parent = 0, .site = outer});
    const int64_t parent = samples.stacks.back().id;
    samples.stacks.push_back({.id = parent + 1, .parent = parent, .site = copies});
    samples.weights[{program.thread[0], parent + 1}] = ns;
  };
  add(place("load", 3, "/src/solver"), 300);
  add(place("step", 5, "/src/solver"), 300);
  add(place("step", 6, "/src/solver"), 400);
  const HotSpot hottest = FindHotSpot(samples, SiteNames(program.meta, {}));
  EXPECT_EQ(hottest.place.function, "step");
  EXPECT_EQ(hottest.place.line, 6);
  EXPECT_DOUBLE_EQ(hottest.share, 0.7);
  samples.samples = 9;
  EXPECT_TRUE(FindHotSpot(samples, SiteNames(program.meta, {})).place.name.empty()) << "too few";
}

/// Samples of call paths, outermost first.
struct Paths {
  ElementId Place(const char* function, const char* module, const char* file = "") {
    return program.Place(function, {{.function = function, .file = file, .module = module}});
  }
  void Add(std::initializer_list<ElementId> path, int64_t ns) {
    int64_t stack = 0;
    for (const ElementId site : path) {
      samples.stacks.push_back({static_cast<int64_t>(samples.stacks.size()) + 1, stack, site});
      stack = samples.stacks.back().id;
    }
    samples.weights[{program.thread[0], stack}] = ns;
    samples.total += ns;
    samples.samples += 100;
  }
  HotSpot Find() { return FindHotSpot(samples, SiteNames(program.meta, {})); }

  ProgramSource program{"zip", 1};
  SampleSums samples;
};

TEST(HotSpot, OfAProgramWithoutSymbolsIsTheFunctionOfALibraryThatItIsIn) {
  Paths paths;
  const ElementId own = paths.Place("zip+0x10 (no symbols)", "/usr/bin/zip");
  const ElementId deflate = paths.Place("deflate", "/usr/lib/libz.so"),
                  copies = paths.Place("memcpy", "/lib/libc.so.6");
  const ElementId inner = paths.Place("libz.so+0x40 (no symbols)", "/usr/lib/libz.so");
  paths.Add({own, deflate, inner}, 500);
  paths.Add({own, deflate, inner, copies}, 200);
  paths.Add({own, copies}, 300);
  const HotSpot hottest = paths.Find();
  EXPECT_EQ(hottest.place.function, "deflate");
  EXPECT_DOUBLE_EQ(hottest.share, 0.7);
}

TEST(HotSpot, WithoutAnyNameIsTheProgram) {
  Paths paths;
  const ElementId own = paths.Place("zip+0x10 (no symbols)", "/usr/bin/zip");
  paths.Add({own}, 600);
  paths.Add({own, paths.Place("memcpy", "/lib/libc.so.6")}, 400);
  const HotSpot hottest = paths.Find();
  EXPECT_EQ(PlaceText(hottest.place), "zip");
  EXPECT_DOUBLE_EQ(hottest.share, 1);
  EXPECT_THAT(FindVerdict(OnTwoCpus({Thread(1, 0, 0)}, 0), hottest, -1).text, HasSubstr("100 % of that in zip"));
}

TEST(HotSpot, OfMainWithSourceStays) {
  for (const char* file : {"zip.c", ""}) {
    Paths paths;
    const ElementId own = paths.Place("main", "/srv/me/zip", file);
    paths.Add({own, paths.Place("deflate", "/usr/lib/libz.so")}, 1000);
    EXPECT_EQ(paths.Find().place.function, *file == '\0' ? "deflate" : "main");
  }
}

TEST(HotSpot, WhereNoFunctionHasMuchIsTheProgramWithMost) {
  Paths paths;
  const char* const functions[] = {"parse", "fold", "inline", "emit", "free", "read", "map", "walk"};
  for (const char* function : functions) paths.Add({paths.Place(function, "/usr/lib/gcc/cc1plus")}, 100);
  paths.Add({paths.Place("assemble", "/usr/bin/as")}, 150);
  const HotSpot hottest = paths.Find();
  EXPECT_EQ(PlaceText(hottest.place), "cc1plus");
  EXPECT_NEAR(hottest.share, 800.0 / 950, 1e-9);
}

TEST(Verdict, OfNothingIsNone) { EXPECT_EQ(FindVerdict({}, {}, -1).doing, Doing()); }

}  // namespace
}  // namespace attune::analysis::verdict_test
