#include "analysis/report/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/info_keys.h"
#include "tests/analysis/fake_source.h"

namespace attune::analysis::summary_test {
namespace {

using model::ElementKind;
using model::kAbsent;

constexpr int64_t kS = 1'000'000'000;

Summary Of(FakeSource& source) {
  auto summary = Summarise(source);
  EXPECT_TRUE(summary.ok());
  return *std::move(summary);
}

std::vector<std::string> Ids(const Summary& summary) {
  std::vector<std::string> ids;
  for (const Observation& row : summary.observations) ids.push_back(row.id);
  return ids;
}

const Observation* Find(const Summary& summary, const std::string& id) {
  for (const Observation& row : summary.observations) {
    if (row.id == id) return &row;
  }
  return nullptr;
}

TEST(Summary, ProcessesAreATreeAndSums) {
  FakeSource source;
  source.extent = {0, 10 * kS};
  source.meta.processes = {
      {.id = 3, .parent = 2, .pid = 30, .start_ns = 2 * kS, .exit_code = 0, .exit_signal = 0, .user_ns = kS},
      {.id = 2, .parent = 1, .pid = 20, .start_ns = kS, .exit_code = 2, .exit_signal = 0, .max_rss_bytes = 5},
      {.id = 4,
       .parent = 3,
       .pid = 40,
       .start_ns = 3 * kS,
       .exit_signal = 9,
       .user_ns = 2 * kS,
       .system_ns = kS,
       .max_rss_bytes = 7},
      {.id = 5, .parent = 2, .pid = 50, .start_ns = kS + 1}};
  source.AddElement(ElementKind::kThread, "t", 4);
  const Summary summary = Of(source);
  std::vector<std::pair<int64_t, int>> order;
  for (const ProcessSummary& row : summary.processes) order.emplace_back(row.process.pid, row.depth);
  EXPECT_THAT(order, testing::ElementsAre(std::pair(20, 0), std::pair(50, 1), std::pair(30, 1), std::pair(40, 2)));
  EXPECT_EQ(summary.processes[3].threads, 1);
  EXPECT_EQ(summary.totals.failed, 2);
  EXPECT_EQ(summary.totals.CpuNs(), 4 * kS);
  EXPECT_EQ(summary.totals.max_rss_bytes, 7);
  EXPECT_EQ(summary.totals.minor_faults, kAbsent);
}

TEST(Summary, ProcessesThatAreEachOthersParentsAreAllShown) {
  FakeSource source;
  source.meta.processes = {
      {.id = 1, .parent = 2, .pid = 1}, {.id = 2, .parent = 1, .pid = 2}, {.id = 3, .parent = 3, .pid = 3}};
  EXPECT_EQ(Of(source).processes.size(), 3u);
}

TEST(Summary, WithoutSamplesTheProcessesGiveTheTime) {
  FakeSource source;
  source.meta.processes = {{.id = 1, .pid = 1, .start_ns = 5 * kS, .end_ns = 7 * kS},
                           {.id = 2, .pid = 2, .start_ns = 6 * kS}};
  EXPECT_EQ(Of(source).DurationNs(), 2 * kS);
  source.meta.processes[0].start_ns = INT64_MIN + 1;
  source.meta.processes[0].end_ns = INT64_MAX;
  EXPECT_EQ(Of(source).DurationNs(), 0);
}

TEST(Summary, TheRunIsAsLongAsItsProgramUnlessThatWasThereBefore) {
  FakeSource source;
  source.extent = {100 * kS, 110 * kS};
  source.meta.processes = {{.id = 1, .pid = 1, .start_ns = 99 * kS, .end_ns = 111 * kS, .user_ns = 6 * kS}};
  EXPECT_EQ(Of(source).DurationNs(), 12 * kS);
  ASSERT_NE(Find(Of(source), "cpu.use"), nullptr);
  EXPECT_EQ(Find(Of(source), "cpu.use")->text, "the program used 0.50 CPUs on average");

  // It was attached to: the recording is as long as it is, and CPU time stands against the program's life.
  source.meta.processes = {{.id = 1, .pid = 1, .start_ns = 10 * kS, .user_ns = 50 * kS}};
  EXPECT_EQ(Of(source).DurationNs(), 10 * kS);
  EXPECT_EQ(Of(source).program_ns, 100 * kS);
  EXPECT_EQ(Find(Of(source), "cpu.use")->text, "the program used 0.50 CPUs on average");
}

TEST(Summary, GapsAreGroupedByStreamAndReason) {
  FakeSource source;
  source.extent = {0, 10 * kS};
  const auto machine = source.AddElement(ElementKind::kMachine, "box");
  const auto stream = source.AddStream(10'000'000, {{machine, "cpu", "forks", "tasks"}});
  source.meta.gaps = {{stream, kS, kS + 20'000'000, 2, model::GapReason::kMissed},
                      {stream, 2 * kS, 2 * kS + 10'000'000, 1, model::GapReason::kMissed},
                      {9, kS, kS, 40, model::GapReason::kDropped}};
  const Summary summary = Of(source);
  ASSERT_EQ(summary.gaps.size(), 2u);
  EXPECT_EQ(summary.gaps[0].rows, 40);
  EXPECT_EQ(summary.gaps[0].name, "events");
  EXPECT_EQ(summary.gaps[1].rows, 3);
  EXPECT_EQ(summary.gaps[1].gaps, 2);
  EXPECT_EQ(summary.gaps[1].name, "cpu every 10 ms");
  EXPECT_EQ(summary.gaps[1].duration_ns, 30'000'000);
  const Observation* missed = Find(summary, "gaps.missed");
  ASSERT_NE(missed, nullptr);
  EXPECT_EQ(missed->text, "attune missed 3 of 1001 ticks of cpu every 10 ms (0.3 %)");
  EXPECT_NE(Find(summary, "gaps.dropped"), nullptr);
}

TEST(Summary, AQuietRunHasNothingThatStandsOut) {
  FakeSource source;
  source.extent = {0, kS};
  EXPECT_TRUE(Ids(Of(source)).empty());
}

TEST(Summary, WhatStandsOutIsSaidWithItsFigures) {
  FakeSource source;
  source.extent = {0, 2 * kS};
  const auto machine = source.AddElement(ElementKind::kMachine, "box");
  std::vector<FakeSource::Signal> signals;
  for (const int cpu : {0, 1}) {
    const auto element = source.AddElement(ElementKind::kCpu, "cpu" + std::to_string(cpu), machine, cpu);
    for (const char* kind : {"user", "idle", "iowait"}) signals.push_back({element, "cpu", kind, "ns"});
  }
  signals.push_back({machine, "cpu", "running", "tasks", model::SeriesKind::kGauge});
  signals.push_back({machine, "vmstat", "pswpin", "pages"});
  signals.push_back({machine, "attune", "session_cpu", "ns"});
  const auto stream = source.AddStream(kS, signals);
  // CPU 0 works for two seconds; CPU 1 is idle for one and waits for a device in the other.
  source.samples[stream] = {{0, {0, 0, 0, 0, 0, 0, 5, 100, 0}},
                            {kS, {kS, 0, 0, 0, kS, 0, 5, 100, 2'000'000}},
                            {2 * kS, {2 * kS, 0, 0, 0, kS, kS, 5, 180, 6'000'000}}};
  source.meta.processes = {{.id = 1,
                            .pid = 1,
                            .start_ns = 0,
                            .end_ns = 2 * kS,
                            .exit_code = 0,
                            .exit_signal = 0,
                            .user_ns = kS,
                            .system_ns = kS}};
  const Summary summary = Of(source);
  EXPECT_THAT(Ids(summary), testing::ElementsAre("cpu.use", "cpu.system", "cpu.idle-while-others-busy", "cpu.iowait",
                                                 "cpu.queue", "memory.swap-in", "attune.cost"));
  EXPECT_EQ(Find(summary, "cpu.use")->text, "the program used 1.00 of 2 CPUs on average");
  EXPECT_EQ(Find(summary, "cpu.idle-while-others-busy")->text,
            "CPU 1 was idle 100 % of the time while another CPU was busy");
  EXPECT_NEAR(Find(summary, "cpu.iowait")->figures.at("share"), 0.25, 1e-9);
  ASSERT_TRUE(summary.own_cost.has_value());
  EXPECT_NEAR(summary.own_cost->cores, 0.003, 1e-9);
  EXPECT_EQ(summary.machine.Find("attune.session_cpu"), nullptr);
}

TEST(Summary, TheProgramsEndIsSaid) {
  FakeSource source;
  source.extent = {0, kS};
  source.meta.processes = {{.id = 1, .pid = 1, .exit_signal = 11}};
  ASSERT_NE(Find(Of(source), "program.failed"), nullptr);
  EXPECT_EQ(Find(Of(source), "program.failed")->text, "the program was ended by signal 11");
  source.meta.processes[0] = {.id = 1, .pid = 1, .exit_code = 0, .exit_signal = 0};
  EXPECT_EQ(Find(Of(source), "program.failed"), nullptr);
}

TEST(Summary, TheJsonHoldsEverythingAndIsValidWhateverTheNames) {
  FakeSource source;
  source.extent = {5, 5 + kS};
  source.meta.real_minus_monotonic_ns = 1000;
  source.meta.info[std::string(model::info::kProgram)] = "solver \xff\"";
  source.meta.damage = {"bytes 10 to 20"};
  source.meta.labels = {{7, "half"}};
  source.meta.processes = {{.id = 1, .pid = 12, .exit_signal = 9, .command = "solver"}};
  const auto process = source.AddElement(ElementKind::kProcess, "solver");
  const int64_t region = source.AddElement(ElementKind::kRegion, "step", process);
  source.events = {{10, 1, wire::EventKind::kRegionBegin, region}, {30, 1, wire::EventKind::kRegionEnd, region}};
  const auto json = nlohmann::json::parse(ToJson(Of(source)));
  EXPECT_EQ(json["report_version"], 0);
  EXPECT_EQ(json["start_real_ns"], 1005);
  EXPECT_EQ(json["duration_ns"], kS);
  EXPECT_EQ(json["processes"][0]["exit_signal"], 9);
  EXPECT_TRUE(json["processes"][0]["exit_code"].is_null());
  EXPECT_EQ(json["program"]["regions"][0]["total_ns"], 20);
  EXPECT_EQ(json["labels"][0]["text"], "half");
  EXPECT_EQ(json["damage"][0], "bytes 10 to 20");
  EXPECT_TRUE(json["attune"].is_null());
  EXPECT_TRUE(json["machine"]["all_cpus"].is_null());
}

}  // namespace
}  // namespace attune::analysis::summary_test
