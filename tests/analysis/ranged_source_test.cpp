#include "model/ranged_source.h"

#include <gmock/gmock.h>

#include <vector>

#include "fake_source.h"

namespace attune::analysis::ranged_source_test {
namespace {

using model::ElementKind;
using model::kAbsent;
using model::RangedSource;
using testing::ElementsAre;

/// Something each second from 0 to 9; the part is from 3 to 6.
struct TenSeconds : FakeSource {
  TenSeconds() {
    extent = {0, 10};
    process = AddElement(ElementKind::kProcess, "./solver", 0, 100);
    const auto thread = [this](const char* name, int64_t start_ns, int64_t end_ns) {
      AddElement(ElementKind::kThread, name, process, 101);
      meta.elements.back().start_ns = start_ns;
      meta.elements.back().end_ns = end_ns;
    };
    thread("all", 0, kAbsent);
    thread("before", 0, 2);
    thread("within", 4, 5);
    thread("after", 7, 9);
    thread("until later", 5, 8);
    meta.processes.push_back({.id = process, .pid = 100, .start_ns = 0, .end_ns = 9, .exit_code = 0, .user_ns = 500});
    meta.processes.push_back({.id = 99, .pid = 7, .start_ns = 4, .end_ns = 5, .exit_code = 1, .user_ns = 50});
    meta.info["total_user_ns"] = "550";
    meta.info["program"] = "./solver";
    stream = AddStream(1, {{process, "cpu", "user", "ns"}});
    for (int64_t t_ns = 0; t_ns < 10; ++t_ns) {
      samples[stream].push_back({t_ns, {t_ns}});
      events.push_back({t_ns, 2, wire::EventKind::kInstant, 0});
      state_times.push_back({.t_ns = t_ns, .element = 2, .ns = 1});
      meta.labels.push_back({.t_ns = t_ns, .text = "label"});
    }
    meta.alarms = {{.t_ns = 1, .id = 1},
                   {.t_ns = 2, .id = 1, .state = model::AlarmState::kCleared},
                   {.t_ns = 1, .id = 2},
                   {.t_ns = 5, .id = 2, .state = model::AlarmState::kCleared},
                   {.t_ns = 8, .id = 3}};
    meta.gaps = {{.t0_ns = 0, .t1_ns = 2}, {.t0_ns = 2, .t1_ns = 4}, {.t0_ns = 7, .t1_ns = 8}};
  }
  model::ElementId process = 0;
  model::StreamId stream = 0;
};

TEST(RangedSource, HasWhatLiesInIt) {
  TenSeconds run;
  RangedSource part(run, {3, 6});
  EXPECT_EQ(part.Extent().t0_ns, 3);
  EXPECT_EQ(part.Extent().t1_ns, 6);
  std::vector<int64_t> times;
  const auto take = [&times](const auto& block) {
    times.insert(times.end(), block.t_ns.begin(), block.t_ns.end());
    return true;
  };
  const std::vector<uint32_t> columns{0};
  ASSERT_TRUE(part.ReadSamples(run.stream, columns, {0, 5}, take).ok());
  EXPECT_THAT(times, ElementsAre(3, 4));
  times.clear();
  ASSERT_TRUE(part.ReadEvents({0, 100}, take).ok());
  EXPECT_THAT(times, ElementsAre(3, 4, 5));
  times.clear();
  const auto take_rows = [&times](const model::Batch& batch) {
    EXPECT_EQ(batch.rows, batch.ints[0].size());
    times.insert(times.end(), batch.ints[0].begin(), batch.ints[0].end());
    return true;
  };
  ASSERT_TRUE(part.ReadTable(model::StateTime::kTable, take_rows).ok());
  EXPECT_THAT(times, ElementsAre(3, 4, 5));
}

TEST(RangedSource, HasThreadsAndProcessesThatLivedInIt) {
  TenSeconds run;
  RangedSource part(run, {3, 6});
  const auto meta = part.Meta();
  std::vector<std::string> names;
  std::vector<int64_t> starts, ends;
  for (const model::Element& element : meta->elements) {
    if (element.kind != ElementKind::kThread) continue;
    names.push_back(element.name);
    starts.push_back(element.start_ns);
    ends.push_back(element.end_ns);
  }
  EXPECT_THAT(names, ElementsAre("all", "within", "until later"));
  EXPECT_THAT(starts, ElementsAre(3, 4, 5));
  EXPECT_THAT(ends, ElementsAre(kAbsent, 5, kAbsent));
  ASSERT_EQ(meta->processes.size(), 2u);
  EXPECT_EQ(meta->processes[0].start_ns, 3);
  EXPECT_EQ(meta->processes[0].end_ns, kAbsent);
  EXPECT_EQ(meta->processes[0].exit_code, kAbsent) << "it ended later";
  EXPECT_EQ(meta->processes[0].user_ns, kAbsent) << "of a longer life";
  EXPECT_EQ(meta->processes[1].user_ns, 50);
  EXPECT_EQ(meta->processes[1].exit_code, 1);
  EXPECT_FALSE(meta->info.contains("total_user_ns"));
  EXPECT_TRUE(meta->info.contains("time_account_stopped")) << "rows of a second are too coarse";
  EXPECT_TRUE(meta->info.contains("program"));
}

TEST(RangedSource, HasLabelsGapsAndAlarmsOfItsTime) {
  TenSeconds run;
  RangedSource part(run, {3, 6});
  const auto meta = part.Meta();
  EXPECT_EQ(meta->labels.size(), 3u);
  ASSERT_EQ(meta->gaps.size(), 1u);
  EXPECT_EQ(meta->gaps[0].t0_ns, 2);
  std::vector<int64_t> alarms;
  for (const model::Alarm& alarm : meta->alarms) alarms.push_back(alarm.id);
  EXPECT_THAT(alarms, ElementsAre(2, 2)) << "raised before, cleared in it";
}

TEST(RangedSource, OfATimeWithoutDataIsEmpty) {
  TenSeconds run;
  RangedSource part(run, {20, 30});
  EXPECT_EQ(part.Extent().t0_ns, part.Extent().t1_ns);
  ASSERT_TRUE(part.ReadEvents({0, 100},
                              [](const model::EventBlock& block) {
                                EXPECT_TRUE(block.t_ns.empty());
                                return true;
                              })
                  .ok());
}

}  // namespace
}  // namespace attune::analysis::ranged_source_test
