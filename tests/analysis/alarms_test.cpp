#include "analysis/alarms/alarms.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/result.h"
#include "model/info_keys.h"
#include "tests/analysis/fake_source.h"

namespace attune::analysis::alarms_test {
namespace {

using model::Alarm;
using model::AlarmState;
using model::ElementKind;
using model::kAbsent;
using model::SeriesKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kSecond = 1000 * kMs;
constexpr int64_t kStart = 5'000 * kSecond;

/// A machine whose sensors say what a test wants, in front of an evaluator.
class Machine {
 public:
  explicit Machine(const AlarmSettings& settings = {}) : evaluator(settings) {
    const std::vector<model::Element> rows{{.id = 1, .kind = ElementKind::kMachine, .name = "host"}};
    feed.Add(model::ToBatch(rows));
  }

  model::ElementId Add(ElementKind kind, const std::string& name) {
    const std::vector<model::Element> rows{{.id = ++elements_, .parent = 1, .kind = kind, .name = name}};
    feed.Add(model::ToBatch(rows));
    return elements_;
  }
  model::SeriesId Counter(const std::string& sensor, const std::string& signal, model::ElementId element = 1,
                          int64_t most = kAbsent) {
    return AddSeries(
        {.element = element, .kind = SeriesKind::kCounter, .max_per_second = most, .sensor = sensor, .signal = signal});
  }
  model::SeriesId Gauge(const std::string& sensor, const std::string& signal, model::ElementId element = 1,
                        int scale = 0) {
    return AddSeries({.element = element, .scale = scale, .sensor = sensor, .signal = signal});
  }
  model::StreamId Stream(const std::vector<model::SeriesId>& series, int64_t interval_ns = 500 * kMs) {
    const std::vector<model::Stream> rows{{++streams_, interval_ns, series}};
    feed.Add(model::ToBatch(rows));
    return streams_;
  }
  /// @param columns of all rows
  void Samples(model::StreamId stream, std::vector<int64_t> times, std::vector<std::vector<int64_t>> columns) {
    model::Batch batch;
    batch.table = model::Sample::kTable;
    batch.stream = stream;
    batch.rows = times.size();
    batch.ints.push_back(std::move(times));
    for (auto& column : columns) batch.ints.push_back(std::move(column));
    feed.Add(batch);
    for (Alarm& alarm : evaluator.Take()) alarms.push_back(std::move(alarm));
  }
  void Sample(model::StreamId stream, double at_s, const std::vector<int64_t>& values) {
    std::vector<std::vector<int64_t>> columns;
    for (const int64_t value : values) columns.push_back({value});
    Samples(stream, {At(at_s)}, std::move(columns));
  }
  static int64_t At(double s) { return kStart + static_cast<int64_t>(s * 1e9); }

  AlarmStatus StatusOf(std::string_view name) const {
    for (AlarmStatus& status : evaluator.Status()) {
      if (status.rule.rule->name == name) return status;
    }
    ADD_FAILURE() << "no alarm " << name;
    return {};
  }

  AlarmEvaluator evaluator;
  LiveFeed feed{{&evaluator}};
  std::vector<Alarm> alarms;

 private:
  model::SeriesId AddSeries(model::Series series) {
    series.id = ++series_;
    const std::vector<model::Series> rows{series};
    feed.Add(model::ToBatch(rows));
    return series.id;
  }

  model::ElementId elements_ = 1;
  model::SeriesId series_ = 0;
  model::StreamId streams_ = 0;
};

/// Memory of 100 units; `free` of them at each half second.
class Memory : public Machine {
 public:
  explicit Memory(const AlarmSettings& settings = {}) : Machine(settings) {
    const auto free = Gauge("memory", "MemAvailable");
    stream_ = Stream({free, Gauge("memory", "MemTotal")});
  }
  void Free(double from_s, double until_s, int64_t free) {
    for (double at_s = from_s; at_s < until_s; at_s += 0.5) Sample(stream_, at_s, {free, 100});
  }

 private:
  model::StreamId stream_ = 0;
};

std::vector<std::pair<AlarmState, double>> Times(const std::vector<Alarm>& alarms) {
  std::vector<std::pair<AlarmState, double>> times;
  for (const Alarm& alarm : alarms) times.emplace_back(alarm.state, static_cast<double>(alarm.t_ns - kStart) / 1e9);
  return times;
}

constexpr auto kRaised = AlarmState::kRaised;
constexpr auto kCleared = AlarmState::kCleared;

TEST(Alarms, AreRaisedWhenItHoldsForLongEnoughAndClearedBehindAnotherThreshold) {
  Memory machine;
  machine.Free(0, 2, 50);
  machine.Free(2, 10, 4);   // beyond 5 from 2 s on, for 3 s at 5 s
  machine.Free(10, 20, 6);  // neither low nor cleared: that begins at 8
  machine.Free(20, 30, 8);
  ASSERT_THAT(Times(machine.alarms), ElementsAre(std::pair(kRaised, 5.0), std::pair(kCleared, 23.0)));
  const Alarm& raised = machine.alarms[0];
  EXPECT_EQ(raised.alarm, "memory.low");
  EXPECT_EQ(raised.severity, model::AlarmSeverity::kCritical);
  EXPECT_EQ(raised.id, 1);
  EXPECT_EQ(raised.element, 1u);
  EXPECT_EQ(raised.value, 4000);
  EXPECT_EQ(raised.threshold, 5000);
  EXPECT_EQ(raised.scale, -3);
  EXPECT_EQ(raised.unit, "%");
  EXPECT_EQ(raised.text, "4 % of the memory are left");
  EXPECT_FALSE(raised.advice.empty());
  const Alarm& cleared = machine.alarms[1];
  EXPECT_EQ(cleared.id, 1);
  EXPECT_EQ(cleared.threshold, 8000);
  EXPECT_EQ(cleared.text, "8 % of the memory are left");
  EXPECT_TRUE(cleared.advice.empty());
}

TEST(Alarms, WhatDoesNotHoldForLongEnoughRaisesNothing) {
  Memory machine;
  for (int i = 0; i < 20; ++i) {
    machine.Free(4 * i, 4 * i + 3, 4);  // holds for 2.5 s
    machine.Free(4 * i + 3, 4 * i + 4, 50);
  }
  EXPECT_THAT(machine.alarms, IsEmpty());
}

TEST(Alarms, TheThresholdItselfIsNotBeyond) {
  Memory machine;
  machine.Free(0, 60, 5);
  EXPECT_THAT(machine.alarms, IsEmpty());
}

TEST(Alarms, WhatHeldBeforeAGapSaysNothingOfTheTimeInIt) {
  Memory machine;
  machine.Free(0, 2.5, 4);
  machine.Free(30, 32.5, 4);
  EXPECT_THAT(machine.alarms, IsEmpty());
  machine.Free(32.5, 34, 4);
  EXPECT_THAT(Times(machine.alarms), ElementsAre(std::pair(kRaised, 33.0)));
}

TEST(Alarms, OneIncreaseOfACounterIsEnoughForThoseThatDoNotWait) {
  Machine machine;
  const auto stream = machine.Stream({machine.Counter("vmstat", "oom_kill")});
  for (double at_s = 0; at_s < 70; at_s += 0.5) machine.Sample(stream, at_s, {at_s < 3 ? 7 : 8});
  ASSERT_THAT(Times(machine.alarms), ElementsAre(std::pair(kRaised, 3.0), std::pair(kCleared, 63.5)));
  EXPECT_EQ(machine.alarms[0].alarm, "memory.oom_kill");
}

TEST(Alarms, ACounterThatWentBackIsNoRate) {
  Machine machine;
  const auto stream = machine.Stream({machine.Counter("vmstat", "oom_kill")});
  for (double at_s = 0; at_s < 5; at_s += 0.5) machine.Sample(stream, at_s, {at_s < 3 ? 4'000'000'000 : 0});
  EXPECT_THAT(machine.alarms, IsEmpty());
}

TEST(Alarms, SamplesAreLookedAtTwiceASecondHoweverTheyAreCutIntoBatches) {
  const auto run = [](size_t rows_a_batch) {
    Machine machine;
    const auto free = machine.Gauge("memory", "MemAvailable");
    const auto stream = machine.Stream({free, machine.Gauge("memory", "MemTotal")}, kMs);
    std::vector<int64_t> times, values, totals;
    for (int64_t row = 0; row < 20'000; ++row) {
      times.push_back(kStart + row * kMs + (row % 7) * 1000);
      values.push_back(row < 4'000 || row > 12'000 ? 50 : 1);
      totals.push_back(100);
      if (times.size() == rows_a_batch || row + 1 == 20'000)
        machine.Samples(stream, std::exchange(times, {}), {std::exchange(values, {}), std::exchange(totals, {})});
    }
    return machine.alarms;
  };
  const std::vector<Alarm> at_once = run(20'000);
  EXPECT_THAT(at_once, SizeIs(2));
  EXPECT_EQ(run(50), at_once);
  EXPECT_EQ(run(1), at_once);
}

TEST(Alarms, EveryElementHasItsOwn) {
  Machine machine;
  const auto fast = machine.Add(ElementKind::kDevice, "eth0");
  const auto idle = machine.Add(ElementKind::kDevice, "eth1");
  const auto unknown = machine.Add(ElementKind::kDevice, "lo");
  std::vector<model::SeriesId> series;
  for (const auto element : {fast, idle, unknown}) {
    const int64_t most = element == unknown ? kAbsent : 125'000'000;
    series.push_back(machine.Counter("network", "rx_bytes", element, most));
    series.push_back(machine.Counter("network", "tx_bytes", element, most));
  }
  const auto stream = machine.Stream(series);
  for (int64_t i = 0; i < 20; ++i) {
    machine.Sample(stream, static_cast<double>(i) / 2, {i, i * 60'000'000, i, i, i * 999'000'000, 0});
  }
  ASSERT_THAT(machine.alarms, SizeIs(1));
  EXPECT_EQ(machine.alarms[0].alarm, "network.saturated");
  EXPECT_EQ(machine.alarms[0].element, fast);
  EXPECT_EQ(machine.alarms[0].text, "eth0 carries 96 % of what its link can");
  EXPECT_EQ(machine.alarms[0].series, series[0]);
  const AlarmStatus status = machine.StatusOf("network.saturated");
  EXPECT_EQ(status.verdict, AlarmVerdict::kRaised);
  ASSERT_THAT(status.readings, SizeIs(2)) << "the link of lo has no speed";
  EXPECT_EQ(status.readings[0].where, "eth0");
  EXPECT_TRUE(status.readings[0].raised);
  EXPECT_FALSE(status.readings[1].raised);
}

TEST(Alarms, WhatVanishesIsCleared) {
  Machine machine({{"storage.space", {.threshold = 10}}});
  const auto stick = machine.Add(ElementKind::kDevice, "/media/stick");
  const auto root = machine.Add(ElementKind::kDevice, "/");
  const auto here = [&](model::ElementId element) {
    return machine.Stream(
        {machine.Gauge("storage", "free_bytes", element), machine.Gauge("storage", "total_bytes", element)}, kSecond);
  };
  const auto on_stick = here(stick);
  const auto on_root = here(root);
  for (double at_s = 0; at_s < 30; at_s += 1) {
    if (at_s < 5) machine.Sample(on_stick, at_s, {1, 100});
    machine.Sample(on_root, at_s, {1, 100});
  }
  ASSERT_THAT(machine.alarms, SizeIs(3));
  EXPECT_EQ(machine.alarms[2].state, kCleared);
  EXPECT_EQ(machine.alarms[2].element, stick);
  EXPECT_EQ(machine.alarms[2].value, kAbsent);
  EXPECT_EQ(machine.alarms[2].text, "/media/stick has no values any more");
  EXPECT_LT(machine.alarms[2].t_ns, Machine::At(15));
  EXPECT_THAT(machine.StatusOf("storage.space").readings, SizeIs(1));
}

TEST(Alarms, AMissingValueForAMomentChangesNothing) {
  Memory machine;
  machine.Free(0, 5, 4);
  machine.Free(5, 5.5, kAbsent);
  machine.Free(5.5, 10, 4);
  EXPECT_THAT(Times(machine.alarms), ElementsAre(std::pair(kRaised, 3.0)));
}

TEST(Alarms, OfNothingThereIsNoShare) {
  Machine machine;
  const auto stream = machine.Stream({machine.Gauge("memory", "SwapFree"), machine.Gauge("memory", "SwapTotal")});
  for (double at_s = 0; at_s < 20; at_s += 0.5) machine.Sample(stream, at_s, {0, 0});
  EXPECT_THAT(machine.alarms, IsEmpty());
  const AlarmStatus status = machine.StatusOf("memory.swap_full");
  EXPECT_EQ(status.verdict, AlarmVerdict::kNotJudged);
  EXPECT_EQ(status.why, "memory.SwapTotal is 0 here");
}

/// Four CPUs, of which `idle` idle all the time, while something waits in `waiting` of the time.
std::optional<double> OverlapOf(double idle, double waiting) {
  Machine machine;
  std::vector<model::SeriesId> series;
  for (int cpu = 0; cpu < 4; ++cpu) {
    const auto element = machine.Add(ElementKind::kCpu, "cpu" + std::to_string(cpu));
    series.push_back(machine.Counter("cpu", "idle", element, 100));
    series.push_back(machine.Counter("cpu", "iowait", element, 100));
  }
  const auto cpus = machine.Stream(series);
  const auto pressure = machine.Stream({machine.Counter("pressure", "cpu_some_total", 1, 1'000'000)});
  for (int64_t second = 0; second < 10; ++second) {
    machine.Sample(pressure, static_cast<double>(second),
                   {static_cast<int64_t>(static_cast<double>(second) * waiting * 1e6)});
    std::vector<int64_t> values;
    for (int cpu = 0; cpu < 4; ++cpu) {
      const double share = std::clamp(idle - cpu, 0.0, 1.0);
      values.push_back(static_cast<int64_t>(static_cast<double>(second) * share * 60));
      values.push_back(static_cast<int64_t>(static_cast<double>(second) * share * 40));
    }
    machine.Sample(cpus, static_cast<double>(second), values);
  }
  const AlarmStatus status = machine.StatusOf("cpu.idle_beside_queue");
  EXPECT_EQ(status.verdict == AlarmVerdict::kRaised, !machine.alarms.empty());
  return status.readings.empty() ? std::nullopt : status.readings[0].value;
}

TEST(Alarms, CpusThatIdleBesideAQueueAreCountedOnlyWhereThatIsCertain) {
  EXPECT_NEAR(OverlapOf(3, 1).value_or(-1), 3, 0.05) << "all wait for one CPU, three idle all the time";
  EXPECT_NEAR(OverlapOf(2, 0.5).value_or(-1), 0, 0.05) << "may have idled whenever nothing waited";
  EXPECT_NEAR(OverlapOf(3, 0.5).value_or(-1), 1, 0.05) << "half of the time four may have idled, else two";
  EXPECT_NEAR(OverlapOf(0, 1).value_or(-1), 0, 0.05);
  EXPECT_NEAR(OverlapOf(4, 0).value_or(-1), 0, 0.05);
}

TEST(Alarms, IdleTimesAndPressureOfOtherMomentsSayNothing) {
  Machine machine({{"cpu.overloaded", {.on = false}}});
  const auto cpu = machine.Add(ElementKind::kCpu, "cpu0");
  const auto cpus = machine.Stream({machine.Counter("cpu", "idle", cpu, 100)}, kSecond);
  const auto pressure = machine.Stream({machine.Counter("pressure", "cpu_some_total", 1, 1'000'000)}, 10 * kSecond);
  for (int64_t s = 0; s < 60; ++s) {
    machine.Sample(cpus, static_cast<double>(s), {s * 100});
    if (s % 10 == 0) machine.Sample(pressure, static_cast<double>(s), {s * 1'000'000});
  }
  EXPECT_THAT(machine.alarms, IsEmpty());
  EXPECT_EQ(machine.StatusOf("cpu.idle_beside_queue").why, "cpu and pressure are not sampled at the same moments");
}

TEST(Alarms, MoreMustHoldAtTheSameTime) {
  const auto run = [](int64_t in_flight) {
    Machine machine;
    const auto disk = machine.Add(ElementKind::kDevice, "sda");
    const auto busy = machine.Counter("block", "busy_time", disk, 1000);
    const auto stream = machine.Stream({busy, machine.Counter("block", "queue_time", disk)}, kSecond);
    for (int64_t s = 0; s < 20; ++s)
      machine.Sample(stream, static_cast<double>(s), {s * 1000, s * 1'000'000'000 * in_flight});
    return machine.alarms.size();
  };
  EXPECT_EQ(run(1), 0u) << "one request after the other is no queue";
  EXPECT_EQ(run(8), 1u);
}

TEST(Alarms, SeriesGoOnInAnotherStream) {
  Machine machine;
  const std::vector<model::SeriesId> series{machine.Gauge("memory", "MemAvailable"),
                                            machine.Gauge("memory", "MemTotal")};
  const auto slow = machine.Stream(series, kSecond);
  for (double at_s = 0; at_s < 2; at_s += 1) machine.Sample(slow, at_s, {4, 100});
  const auto fast = machine.Stream(series, 100 * kMs);
  for (int i = 0; i < 40; ++i) machine.Sample(fast, 2 + i / 10.0, {4, 100});
  EXPECT_THAT(Times(machine.alarms), ElementsAre(std::pair(kRaised, 3.0)));
}

TEST(Alarms, ThresholdsCanBeChangedMeanwhile) {
  Memory machine;
  machine.Free(0, 10, 30);
  EXPECT_THAT(machine.alarms, IsEmpty());
  machine.evaluator.Apply({{"memory.low", {.threshold = 40}}});
  machine.Free(10, 20, 30);
  EXPECT_THAT(Times(machine.alarms), ElementsAre(std::pair(kRaised, 13.0))) << "it waits as ever";
  machine.evaluator.Apply({{"memory.low", {.on = false}}});
  machine.Free(20, 25, 30);
  ASSERT_THAT(machine.alarms, SizeIs(2));
  EXPECT_EQ(machine.alarms[1].state, kCleared);
  EXPECT_EQ(machine.alarms[1].text, "turned off");
  EXPECT_EQ(machine.StatusOf("memory.low").verdict, AlarmVerdict::kOff);
}

TEST(Alarms, WhoLooksForAMomentWaitsNoLonger) {
  Memory machine;
  machine.evaluator.LimitFor(kSecond);
  machine.Free(0, 2, 4);
  EXPECT_THAT(Times(machine.alarms), ElementsAre(std::pair(kRaised, 1.0)));
}

TEST(Alarms, WhatCannotBeJudgedSaysWhy) {
  Machine machine;
  const std::vector<std::pair<std::string, std::string>> rows{
      {"skipped.hwmon", "/sys/class/hwmon: no chip reports anything"}};
  machine.feed.Add(model::InfoBatch(rows));
  const auto device = machine.Add(ElementKind::kDevice, "eth0");
  machine.Counter("network", "rx_bytes", device);
  machine.Counter("network", "tx_bytes", device);
  machine.Counter("vmstat", "pgfault");
  const auto why = [&](std::string_view name) {
    const AlarmStatus status = machine.StatusOf(name);
    EXPECT_EQ(status.verdict, AlarmVerdict::kNotJudged) << name;
    return status.why;
  };
  EXPECT_EQ(why("heat.margin"), "no sensor hwmon here: /sys/class/hwmon: no chip reports anything");
  EXPECT_EQ(why("memory.low"), "the sensor memory is not sampled");
  EXPECT_EQ(why("memory.oom_kill"), "the sensor vmstat has no signal oom_kill here");
  EXPECT_EQ(why("network.saturated"), "the most that is possible of network.rx_bytes is not known here");
  EXPECT_EQ(machine.StatusOf("network.traffic").verdict, AlarmVerdict::kOff);
}

TEST(Alarms, ForeignRowsDoNoHarm) {
  Memory machine;
  machine.Samples(99, {1, 2}, {});
  machine.Samples(1, {kStart}, {});  // columns are missing
  machine.Samples(1, {}, {});
  machine.Samples(1, {INT64_MIN + 1, INT64_MAX}, {{kAbsent, INT64_MAX}, {INT64_MAX, INT64_MIN + 1}});
  EXPECT_EQ(machine.StatusOf("memory.low").rule.rule->name, "memory.low");
}

TEST(JudgeRecording, FindsWhatWasFoundLive) {
  FakeSource source;
  source.AddElement(ElementKind::kMachine, "host");
  const auto disk = source.AddElement(ElementKind::kDevice, "/data", 1);
  const auto gauge = SeriesKind::kGauge;
  const auto memory = source.AddStream(100 * kMs, {{1, "memory", "Cached", "bytes", gauge},
                                                   {1, "memory", "MemAvailable", "bytes", gauge},
                                                   {1, "memory", "MemTotal", "bytes", gauge}});
  const auto storage = source.AddStream(10 * kSecond, {{disk, "storage", "free_bytes", "bytes", gauge},
                                                       {disk, "storage", "total_bytes", "bytes", gauge}});
  source.AddStream(kSecond, {{1, "vmstat", "pgfault", "", gauge}});
  AlarmEvaluator live;
  LiveFeed feed({&live});
  feed.Add(model::ToBatch(source.meta.elements));
  feed.Add(model::ToBatch(source.meta.series));
  feed.Add(model::ToBatch(source.meta.streams));
  const auto sample = [&](model::StreamId stream, int64_t t_ns, std::vector<int64_t> values) {
    model::Batch batch{.table = model::Sample::kTable, .stream = stream, .rows = 1, .ints = {{t_ns}}};
    for (const int64_t value : values) batch.ints.push_back({value});
    feed.Add(batch);
    source.samples[stream].emplace_back(t_ns, std::move(values));
  };
  for (int64_t i = 0; i < 3000; ++i) {
    const int64_t t_ns = kStart + i * 100 * kMs;
    sample(memory, t_ns, {0, i % 500 < 100 ? 2 : 50, 100});
    if (i % 100 == 0) sample(storage, t_ns + 1, {i < 1000 ? 50 : 1, 100});
  }
  source.extent = {kStart, kStart + 3000 * 100 * kMs};
  const std::vector<Alarm> expected = live.Take();
  EXPECT_THAT(expected, SizeIs(13)) << "memory six times and back, space once";
  const auto history = JudgeRecording(source, {});
  ASSERT_TRUE(history.ok());
  EXPECT_EQ(history->alarms, expected);
  const auto stricter = JudgeRecording(source, {{"memory.low", {.threshold = 1}}, {"storage.space", {.on = false}}});
  ASSERT_TRUE(stricter.ok());
  EXPECT_THAT(stricter->alarms, IsEmpty());
  source.extent = {-INT64_MAX, INT64_MAX};
  EXPECT_TRUE(JudgeRecording(source, {}).ok()) << "and it ends";
}

TEST(PairAlarms, JoinsRaisingAndClearing) {
  const auto row = [](int64_t id, AlarmState state, int64_t t_ns) {
    Alarm alarm;
    alarm.id = id;
    alarm.state = state;
    alarm.t_ns = t_ns;
    return alarm;
  };
  const std::vector<Alarm> rows{row(9, kCleared, 1), row(1, kRaised, 2), row(2, kRaised, 3), row(1, kCleared, 4)};
  const std::vector<AlarmSpan> spans = PairAlarms(rows);
  ASSERT_THAT(spans, SizeIs(2));
  EXPECT_EQ(spans[0].raised.t_ns, 2);
  EXPECT_EQ(spans[0].cleared_ns, 4);
  EXPECT_EQ(spans[1].cleared_ns, kAbsent);
}

// ---- settings

const AlarmRule& Rule(std::string_view name) { return **FindAlarmRule(name); }

double Parsed(std::string_view name, std::string_view text) {
  const auto value = ParseAlarmThreshold(Rule(name), text);
  EXPECT_TRUE(value.ok()) << text << ": " << (value.ok() ? "" : value.error().message);
  return value.value_or(-1);
}

TEST(AlarmSettings, ThresholdsHaveTheRulesUnitOrNone) {
  EXPECT_EQ(Parsed("memory.low", "10"), 10);
  EXPECT_EQ(Parsed("memory.low", "10%"), 10);
  EXPECT_EQ(Parsed("memory.low", " 2.5 % "), 2.5);
  EXPECT_EQ(Parsed("heat.margin", "10C"), 10);
  EXPECT_EQ(Parsed("memory.thrashing", "5/s"), 5);
  EXPECT_EQ(Parsed("network.traffic", "1MB/s"), 1 << 20);
  EXPECT_EQ(Parsed("network.traffic", "64 kB"), 64 << 10);
  for (const char* text : {"", "x", "%", "10 GB", "-1", "101 %", "1e300", "nan", "inf", "10 % %", "0x10"}) {
    const auto value = ParseAlarmThreshold(Rule("memory.low"), text);
    ASSERT_FALSE(value.ok()) << text;
    EXPECT_EQ(value.error().code, Errc::kInvalidArgument);
    EXPECT_THAT(value.error().message, HasSubstr("alarm memory.low: "));
    EXPECT_THAT(value.error().hint, HasSubstr("memory.low=5 %"));
  }
}

TEST(AlarmSettings, AreGivenByName) {
  AlarmSettings settings;
  EXPECT_TRUE(AddAlarmSetting("memory.low=10%", settings).ok());
  EXPECT_TRUE(AddAlarmSetting(" storage.space = off ", settings).ok());
  EXPECT_TRUE(AddAlarmSetting("network.traffic=on", settings).ok());
  EXPECT_EQ(settings["memory.low"], (AlarmSetting{.on = true, .threshold = 10}));
  EXPECT_EQ(settings["storage.space"].on, false);
  EXPECT_EQ(settings["network.traffic"].on, true);
  const auto refused = [&](std::string_view text) {
    const Status status = AddAlarmSetting(text, settings);
    EXPECT_FALSE(status.ok()) << text;
    return status.ok() ? Error() : status.error();
  };
  EXPECT_THAT(refused("memory.lwo=5").hint, HasSubstr("did you mean memory.low"));
  EXPECT_EQ(refused("memory.lwo=5").code, Errc::kInvalidArgument);
  EXPECT_THAT(refused("memory.low").message, HasSubstr("is not NAME=VALUE"));
  EXPECT_THAT(refused("=5").message, HasSubstr("is not NAME=VALUE"));
  EXPECT_THAT(refused("all=5").hint, HasSubstr("all=off"));
  EXPECT_TRUE(AddAlarmSetting("all=off", settings).ok());
  EXPECT_TRUE(AddAlarmSetting("memory.low=7", settings).ok()) << "what follows all=off is on again";
  for (const TunedRule& rule : TuneAll(settings)) EXPECT_EQ(rule.on, rule.rule->name == "memory.low");
}

TEST(AlarmSettings, TheClearingThresholdMovesAlong) {
  EXPECT_DOUBLE_EQ(Tune(Rule("network.saturated"), {.threshold = 45}).clear, 37.5);
  const TunedRule high = Tune(Rule("storage.space"), {.threshold = 99});
  EXPECT_GT(high.clear, 99);
  EXPECT_LT(high.clear, 100) << "else it could never be cleared";
  EXPECT_DOUBLE_EQ(Tune(Rule("storage.space"), {.threshold = 99, .clear = 99.5}).clear, 99.5);
  EXPECT_EQ(Tune(Rule("memory.oom_kill"), {.threshold = 3}).clear, 3);
}

TEST(AlarmSettings, SurviveTheRecording) {
  const AlarmSettings settings{{"memory.low", {.threshold = 12.5, .for_ns = 0}}, {"storage.space", {.on = false}}};
  const std::vector<TunedRule> rules = TuneAll(settings);
  const std::vector<TunedRule> back = TuneAll(AlarmSettingsFromText(ToText(rules)));
  ASSERT_EQ(back.size(), rules.size());
  for (size_t i = 0; i < rules.size(); ++i) {
    EXPECT_EQ(back[i].on, rules[i].on) << rules[i].rule->name;
    if (!rules[i].on) continue;
    EXPECT_EQ(back[i].threshold, rules[i].threshold);
    EXPECT_EQ(back[i].clear, rules[i].clear);
    EXPECT_EQ(back[i].for_ns, rules[i].for_ns);
  }
  EXPECT_TRUE(
      AlarmSettingsFromText("memory.low=;x=1 2 3;memory.low=1;;=;memory.low=1 2 3 4;memory.low=nan 1 1").empty());
}

TEST(AlarmSettings, LaterOnesGoBefore) {
  AlarmSettings settings{{"memory.low", {.threshold = 10, .clear = 20, .for_ns = 5}}};
  MergeAlarmSettings({{"memory.low", {.threshold = 30}}, {"disk.hot", {.on = false}}}, settings);
  EXPECT_EQ(settings["memory.low"], (AlarmSetting{.threshold = 30, .for_ns = 5}));
  EXPECT_EQ(settings["disk.hot"].on, false);
}

TEST(AlarmRules, AreOfOnePiece) {
  for (const AlarmRule& rule : AlarmRules()) {
    const TunedRule tuned = Tune(rule, {});
    EXPECT_TRUE(rule.condition.above ? tuned.clear <= tuned.threshold : tuned.clear >= tuned.threshold) << rule.name;
    EXPECT_FALSE(rule.condition.series.terms.empty()) << rule.name;
    EXPECT_FALSE(rule.advice.empty()) << rule.name;
    const auto again = ParseAlarmThreshold(rule, FormatAlarmValue(tuned.threshold, rule.unit()));
    EXPECT_TRUE(again.ok()) << rule.name << ": the hint gives a value that is not understood";
  }
}

}  // namespace
}  // namespace attune::analysis::alarms_test
