#include "analysis/report/program_events.h"

#include <gtest/gtest.h>

#include "model/program_series.h"
#include "tests/analysis/fake_source.h"

namespace attune::analysis::program_events_test {
namespace {

using model::ElementKind;
using model::SeriesKind;
using wire::EventKind;

constexpr auto kBegin = EventKind::kRegionBegin;
constexpr auto kEnd = EventKind::kRegionEnd;

class ProgramEvents : public testing::Test {
 protected:
  ProgramSummary Count() {
    EventCounter counter(source.meta);
    EXPECT_TRUE(source
                    .ReadEvents({INT64_MIN, INT64_MAX},
                                [&](const model::EventBlock& block) {
                                  counter.AddEvents(block);
                                  return true;
                                })
                    .ok());
    return counter.Finish();
  }
  static const RegionSummary& Region(const ProgramSummary& summary, const std::string& name) {
    for (const RegionSummary& region : summary.regions) {
      if (region.name == name) return region;
    }
    ADD_FAILURE() << "no region " << name;
    static const RegionSummary kNone;
    return kNone;
  }

  FakeSource source;
  model::ElementId process = source.AddElement(ElementKind::kProcess, "solver");
  int64_t outer = source.AddElement(ElementKind::kRegion, "step", process);
  int64_t inner = source.AddElement(ElementKind::kRegion, "exchange", process);
};

TEST_F(ProgramEvents, NestedRegionsHaveTotalAndSelfTime) {
  source.events = {{100, 1, kBegin, outer}, {150, 1, kBegin, inner}, {180, 1, kEnd, inner},
                   {190, 1, kBegin, inner}, {200, 1, kEnd, inner},   {300, 1, kEnd, outer}};
  const ProgramSummary summary = Count();
  EXPECT_EQ(summary.events, 6);
  EXPECT_EQ(Region(summary, "step").total_ns, 200);
  EXPECT_EQ(Region(summary, "step").self_ns, 160);
  EXPECT_EQ(Region(summary, "exchange").count, 2);
  EXPECT_EQ(Region(summary, "exchange").total_ns, 40);
  EXPECT_EQ(Region(summary, "exchange").mean_ns, 20);
  EXPECT_EQ(Region(summary, "exchange").max_ns, 30);
  EXPECT_EQ(Region(summary, "exchange").p50_ns, 10);
  EXPECT_EQ(summary.regions.front().name, "step");  // most self time first
}

TEST_F(ProgramEvents, ThreadsAreMatchedApart) {
  source.events = {{0, 1, kBegin, outer}, {10, 2, kBegin, outer}, {30, 1, kEnd, outer}, {110, 2, kEnd, outer}};
  const RegionSummary region = Region(Count(), "step");
  EXPECT_EQ(region.threads, 2);
  EXPECT_EQ(region.count, 2);
  EXPECT_EQ(region.total_ns, 130);
}

TEST_F(ProgramEvents, ARegionInsideItselfCountsOnceInTotal) {
  source.events = {{0, 1, kBegin, outer}, {10, 1, kBegin, outer}, {20, 1, kEnd, outer}, {100, 1, kEnd, outer}};
  const RegionSummary region = Region(Count(), "step");
  EXPECT_EQ(region.count, 2);
  EXPECT_EQ(region.total_ns, 100);
  EXPECT_EQ(region.self_ns, 100);
}

TEST_F(ProgramEvents, LostBeginsAndEndsAreCounted) {
  source.events = {{0, 1, kEnd, inner},      // its begin was lost
                   {10, 1, kBegin, outer},   //
                   {20, 1, kBegin, inner},   // its end was lost
                   {30, 1, kEnd, outer},     //
                   {40, 1, kBegin, outer}};  // still open
  const ProgramSummary summary = Count();
  EXPECT_EQ(Region(summary, "exchange").ends_without_begin, 1);
  EXPECT_EQ(Region(summary, "exchange").begins_without_end, 1);
  EXPECT_EQ(Region(summary, "exchange").count, 0);
  EXPECT_EQ(Region(summary, "step").count, 1);
  EXPECT_EQ(Region(summary, "step").total_ns, 20);
  EXPECT_EQ(Region(summary, "step").begins_without_end, 1);
}

TEST_F(ProgramEvents, TheSameNameInTwoProcessesIsOneRow) {
  const model::ElementId other = source.AddElement(ElementKind::kProcess, "solver");
  const int64_t same = source.AddElement(ElementKind::kRegion, "step", other);
  source.events = {{0, 1, kBegin, outer}, {5, 1, kEnd, outer}, {0, 2, kBegin, same}, {7, 2, kEnd, same}};
  const ProgramSummary summary = Count();
  ASSERT_EQ(summary.regions.size(), 1u);
  EXPECT_EQ(summary.regions[0].processes, 2);
  EXPECT_EQ(summary.regions[0].total_ns, 12);
}

TEST_F(ProgramEvents, ChannelsAndInstantsAreSummed) {
  const int64_t channel = source.AddElement(ElementKind::kChannel, "halo", process);
  const int64_t instant = source.AddElement(ElementKind::kInstant, "checkpoint", process);
  source.events = {{0, 1, EventKind::kSend, channel, 100},
                   {1, 2, EventKind::kReceive, channel, 100},
                   {2, 1, EventKind::kSend, channel, 28},
                   {3, 1, EventKind::kInstant, instant}};
  const ProgramSummary summary = Count();
  ASSERT_EQ(summary.channels.size(), 1u);
  EXPECT_EQ(summary.channels[0].name, "halo");
  EXPECT_EQ(summary.channels[0].sent, 2);
  EXPECT_EQ(summary.channels[0].sent_bytes, 128);
  EXPECT_EQ(summary.channels[0].received_bytes, 100);
  ASSERT_EQ(summary.instants.size(), 1u);
  EXPECT_EQ(summary.instants[0].count, 1);
}

TEST_F(ProgramEvents, HostileRowsNeitherOverflowNorGrowWithoutBound) {
  source.events = {{INT64_MIN, 1, kBegin, outer},
                   {INT64_MAX - 1, 1, kEnd, outer},
                   {INT64_MIN, 1, kBegin, outer},
                   {INT64_MAX - 1, 1, kEnd, outer},
                   {INT64_MIN, 1, kBegin, outer},
                   {INT64_MAX - 1, 1, kEnd, outer},
                   {0, INT64_MIN, static_cast<EventKind>(200), INT64_MAX},
                   {0, 1, EventKind::kSend, -7, INT64_MIN}};
  const size_t depth = EventCounter::kMaxDepth + 10;
  for (size_t i = 0; i < depth; ++i) source.events.push_back({1, 3, kBegin, outer});
  for (size_t i = 0; i < depth; ++i) source.events.push_back({2, 3, kEnd, outer});
  for (size_t i = 0; i < EventCounter::kMaxThreads + 5; ++i)
    source.events.push_back({1, static_cast<int64_t>(1000 + i), kBegin, inner});
  const ProgramSummary summary = Count();
  EXPECT_GT(Region(summary, "step").total_ns, INT64_MAX / 2);
  EXPECT_EQ(Region(summary, "step").count, 3 + static_cast<int64_t>(EventCounter::kMaxDepth));
  // 10 begins and ends too deep, and the threads beyond the limit (three were there before).
  EXPECT_EQ(summary.events_not_counted, 20 + 5 + 2);
  EXPECT_EQ(summary.channels[0].name, "(unnamed -7)");
}

TEST_F(ProgramEvents, CountersKeepTheirExtremes) {
  const model::StreamId stream =
      source.AddStream(0, {{process, std::string(model::kProgramSensor), "residual", "1", SeriesKind::kGauge, -1}});
  source.samples[stream] = {{1, {50}}, {2, {model::kAbsent}}, {3, {10}}, {4, {30}}, {5, {20}}};
  EventCounter events(source.meta);
  Operator* const operators[] = {&events};
  ASSERT_TRUE(FeedRows(source, operators).ok());
  const ProgramSummary summary = events.Finish();
  ASSERT_EQ(summary.counters.size(), 1u);
  const CounterSummary& row = summary.counters.front();
  EXPECT_EQ(row.name, "residual");
  EXPECT_EQ(row.process, "solver");
  EXPECT_EQ(row.updates, 4);
  EXPECT_DOUBLE_EQ(row.first, 5.0);
  EXPECT_DOUBLE_EQ(row.last, 2.0);
  EXPECT_DOUBLE_EQ(row.low, 1.0);
  EXPECT_DOUBLE_EQ(row.high, 5.0);
  EXPECT_DOUBLE_EQ(row.mean, 2.75);
}

TEST_F(ProgramEvents, CountersOfRegionsAreTheirs) {
  const auto add = [&](const char* signal, int64_t first, int64_t last) {
    const model::StreamId stream =
        source.AddStream(0, {{process, std::string(model::kProgramSensor), signal, "1", SeriesKind::kGauge, 0}});
    source.samples[stream] = {{1, {first}}, {2, {last}}};
  };
  add("step: cycles:u", 10, 40);
  add("step: page-faults", 1, 2);
  add("other: cycles:u", 1, 2);  // of no region
  source.events = {{1, 1, kBegin, outer}, {2, 1, kEnd, outer}};
  EventCounter events(source.meta);
  Operator* const operators[] = {&events};
  ASSERT_TRUE(FeedRows(source, operators).ok());
  const auto add_events = [&](const model::EventBlock& block) { return events.AddEvents(block), true; };
  ASSERT_TRUE(source.ReadEvents({INT64_MIN, INT64_MAX}, add_events).ok());
  const ProgramSummary summary = events.Finish();
  const auto& counts = Region(summary, "step").counts;
  ASSERT_EQ(counts.size(), 2u);
  EXPECT_EQ(counts[0].event, "cycles:u");
  EXPECT_DOUBLE_EQ(counts[0].total, 40);
  EXPECT_EQ(counts[1].event, "page-faults");
  ASSERT_EQ(summary.counters.size(), 1u);
  EXPECT_EQ(summary.counters[0].name, "other: cycles:u");
}

}  // namespace
}  // namespace attune::analysis::program_events_test
