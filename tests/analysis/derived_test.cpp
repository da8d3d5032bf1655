#include <gmock/gmock.h>

#include <tuple>

#include "analysis/derived/derived_operator.h"
#include "tests/analysis/fake_source.h"

namespace attune::analysis::derived_test {
namespace {

using model::ElementKind;
using model::kAbsent;
using model::SeriesKind;
using model::SumRule;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kSecond = 1000 * kMs;

constexpr SignalName kUsed[] = {{"disk", "used"}};
constexpr SignalName kSize[] = {{"disk", "size"}};
constexpr SignalName kBusy[] = {{"disk", "read_time"}, {"disk", "write_time"}};
constexpr SignalName kWaiting[] = {{"pressure", "io"}};

constexpr DerivedTerm kParts[] = {{kUsed, SeriesValue::kLevel, SumRule::kSum},
                                  {kSize, SeriesValue::kLevel, SumRule::kSum}};
constexpr DerivedStep kPercent[] = {{DerivedOp::kNumber, 100},
                                    {DerivedOp::kTerm, 0, 0},
                                    {DerivedOp::kMultiply},
                                    {DerivedOp::kTerm, 0, 1},
                                    {DerivedOp::kDivide}};
constexpr DerivedSeries kFullness{"%", kParts, kPercent, true, false};
constexpr DerivedSeries kFullnessOfAll{"%", kParts, kPercent, false, false};
constexpr DerivedStep kLess[] = {{DerivedOp::kTerm, 0, 1}, {DerivedOp::kTerm, 0, 0}, {DerivedOp::kSubtract}};
constexpr DerivedSeries kFree{"bytes", kParts, kLess, true, false};

constexpr DerivedTerm kBusyRate[] = {{kBusy, SeriesValue::kRate, SumRule::kSum}};
constexpr DerivedStep kItself[] = {{DerivedOp::kTerm, 0, 0}};
constexpr DerivedSeries kBusyTime{"ns/s", kBusyRate, kItself, true, false};
constexpr DerivedTerm kBusyShare[] = {{kBusy, SeriesValue::kShare, SumRule::kMax},
                                      {kWaiting, SeriesValue::kShare, SumRule::kSum}};
constexpr DerivedSeries kBusiest{"%", {kBusyShare, 1}, kItself, false, false};
constexpr DerivedStep kBoth[] = {{DerivedOp::kTerm, 0, 0},
                                 {DerivedOp::kElements, 0, 0},
                                 {DerivedOp::kAdd},
                                 {DerivedOp::kTerm, 0, 1},
                                 {DerivedOp::kMin}};
constexpr DerivedSeries kBusyBesideWaiting{"%", kBusyShare, kBoth, false, true};

using Point = std::tuple<double, model::ElementId, double>;  // seconds, element, value

/// A source's samples, and what one series becomes of them.
class Derived {
 public:
  explicit Derived(const DerivedSeries& series)
      : by({&series}, [this](int64_t now_ns, std::span<const DerivedValue* const> values) {
          ++looks;
          for (const DerivedValue* value : values) {
            if (const auto known = value->At(now_ns))
              points.emplace_back(static_cast<double>(now_ns) / 1e9, value->element(), *known);
          }
        }) {}
  void Feed(FakeSource& source) {
    source.extent = {0, 1000 * kSecond};
    ASSERT_TRUE(FeedInOrder(source, by).ok());
  }

  DerivedOperator by;
  std::vector<Point> points;
  int looks = 0;
};

FakeSource::Signal Gauge(model::ElementId element, const std::string& signal) {
  return {element, "disk", signal, "bytes", SeriesKind::kGauge};
}

TEST(Derived, ARatioOfEachElementAndOfAll) {
  FakeSource source;
  const auto sda = source.AddElement(ElementKind::kDevice, "sda"), sdb = source.AddElement(ElementKind::kDevice, "sdb");
  const auto stream =
      source.AddStream(kSecond, {Gauge(sda, "used"), Gauge(sda, "size"), Gauge(sdb, "used"), Gauge(sdb, "size")});
  source.samples[stream] = {{kSecond, {10, 100, 40, 300}}, {2 * kSecond, {20, 100, kAbsent, 300}}};
  Derived each(kFullness), all(kFullnessOfAll), free(kFree);
  each.Feed(source);
  all.Feed(source);
  free.Feed(source);
  EXPECT_THAT(each.points, ElementsAre(Point(1, sda, 10), Point(1, sdb, 40.0 * 100 / 300), Point(2, sda, 20)));
  EXPECT_THAT(all.points, ElementsAre(Point(1, 0, 12.5), Point(2, 0, 5))) << "of what is known";
  EXPECT_THAT(free.points, ElementsAre(Point(1, sda, 90), Point(1, sdb, 260), Point(2, sda, 80)));
  ASSERT_NE(each.by.Find(kFullness, sdb), nullptr);
  EXPECT_EQ(each.by.Find(kFullness, sdb)->FirstSeries(), 3u);
  EXPECT_EQ(each.by.Find(kFullness, 99), nullptr);
  EXPECT_THAT(each.by.TracksOf({"disk", "size"}), SizeIs(2));
}

TEST(Derived, NothingIsAPartOfNothing) {
  FakeSource source;
  const auto sda = source.AddElement(ElementKind::kDevice, "sda");
  const auto stream = source.AddStream(kSecond, {Gauge(sda, "used"), Gauge(sda, "size")});
  source.samples[stream] = {{kSecond, {0, 0}}, {2 * kSecond, {5, kAbsent}}};
  Derived derived(kFullness);
  derived.Feed(source);
  EXPECT_EQ(derived.looks, 2);
  EXPECT_THAT(derived.points, IsEmpty());
}

TEST(Derived, RatesAreThoseBetweenTheSamplesThatAreLookedAt) {
  FakeSource source;
  const auto sda = source.AddElement(ElementKind::kDevice, "sda");
  const auto stream =
      source.AddStream(100 * kMs, {{sda, "disk", "read_time", "ns"}, {sda, "disk", "write_time", "ns"}});
  int64_t counted = 0;
  for (int64_t t = 0; t <= 20; ++t) {
    source.samples[stream].emplace_back(t * 100 * kMs, std::vector<int64_t>{counted, t == 10 ? 0 : 1000});
    counted += t < 10 ? 1 : 3;
  }
  Derived derived(kBusyTime);
  derived.Feed(source);
  EXPECT_EQ(derived.looks, 5);
  EXPECT_THAT(derived.points,
              ElementsAre(Point(0.5, sda, 10), Point(1, sda, 10), Point(1.5, sda, 30 + 2000), Point(2, sda, 30)))
      << "the counter that went back has no rate at that moment";
}

TEST(Derived, AGapHasNoRateAndOldValuesAreForgotten) {
  FakeSource source;
  const auto sda = source.AddElement(ElementKind::kDevice, "sda");
  const auto stream = source.AddStream(kSecond, {{sda, "disk", "read_time", "ns"}});
  source.samples[stream] = {{kSecond, {0}}, {2 * kSecond, {7}}, {60 * kSecond, {70}}, {61 * kSecond, {71}}};
  Derived derived(kBusyTime);
  derived.Feed(source);
  EXPECT_THAT(derived.points, ElementsAre(Point(2, sda, 7), Point(61, sda, 1)));
  const DerivedValue* value = derived.by.Find(kBusyTime, sda);
  ASSERT_NE(value, nullptr);
  EXPECT_EQ(value->At(61 * kSecond + value->HoldsNs()), 1);
  EXPECT_EQ(value->At(61 * kSecond + value->HoldsNs() + 1), std::nullopt);
}

/// Two disks that are busy for half of the time and for all of it, while something waits for a quarter of it.
FakeSource BusyDisks(int64_t pressure_late_ns) {
  FakeSource source;
  const auto sda = source.AddElement(ElementKind::kDevice, "sda"), sdb = source.AddElement(ElementKind::kDevice, "sdb");
  const auto pressure = source.AddStream(kSecond, {{1, "pressure", "io", "us"}});
  const auto disks = source.AddStream(kSecond, {{sda, "disk", "read_time", "ms"}, {sdb, "disk", "write_time", "ms"}});
  for (model::Series& series : source.meta.series) series.max_per_second = 1000;
  for (int64_t t = 0; t < 4; ++t) {
    source.samples[disks].emplace_back(t * kSecond, std::vector<int64_t>{t * 500, t * 1000});
    source.samples[pressure].emplace_back(t * kSecond + pressure_late_ns, std::vector<int64_t>{t * 250});
  }
  return source;
}

TEST(Derived, SharesAreOfTheLargestRate) {
  FakeSource source = BusyDisks(0);
  Derived derived(kBusiest);
  derived.Feed(source);
  EXPECT_THAT(derived.points, ElementsAre(Point(1, 0, 100), Point(2, 0, 100), Point(3, 0, 100)));
}

TEST(Derived, SignalsOfSeveralStreamsAreTakenTogetherWhereTheyAreOfOneTime) {
  FakeSource source = BusyDisks(10 * kMs);
  Derived derived(kBusyBesideWaiting);
  derived.Feed(source);
  EXPECT_THAT(derived.points, ElementsAre(Point(1.01, 0, 25), Point(2.01, 0, 25), Point(3.01, 0, 25)));
  FakeSource apart = BusyDisks(400 * kMs);
  Derived none(kBusyBesideWaiting);
  none.Feed(apart);
  EXPECT_THAT(none.points, IsEmpty());
}

TEST(Derived, LearnsFromBatchesWhereThereIsNoSource) {
  Derived derived(kFullness);
  LiveFeed feed({&derived.by});
  const std::vector<model::Series> series{{.id = 1, .element = 7, .sensor = "disk", .signal = "used"},
                                          {.id = 2, .element = 7, .sensor = "disk", .signal = "other"},
                                          {.id = 3, .element = 7, .sensor = "disk", .signal = "size"}};
  const std::vector<model::Stream> streams{{1, kSecond, {1, 2, 3}}, {2, kSecond, {2}}};
  feed.Add(model::ToBatch(series));
  feed.Add(model::ToBatch(streams));
  feed.Add({.table = model::Sample::kTable, .stream = 1, .rows = 1, .ints = {{kSecond}, {1}, {9}, {4}}, .texts = {}});
  feed.Add({.table = model::Sample::kTable, .stream = 1, .rows = 1, .ints = {{2 * kSecond}, {1}, {9}}, .texts = {}});
  EXPECT_THAT(derived.points, ElementsAre(Point(1, 7, 25)));
}

}  // namespace
}  // namespace attune::analysis::derived_test
