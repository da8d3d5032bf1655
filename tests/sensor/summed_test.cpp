#include "sensor/summed/summed.h"

#include <gmock/gmock.h>

#include "fake_host.h"
#include "sensor/registry.h"

namespace attune::sensor::summed_test {
namespace {

using attune::fakes::FakeHost;
using model::ElementKind;
using model::kAbsent;
using model::SeriesKind;
using model::SignalSpec;
using model::SumRule;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Delivers what the test says.
struct Script {
  std::vector<SignalSpec> specs;
  std::vector<int64_t> values;
  bool there = true;
};
class ScriptedSensor final : public model::Sensor {
 public:
  explicit ScriptedSensor(std::shared_ptr<Script> script) : script_(std::move(script)) {}
  const model::SensorInfo& Info() const override {
    static const model::SensorInfo kInfo{"scripted", "a test's", "nowhere", "0", 1};
    return kInfo;
  }
  Result<std::vector<SignalSpec>> Prepare(const HostRoot&) override { return script_->specs; }
  bool Sample(std::span<int64_t> out) override {
    std::copy(script_->values.begin(), script_->values.end(), out.begin());
    return script_->there;
  }
  std::unique_ptr<model::Sensor> Fresh() const override { return std::make_unique<ScriptedSensor>(script_); }

 private:
  std::shared_ptr<Script> script_;
};

SignalSpec Device(const std::string& signal, const std::string& name, SeriesKind kind = SeriesKind::kCounter,
                  SumRule sum = SumRule::kSum, int64_t max_per_second = kAbsent) {
  return {.element = {ElementKind::kDevice, kAbsent, name},
          .kind = kind,
          .max_per_second = max_per_second,
          .signal = signal,
          .unit = "bytes",
          .sum = sum};
}

class Summed : public ::testing::Test {
 protected:
  void Prepare(std::vector<SignalSpec> specs) {
    script->specs = std::move(specs);
    sensor = std::make_unique<SummedSensor>(std::make_unique<ScriptedSensor>(script));
    auto prepared = sensor->Prepare(HostRoot());
    ASSERT_TRUE(prepared.ok());
    specs_ = *prepared;
  }
  std::vector<int64_t> Sample(std::vector<int64_t> values) {
    script->values = std::move(values);
    std::vector<int64_t> out(specs_.size());
    script->there = true;
    EXPECT_TRUE(sensor->Sample(out));
    return out;
  }

  std::shared_ptr<Script> script = std::make_shared<Script>();
  std::unique_ptr<model::Sensor> sensor;
  std::vector<SignalSpec> specs_;
};

TEST_F(Summed, OneValueOfTheMachineASignal) {
  Prepare({Device("in", "a", SeriesKind::kCounter, SumRule::kSum, 100), Device("out", "a"),
           Device("in", "b", SeriesKind::kCounter, SumRule::kSum, 20), Device("out", "b")});
  ASSERT_EQ(specs_.size(), 2u);
  EXPECT_EQ(specs_[0].signal, "in");
  EXPECT_EQ(specs_[0].element, model::ElementKey{});
  EXPECT_EQ(specs_[0].unit, "bytes");
  EXPECT_EQ(specs_[0].max_per_second, 120);
  EXPECT_EQ(specs_[1].max_per_second, kAbsent) << "not known";
  EXPECT_THAT(Sample({1, 10, 2, 20}), ElementsAre(3, 30));
  EXPECT_THAT(Sample({2, 10, 4, 21}), ElementsAre(6, 31));
}

TEST_F(Summed, ASumOfCountersNeitherFallsNorLeaps) {
  Prepare({Device("in", "a"), Device("in", "b")});
  EXPECT_THAT(Sample({1000, 5'000'000}), ElementsAre(5'001'000));
  EXPECT_THAT(Sample({1010, kAbsent}), ElementsAre(5'001'010)) << "b is away";
  EXPECT_THAT(Sample({1020, 5'000'004}), ElementsAre(5'001'024)) << "b is back, and had counted 4";
  EXPECT_THAT(Sample({1030, 3}), ElementsAre(5'001'034)) << "b was reset";
  EXPECT_THAT(Sample({1030, 5}), ElementsAre(5'001'036));
  EXPECT_THAT(Sample({kAbsent, kAbsent}), ElementsAre(kAbsent)) << "nothing to sum is no value, not 0";
}

TEST_F(Summed, GaugesAddUpWhereTheCatalogSaysSo) {
  Prepare({Device("free", "a", SeriesKind::kGauge), Device("free", "b", SeriesKind::kGauge),
           Device("hz", "a", SeriesKind::kGauge, SumRule::kMean), Device("hz", "b", SeriesKind::kGauge, SumRule::kMean),
           Device("heat", "a", SeriesKind::kGauge, SumRule::kMax),
           Device("heat", "b", SeriesKind::kGauge, SumRule::kMax),
           Device("mode", "a", SeriesKind::kState, SumRule::kNone)});
  ASSERT_EQ(specs_.size(), 3u);
  EXPECT_THAT(Sample({1, 2, 1000, 2000, 40, 70, 3}), ElementsAre(3, 1500, 70));
  EXPECT_THAT(Sample({5, kAbsent, kAbsent, 1800, -40, -70, 3}), ElementsAre(5, 1800, -40));
  EXPECT_THAT(Sample({kAbsent, kAbsent, kAbsent, kAbsent, kAbsent, kAbsent, 1}),
              ElementsAre(kAbsent, kAbsent, kAbsent));
}

TEST_F(Summed, WhatDoesNotBelongTogetherIsLeftOut) {
  std::vector<SignalSpec> specs{Device("in", "a"), Device("in", "b"), Device("in", "c"), Device("in", "d")};
  specs[1].unit = "packets";
  specs[2].kind = SeriesKind::kGauge;
  specs[3].scale = 3;
  Prepare(specs);
  EXPECT_THAT(Sample({1, 10, 100, 1000}), ElementsAre(1));
}

TEST_F(Summed, WithoutAnythingToSumItIsUnavailable) {
  script->specs = {Device("mode", "a", SeriesKind::kState, SumRule::kNone)};
  SummedSensor none(std::make_unique<ScriptedSensor>(script));
  const auto prepared = none.Prepare(HostRoot());
  ASSERT_FALSE(prepared.ok());
  EXPECT_EQ(prepared.error().code, Errc::kUnavailable);
  EXPECT_THAT(prepared.error().hint, HasSubstr("-s scripted"));
  script->specs.clear();
  EXPECT_TRUE(none.Prepare(HostRoot()).ok()) << "nothing at the moment is not unavailable";
}

TEST_F(Summed, TellsThatTheSourceVanished) {
  Prepare({Device("in", "a")});
  script->there = false;
  std::vector<int64_t> out{7};
  EXPECT_FALSE(sensor->Sample(out));
  EXPECT_THAT(out, ElementsAre(kAbsent));
}

TEST_F(Summed, AFreshOneGoesOnCountingWhereTheOldOneStopped) {
  Prepare({Device("in", "a"), Device("in", "b")});
  EXPECT_THAT(Sample({100, 1000}), ElementsAre(1100));
  script->specs = {Device("in", "c"), Device("in", "a")};
  script->values = {777'000, 110};
  std::unique_ptr<model::Sensor> fresh = sensor->Fresh();
  ASSERT_TRUE(fresh->Prepare(HostRoot()).ok());
  std::vector<int64_t> out(1);
  ASSERT_TRUE(fresh->Sample(out));  // what the session reads to learn the cost
  fresh->Continue(*sensor);
  sensor = std::move(fresh);
  EXPECT_THAT(Sample({777'005, 120}), ElementsAre(1125)) << "5 of c, 20 of a; not what c had counted before it came";
}

TEST_F(Summed, OverflowStaysAtTheLimit) {
  Prepare({Device("in", "a"), Device("in", "b")});
  EXPECT_THAT(Sample({INT64_MAX, INT64_MAX}), ElementsAre(INT64_MAX));
}

TEST(SummedCpu, IsTheMachine) {
  FakeHost host;
  host.Write("/proc/stat", "cpu0 1 2 3 4\ncpu2 10 20 30 40\nctxt 5\n");
  SummedSensor sensor(*MakeSensor("cpu"));
  const auto specs = sensor.Prepare(host.Root());
  ASSERT_TRUE(specs.ok());
  EXPECT_EQ(specs->at(0).signal, "user");
  EXPECT_EQ(specs->at(0).max_per_second, 2 * ::sysconf(_SC_CLK_TCK));
  std::vector<int64_t> out(specs->size());
  ASSERT_TRUE(sensor.Sample(out));
  EXPECT_THAT(std::span(out).first(4), ElementsAre(11, 22, 33, 44));
}

}  // namespace
}  // namespace attune::sensor::summed_test
