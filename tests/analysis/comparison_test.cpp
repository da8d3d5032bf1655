#include "analysis/report/comparison.h"

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "fake_source.h"

namespace attune::analysis::comparison_test {
namespace {

TEST(WelchInterval, IsThatOfTheTextbook) {
  // Two groups of 15 values: difference 2.1667, standard error 0.88242, 24.99 degrees of freedom, t(0.975) = 2.0595.
  const std::vector<double> before{27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1,
                                   21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4};
  const std::vector<double> after{27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0,
                                  24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4};
  const DifferenceInterval interval = WelchInterval(before, after, 0.95);
  EXPECT_NEAR((interval.low + interval.high) / 2, 2.1667, 1e-3);
  EXPECT_NEAR(interval.high - interval.low, 2 * 1.8174, 0.001);
}

TEST(WelchInterval, OfConstantsIsTheirDifference) {
  const DifferenceInterval interval = WelchInterval({1, 1, 1, 1}, {3, 3, 3, 3}, 0.95);
  EXPECT_EQ(interval.low, 2);
  EXPECT_EQ(interval.high, 2);
}

TEST(WelchInterval, GrowsWithTheConfidence) {
  const std::vector<double> before{1, 2, 3, 4}, after{2, 3, 4, 6};
  const DifferenceInterval narrow = WelchInterval(before, after, 0.9);
  const DifferenceInterval wide = WelchInterval(before, after, 0.9999);
  EXPECT_LT(wide.low, narrow.low);
  EXPECT_GT(wide.high, narrow.high);
}

TEST(SignalChange, IsRelativeToWhatWasBefore) {
  const auto relative = [](double before, double after) {
    SignalChange change;
    change.before = before;
    change.after = after;
    return change.Relative();
  };
  EXPECT_EQ(relative(4, 5), 0.25);
  EXPECT_EQ(relative(-4, -5), -0.25);
  EXPECT_EQ(relative(0, 0), 0);
  EXPECT_TRUE(std::isinf(relative(0, 1)));
}

CodePlace At(const std::string& function, const std::string& name) { return {.name = name, .function = function}; }

/// One run: an object with waits at one place.
Summary Waited(const CodePlace& place, int64_t waits, int64_t wait_ns) {
  Summary summary;
  summary.info["level"] = "profile";
  WaitObject object{.kind = "mutex", .wait_ns = wait_ns};
  WaitSite& site = object.sites.emplace_back(WaitSite{place});
  site.waits = waits;
  site.wait_ns = wait_ns;
  summary.waits.locks = {object};
  summary.waits.thread_ns = 100;
  return summary;
}

TEST(CompareWaits, PairsPlacesByTheirFunction) {
  Summary before = Waited(At("work(int)", "solver+0x10"), 5, 70);
  before.waits.locks.push_back(before.waits.locks[0]);  // another object, waited for there too
  const auto moved = CompareWaits(before, Waited(At("work(int)", "solver+0x90"), 3, 20));
  ASSERT_EQ(moved.waits.size(), 1u);
  EXPECT_EQ(moved.waits[0].kind, "mutex");
  EXPECT_EQ(moved.waits[0].site.name, "solver+0x90");
  EXPECT_EQ(moved.waits[0].before_ns, 140);
  EXPECT_EQ(moved.waits[0].after_ns, 20);
  EXPECT_EQ(moved.waits[0].before_waits, 10);
  EXPECT_EQ(moved.waits[0].after_waits, 3);
  // Another library's function, a place that moved and has no name, another kind: others. The largest difference first.
  const auto library = CompareWaits(before, Waited(At("work(int)", "libsolver.so+0x10"), 3, 20));
  ASSERT_EQ(library.waits.size(), 2u);
  EXPECT_EQ(library.waits[0].after_ns, 0);
  EXPECT_EQ(CompareWaits(Waited(At("", "solver+0x10"), 1, 1), Waited(At("", "solver+0x90"), 1, 1)).waits.size(), 2u);
  EXPECT_EQ(CompareWaits(Waited(At("", "solver+0x10"), 1, 1), Waited(At("", "solver+0x10"), 1, 1)).waits.size(), 1u);
}

TEST(CompareWaits, IsSilentWhereOneRunDidNotSeeThem) {
  const Summary seen = Waited(At("work", "solver+0x10"), 5, 70);
  Summary without;
  without.info["level"] = "profile";
  EXPECT_TRUE(CompareWaits(seen, without).waits_seen) << "a run without any wait";
  without.unseen = {"it is linked statically"};
  EXPECT_FALSE(CompareWaits(seen, without).waits_seen);
  EXPECT_TRUE(CompareWaits(seen, without).waits.empty());
  without.unseen.clear();
  without.info["level"] = "off";
  EXPECT_FALSE(CompareWaits(without, seen).waits_seen);
}

TEST(CompareWaits, SaysWhichFindingsCameAndWent) {
  Summary before, after;
  const auto finding = [](FindingClass kind, int64_t lost_ns) {
    return Finding{.kind = kind, .lost_ns = lost_ns, .site = At("work", "solver+0x10")};
  };
  before.findings = {finding(FindingClass::kLockContention, 50), finding(FindingClass::kOversubscription, 30),
                     finding(FindingClass::kLockContention, 10)};
  after.findings = {finding(FindingClass::kOversubscription, 40), finding(FindingClass::kSerialisation, 0)};
  Comparison comparison{.waits = CompareWaits(before, after)};
  const auto& changes = comparison.waits.findings;
  ASSERT_EQ(changes.size(), 3u);
  EXPECT_EQ(changes[0].kind, FindingClass::kLockContention);
  EXPECT_EQ(changes[0].before_ns, 60) << "two locks at one place";
  EXPECT_EQ(changes[0].after_ns, model::kAbsent);
  EXPECT_TRUE(changes[0].CameOrWent());
  EXPECT_EQ(changes[1].kind, FindingClass::kOversubscription);
  EXPECT_FALSE(changes[1].CameOrWent());
  EXPECT_EQ(changes[2].after_ns, 0);
  EXPECT_TRUE(changes[2].CameOrWent());
  EXPECT_TRUE(comparison.AnyChange());
  const auto json = nlohmann::json::parse(ToJson(comparison));
  EXPECT_EQ(json["findings"][0]["class"], "lock-contention");
  EXPECT_EQ(json["findings"][0]["site"]["function"], "work");
  EXPECT_DOUBLE_EQ(json["findings"][0]["before"], 60e-9);
  EXPECT_TRUE(json["findings"][0]["after"].is_null());
  comparison.waits = CompareWaits(before, before);
  EXPECT_FALSE(comparison.AnyChange());
}

std::vector<std::string> NamesOf(const std::vector<RunFigure>& run) {
  std::vector<std::string> names;
  for (const RunFigure& figure : run) names.push_back(figure.name);
  return names;
}

TEST(CompareMessages, SaysNothingOfMpiToProgramsWithoutIt) {
  TaskGraph job, pipeline, nothing;
  for (int i = 0; i < 2; ++i) {
    job.ranks.push_back(
        {.id = static_cast<model::ElementId>(10 + i), .rank = i, .mpi_ns = 50, .collective_waited_ns = 5});
    pipeline.ranks.push_back({.id = static_cast<model::ElementId>(20 + i), .received = {.waited_ns = 30}});
  }
  job.pairs.push_back({.source = 10, .destination = 11, .sender = {.count = 3, .bytes = 30}});
  pipeline.pairs.push_back({.source = 20, .destination = 21, .sender = {.count = 7, .bytes = 70}});
  EXPECT_THAT(NamesOf(CompareMessages(pipeline, pipeline)), testing::ElementsAre("messages", "bytes_in_messages"));
  EXPECT_THAT(NamesOf(CompareMessages(job, pipeline)), testing::IsEmpty());
  EXPECT_THAT(NamesOf(CompareMessages(nothing, pipeline)), testing::IsEmpty());
  job.pairs.push_back({.source = 20, .destination = 21, .sender = {.count = 90, .bytes = 900}});  // a launcher's pipe
  const auto run = CompareMessages(job, job);
  EXPECT_THAT(NamesOf(run), testing::IsSupersetOf({"time_in_MPI", "waited_in_MPI", "messages", "bytes_in_messages"}));
  EXPECT_EQ(run[2].before, 3) << "those between ranks";
}

TEST(BusierRun, IsTheOneInWhichOtherProgramsHadMoreOfTheCpus) {
  const auto cpus = [](double others) {
    return CpuAccount{.cpus = 2, .wall_ns = 100, .others_ns = others * 200, .is_divided = true};
  };
  EXPECT_EQ(BusierRun(cpus(0.1), cpus(0.15)), Busier::kNeither);
  EXPECT_EQ(BusierRun(cpus(0.1), cpus(0.3)), Busier::kAfter);
  EXPECT_EQ(BusierRun(cpus(0.5), cpus(0.3)), Busier::kBefore);
  EXPECT_EQ(BusierRun({}, cpus(0.9)), Busier::kNeither) << "nothing is known of the other one";
  const Comparison comparison{.cpus_before = cpus(0.1), .cpus_after = cpus(0.3)};
  const auto json = nlohmann::json::parse(ToJson(comparison));
  EXPECT_EQ(json["busier"], "after");
  EXPECT_DOUBLE_EQ(json["cpus"]["after"]["others"], 0.3);
}

TEST(Compare, OfShortRunsSaysWhatTheProgramsDid) {
  FakeSource run;
  run.extent = {0, 1000};
  run.AddStream(100, {{run.AddElement(model::ElementKind::kMachine, "host"), "cpu", "user", "ns"}});
  EXPECT_EQ(Compare(run, run, {}).error().code, Errc::kUnavailable) << "no programs either";
  const auto process = run.AddElement(model::ElementKind::kProcess, "solver", 0, 7);
  run.meta.processes.push_back({.id = process, .pid = 7, .start_ns = 0, .end_ns = 900, .user_ns = 500});
  const auto comparison = Compare(run, run, {});
  ASSERT_TRUE(comparison.ok());
  EXPECT_TRUE(comparison->too_short);
  EXPECT_EQ(comparison->run[0].name, "wall_time");
  EXPECT_FALSE(comparison->AnyChange());
  const auto json = CompareToJson(run, run, false);
  ASSERT_TRUE(json.ok());
  const auto page = nlohmann::json::parse(*json);
  EXPECT_EQ(page["run"][0]["name"], "wall_time");
  EXPECT_TRUE(page["flames"]["before"].contains("waiting"));
  EXPECT_FALSE(page["flames"]["after"]["waiting"].contains("each")) << "of all threads together alone";
}

}  // namespace
}  // namespace attune::analysis::comparison_test
