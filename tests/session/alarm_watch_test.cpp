#include "session/core/alarm_watch.h"

#include <gmock/gmock.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "fake_host.h"
#include "model/info_keys.h"
#include "session/core/alarm_config.h"
#include "session/sampling/local_sampling.h"

namespace attune::session {
namespace {

using attune::fakes::FakeHost;
using model::Alarm;
using model::AlarmState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Keeps what comes, and can be waited for.
class Kept : public model::Sink {
 public:
  void Consume(const model::BatchPtr& batch) override {
    {
      const std::lock_guard lock(mutex_);
      for (Alarm& alarm : model::RowsFrom<model::Alarm>(batch->table == model::Alarm::kTable ? *batch : model::Batch()))
        alarms_.push_back(std::move(alarm));
      if (batch->table == model::InfoRow::kTable) {
        for (size_t row = 0; row < batch->rows; ++row) info_[batch->texts[0][row]] = batch->texts[1][row];
      }
    }
    news_.notify_all();
  }
  std::vector<Alarm> Alarms() {
    const std::lock_guard lock(mutex_);
    return alarms_;
  }
  std::string Info(std::string_view key) {
    const std::lock_guard lock(mutex_);
    return info_[std::string(key)];
  }
  bool WaitForAlarms(size_t count) {
    std::unique_lock lock(mutex_);
    return news_.wait_for(lock, std::chrono::minutes(30), [&] { return alarms_.size() >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable news_;
  std::vector<Alarm> alarms_;
  std::map<std::string, std::string> info_;
};

TEST(AlarmWatch, PublishesIntoThePipelineThatItListensTo) {
  Kept kept;
  Pipeline pipeline({&kept});
  AlarmWatch watch(pipeline, {{"memory.low", {.for_ns = 0}}});
  pipeline.Exchange([&](std::vector<model::Sink*>& sinks) { sinks.push_back(&watch); });
  const std::vector<model::Element> elements{{.id = 1, .kind = model::ElementKind::kMachine, .name = "host"}};
  const std::vector<model::Series> series{{.id = 1, .element = 1, .sensor = "memory", .signal = "MemAvailable"},
                                          {.id = 2, .element = 1, .sensor = "memory", .signal = "MemTotal"}};
  const std::vector<model::Stream> streams{{1, 1'000'000'000, {1, 2}}};
  pipeline.Publish(model::ToBatch(elements));
  pipeline.Publish(model::ToBatch(series));
  pipeline.Publish(model::ToBatch(streams));
  const auto sample = [&](int64_t second, int64_t free) {
    model::Batch batch{.table = model::Sample::kTable, .stream = 1, .rows = 1};
    batch.ints = {{second * 1'000'000'000}, {free}, {100}};
    pipeline.Publish(std::move(batch));
  };
  sample(1, 50);
  sample(2, 3);
  pipeline.Drain();
  ASSERT_THAT(kept.Alarms(), SizeIs(1));
  EXPECT_EQ(kept.Alarms()[0].alarm, "memory.low");
  EXPECT_EQ(watch.Raised(), 1u);
  EXPECT_THAT(kept.Info(model::info::kAlarms), HasSubstr("memory.low=5 8 0;"));

  watch.Set({{"memory.low", {.on = false}}});
  sample(3, 3);
  pipeline.Drain();
  ASSERT_THAT(kept.Alarms(), SizeIs(2));
  EXPECT_EQ(kept.Alarms()[1].state, AlarmState::kCleared);
  EXPECT_EQ(watch.Raised(), 0u);
  EXPECT_THAT(kept.Info(model::info::kAlarms), HasSubstr("memory.low=off;"));

  watch.Set({{"memory.low", {.on = true, .threshold = 50}}});
  sample(4, 40);
  pipeline.Drain();
  ASSERT_THAT(kept.Alarms(), SizeIs(3));
  EXPECT_EQ(kept.Alarms()[2].id, 2);
  pipeline.Exchange([](std::vector<model::Sink*>& sinks) { sinks.pop_back(); });
}

TEST(LocalSampling, JudgesWhatTheSensorsOfAHostSay) {
  FakeHost host;
  host.Write("/proc/meminfo", "MemTotal:        1000 kB\nMemFree:           30 kB\nMemAvailable:      20 kB\n");
  class Judge : public Kept {
   public:
    void Consume(const model::BatchPtr& batch) override {
      feed.Add(*batch);
      const std::vector<Alarm> news = evaluator.Take();
      if (!news.empty()) Kept::Consume(std::make_shared<const model::Batch>(model::ToBatch(news)));
    }
    analysis::AlarmEvaluator evaluator{{{"memory.low", {.for_ns = 0}}}};
    analysis::LiveFeed feed{{&evaluator}};
  } judge;
  auto sampling = LocalSampling::Start(host.Root(), {{"memory", 10'000'000}, {"hwmon", 0}, {"pressure", 0}}, judge);
  ASSERT_TRUE(sampling.ok()) << sampling.error().message;
  EXPECT_TRUE(judge.WaitForAlarms(1));
  (*sampling)->Stop();
  EXPECT_EQ(judge.Alarms()[0].text, "2 % of the memory are left");
  for (const analysis::AlarmStatus& status : judge.evaluator.Status()) {
    if (status.rule.rule->name != "heat.margin") continue;
    EXPECT_THAT(status.why, HasSubstr("no sensor hwmon here"));
  }
}

TEST(LocalSampling, UnknownSensorsAreErrors) {
  Kept kept;
  const auto sampling = LocalSampling::Start(HostRoot(), {{"memroy", 0}}, kept);
  ASSERT_FALSE(sampling.ok());
  EXPECT_THAT(sampling.error().hint, HasSubstr("memory"));
}

TEST(AlarmFile, MistakesAreNamedWithTheirLine) {
  const auto refused = [](std::string_view text) {
    const auto settings = ParseAlarmFile(text, "alarms.toml");
    EXPECT_FALSE(settings.ok()) << text;
    return settings.ok() ? Error() : settings.error();
  };
  EXPECT_THAT(refused("\nmemory.lwo = 5").message, HasSubstr("alarms.toml:2:14: there is no alarm 'memory.lwo'"));
  EXPECT_THAT(refused("\nmemory.lwo = 5").hint, HasSubstr("did you mean memory.low"));
  EXPECT_THAT(refused("memory.low = true").message, HasSubstr("alarms.toml:1:14: alarm memory.low"));
  EXPECT_THAT(refused("memory.low = [1]").message, HasSubstr("alarms.toml:1"));
  EXPECT_THAT(refused("[memory.low]\nthreshold = -1").message, HasSubstr("is negative"));
  EXPECT_THAT(refused("[memory.low]\nfor = 5").message, HasSubstr("is not a text"));
  EXPECT_THAT(refused("[memory.low]\nfor = \"-5s\"").message, HasSubstr("is out of range"));
  EXPECT_THAT(refused("[memory.low]\nwhen = 1").message, HasSubstr("unknown key 'when'"));
  EXPECT_THAT(refused("[").message, HasSubstr("alarms.toml:1"));
  EXPECT_THAT(refused(std::string(300'000, '#')).message, HasSubstr("too large"));
  const auto settings =
      ParseAlarmFile("memory.low = \"off\"\nstorage.space = 12.5\n[disk.hot]\nclear = 50\nfor = \"1m\"\n", "f");
  ASSERT_TRUE(settings.ok()) << settings.error().message;
  EXPECT_THAT(*settings,
              ElementsAre(std::pair("disk.hot", analysis::AlarmSetting{.clear = 50, .for_ns = 60'000'000'000}),
                          std::pair("memory.low", analysis::AlarmSetting{.on = false}),
                          std::pair("storage.space", analysis::AlarmSetting{.on = true, .threshold = 12.5})));
  EXPECT_THAT(*ParseAlarmFile("", "f"), IsEmpty());
}

}  // namespace
}  // namespace attune::session
