#include <gmock/gmock.h>

#include <filesystem>
#include <stop_token>
#include <thread>

#include "model/codec.h"
#include "sensor/plugin/plugin_channel.h"
#include "sensor/plugin/plugin_sensor.h"
#include "sensor/registry.h"

namespace attune::sensor {
namespace {

namespace fs = std::filesystem;
using model::kAbsent;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Module(const std::string& name) { return std::string(std::getenv("ATTUNE_BUILD")) + "/" + name; }

/// What was reported, and a way to wait for it.
class Reports {
 public:
  PluginReport Callback() {
    return [this](const std::string& text) {
      const std::lock_guard lock(mutex_);
      texts_.push_back(text);
      news_.notify_all();
    };
  }
  std::vector<std::string> WaitFor(size_t count) {
    std::unique_lock lock(mutex_);
    news_.wait(lock, [&] { return texts_.size() >= count; });
    return texts_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable news_;
  std::vector<std::string> texts_;
};

class Plugin : public ::testing::Test {
 protected:
  std::unique_ptr<PluginSensor> Bad(const std::string& mode) {
    return std::make_unique<PluginSensor>(PluginOptions{.file = Module("tests/plugin/bad_plugin.so"),
                                                        .argument = mode,
                                                        .program = std::getenv("ATTUNE_BIN"),
                                                        .report = reports_.Callback(),
                                                        .restart_delay_ns = 1'000'000});
  }
  /// Samples until that gives what is wanted.
  static void SampleUntil(PluginSensor& sensor, bool wanted) {
    std::vector<int64_t> values(1);
    while (sensor.Sample(values) != wanted) {
    }
  }

  Reports reports_;
};

TEST_F(Plugin, DeliversWhatItSamples) {
  PluginSensor sensor(
      {.file = Module("examples/plugin-sensor/dice.so"), .argument = "7", .program = std::getenv("ATTUNE_BIN")});
  const auto specs = sensor.Prepare(HostRoot());
  ASSERT_TRUE(specs.ok()) << specs.error().message;
  ASSERT_EQ(specs->size(), 3u);
  EXPECT_EQ((*specs)[0].kind, model::SeriesKind::kCounter);
  EXPECT_EQ((*specs)[1].element.name, "left");
  EXPECT_EQ((*specs)[2].element.kind, model::ElementKind::kDevice);
  EXPECT_EQ(sensor.Info().name, "dice");
  EXPECT_EQ(sensor.Info().source, "chance");
  EXPECT_TRUE(sensor.Info().own_thread);
  std::vector<int64_t> values(3);
  for (int i = 1; i <= 100; ++i) {
    ASSERT_TRUE(sensor.Sample(values));
    EXPECT_EQ(values[0], i);
    EXPECT_GE(values[1], 1);
    EXPECT_LE(values[1], 6);
  }
}

TEST_F(Plugin, ACrashIsAGapAndANewStart) {
  const auto sensor = Bad("crash");
  ASSERT_TRUE(sensor->Prepare(HostRoot()).ok());
  for (int start = 1; start <= PluginSensor::kMaxRestarts; ++start) {
    SampleUntil(*sensor, false);
    EXPECT_THAT(reports_.WaitFor(static_cast<size_t>(start)).back(),
                "plug-in bad_plugin crashed (SIGSEGV); it is started again");
    SampleUntil(*sensor, true);
  }
  SampleUntil(*sensor, false);
  EXPECT_THAT(reports_.WaitFor(PluginSensor::kMaxRestarts + 1).back(), HasSubstr("it is not used any more"));
  std::vector<int64_t> values(1);
  EXPECT_FALSE(sensor->Sample(values));
  EXPECT_THAT(values, Each(kAbsent));
}

TEST_F(Plugin, AHangIsEnded) {
  const auto sensor = Bad("hang");
  ASSERT_TRUE(sensor->Prepare(HostRoot()).ok());
  SampleUntil(*sensor, false);
  EXPECT_THAT(reports_.WaitFor(1).front(), HasSubstr("did not answer within a second"));
  SampleUntil(*sensor, true);
}

TEST_F(Plugin, AnExitIsNoEnd) {
  const auto sensor = Bad("exit");
  ASSERT_TRUE(sensor->Prepare(HostRoot()).ok());
  SampleUntil(*sensor, false);
  EXPECT_THAT(reports_.WaitFor(1).front(), HasSubstr("ended by itself with exit code 3"));
}

TEST_F(Plugin, OtherSignalsThanBeforeAreRefused) {
  const std::string mark = fs::temp_directory_path() / ("attune-plugin-" + std::to_string(getpid()));
  fs::remove(mark);
  const auto sensor = Bad("changes=" + mark);
  ASSERT_TRUE(sensor->Prepare(HostRoot()).ok());
  SampleUntil(*sensor, false);
  EXPECT_THAT(reports_.WaitFor(2).back(), HasSubstr("describes other signals than before"));
  fs::remove(mark);
}

TEST_F(Plugin, WhatItsSourceLacksIsAGap) {
  const auto sensor = Bad("gone");
  ASSERT_TRUE(sensor->Prepare(HostRoot()).ok());
  std::vector<int64_t> values(1);
  for (int i = 1; i <= 20; ++i) EXPECT_EQ(sensor->Sample(values), i <= 5 || i % 2 == 1);
}

TEST_F(Plugin, OneThatWritesWhereItMustNotHarmsItselfOnly) {
  const auto sensor = Bad("scribble");
  ASSERT_TRUE(sensor->Prepare(HostRoot()).ok());
  std::vector<int64_t> values(1);
  for (int i = 0; i < 20; ++i) sensor->Sample(values);
}

TEST_F(Plugin, WhatIsWrongIsSaid) {
  const auto message = [&](const std::string& mode) { return Bad(mode)->Prepare(HostRoot()).error().message; };
  EXPECT_THAT(message("crash-in-open"), HasSubstr("crashed (SIGSEGV) in its open()"));
  EXPECT_THAT(message("hang-in-open"), HasSubstr("did not describe itself"));
  EXPECT_THAT(message("refuse"), HasSubstr("no card of ours in this machine"));
  EXPECT_THAT(message("bad-signal"), HasSubstr("signal 'has spaces': its name is not"));
  PluginSensor none({.file = Module("lib/libattune_sensor.a"), .program = std::getenv("ATTUNE_BIN")});
  EXPECT_EQ(none.Prepare(HostRoot()).error().code, Errc::kUnavailable);
  EXPECT_EQ(MakeSensor("./nowhere.so").error().code, Errc::kNotFound);
}

TEST_F(Plugin, OneThatIsNoLongerNeededEndsInItsOpen) {
  const auto sensor = Bad("hang-in-open");
  std::stop_source stop;
  std::string message;
  std::thread opening([&] {
    const PluginsEndWith plugins(stop.get_token());
    message = sensor->Prepare(HostRoot()).error().message;
  });
  stop.request_stop();
  opening.join();
  EXPECT_THAT(message, HasSubstr("no longer needed"));
}

TEST_F(Plugin, OneThatIsNoLongerNeededReportsNothing) {
  const auto sensor = Bad("crash");
  std::stop_source stop;
  {
    const PluginsEndWith plugins(stop.get_token());
    ASSERT_TRUE(sensor->Prepare(HostRoot()).ok());
  }
  const auto other = Bad("crash");
  ASSERT_TRUE(other->Prepare(HostRoot()).ok());
  stop.request_stop();
  SampleUntil(*sensor, false);
  SampleUntil(*other, false);
  EXPECT_THAT(reports_.WaitFor(1), ::testing::SizeIs(1)) << "only the other one's";
}

TEST(PluginHello, SurvivesEncoding) {
  PluginHello hello{"", "dice", "two dice", "chance", "1 us", 1'000'000, {}};
  model::SignalSpec spec;
  spec.element = {model::ElementKind::kCpu, 3, "cpu3"};
  spec.kind = model::SeriesKind::kCounter;
  spec.scale = -3;
  spec.max_per_second = 7;
  spec.signal = "spots";
  spec.unit = "1";
  spec.description = "spots";
  spec.mnemonic = "sp";
  hello.signals = {spec, spec};
  hello.signals[1].element.name = "cpu4";
  const std::string bytes = EncodeHello(hello);
  const auto back = DecodeHello(bytes);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back->signals, hello.signals);
  EXPECT_EQ(back->default_interval_ns, 1'000'000);
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(DecodeHello(std::span(bytes).first(size)).ok());
  hello.signals[0].signal = "has spaces";
  EXPECT_EQ(DecodeHello(EncodeHello(hello)).error().code, Errc::kCorrupt);
}

}  // namespace
}  // namespace attune::sensor
