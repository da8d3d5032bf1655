// Devices that appear, vanish and come back while a session samples, on a host made of files.

#include "session/sampling/sensing.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <atomic>
#include <charconv>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "base/clock.h"
#include "fake_host.h"
#include "sensor/thread/thread.h"

namespace attune::session {
namespace {

using attune::fakes::FakeHost;
using model::ElementKind;
using model::GapReason;
using model::kAbsent;
using model::Table;
using ::testing::ElementsAre;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using namespace std::chrono_literals;

constexpr int64_t kMs = 1'000'000;
constexpr auto kNever = 24h;

/// One counter a folder of /sys/class/toy, each behind a descriptor of its own.
class ToySensor final : public model::Sensor {
 public:
  const model::SensorInfo& Info() const override {
    static const model::SensorInfo kInfo{"toy", "a test's", "/sys/class/toy", "1 us", kMs};
    return kInfo;
  }
  Result<std::vector<model::SignalSpec>> Prepare(const HostRoot& host) override {
    ATTUNE_TRY(const std::vector<std::string> names, host.List("/sys/class/toy"));
    std::vector<model::SignalSpec> specs;
    for (const std::string& name : names) {
      ATTUNE_TRY(files_.emplace_back(), host.Open("/sys/class/toy/" + name + "/count"));
      specs.push_back({.element = {ElementKind::kDevice, kAbsent, name},
                       .kind = model::SeriesKind::kCounter,
                       .signal = "count",
                       .unit = "1"});
    }
    return specs;
  }
  bool Sample(std::span<int64_t> out) override {
    bool any = false;
    for (size_t i = 0; i < out.size(); ++i) {
      char text[32];
      const long size = PreadAll(files_[i].get(), text, sizeof text);
      out[i] = kAbsent;
      if (size > 0 && std::from_chars(text, text + size, out[i]).ec == std::errc()) any = true;
    }
    return any;
  }
  std::unique_ptr<model::Sensor> Fresh() const override { return std::make_unique<ToySensor>(); }

 private:
  std::vector<UniqueFd> files_;
};

class SteadySensor final : public model::Sensor {
 public:
  const model::SensorInfo& Info() const override {
    static const model::SensorInfo kInfo{"steady", "a test's", "nowhere", "0", kMs};
    return kInfo;
  }
  Result<std::vector<model::SignalSpec>> Prepare(const HostRoot&) override {
    return std::vector<model::SignalSpec>{{.signal = "ticks"}};
  }
  bool Sample(std::span<int64_t> out) override {
    out[0] = ++ticks_;
    return true;
  }

 private:
  int64_t ticks_ = 0;
};

/// State that a test and all instances of its sensor share.
struct Moods {
  std::atomic<bool> changes{false};  ///< each fresh one has another signal
  std::atomic<bool> hangs{false};    ///< readings do not return while this holds
  std::atomic<bool> opens{true};     ///< Prepare() does not return while this does not hold
  std::atomic<bool> is_here{true};
  std::atomic<bool> is_in_place_only{false};  ///< only the first instance hangs
  std::atomic<int> hanging{0};
  std::atomic<int> fresh{0};         ///< instances that Fresh() made
  std::atomic<int64_t> readings{0};  ///< of those
  std::string_view file;
};

class MoodySensor final : public model::Sensor {
 public:
  explicit MoodySensor(std::shared_ptr<Moods> moods, int age = 0) : moods_(std::move(moods)), age_(age) {}
  const model::SensorInfo& Info() const override { return info_; }
  Result<std::vector<model::SignalSpec>> Prepare(const HostRoot&) override {
    while (!moods_->opens) std::this_thread::yield();
    if (!moods_->is_here) return Error{Errc::kUnavailable, "moody: not here", ""};
    return std::vector<model::SignalSpec>{{.signal = moods_->changes ? fmt::format("mood{}", age_) : "mood"}};
  }
  bool Sample(std::span<int64_t> out) override {
    if (age_ > 0) ++moods_->readings;
    for (bool first = true; moods_->hangs && (age_ == 0 || !moods_->is_in_place_only); first = false) {
      if (first) ++moods_->hanging;
      std::this_thread::yield();
    }
    out[0] = age_;
    return true;
  }
  std::unique_ptr<model::Sensor> Fresh() const override {
    return std::make_unique<MoodySensor>(moods_, ++moods_->fresh);
  }

 private:
  std::shared_ptr<Moods> moods_;
  int age_;
  model::SensorInfo info_{"moody", "a test's", "nowhere", "0", kMs, false, true, moods_->file};
};

/// Keeps everything, and waits for it.
class KeepingSink final : public model::Sink {
 public:
  void Consume(const model::BatchPtr& batch) override {
    const std::lock_guard lock(mutex_);
    const auto add = [](auto& rows, auto more) { rows.insert(rows.end(), more.begin(), more.end()); };
    switch (batch->table) {
      case model::Sample::kTable: add(t_ns_[batch->stream], batch->ints[0]); break;
      case model::StreamColumn::kTable: add(streams_, model::RowsFrom<model::Stream>(*batch)); break;
      case model::Series::kTable: add(series_, model::RowsFrom<model::Series>(*batch)); break;
      case model::Element::kTable: add(elements_, model::RowsFrom<model::Element>(*batch)); break;
      case model::Gap::kTable: add(gaps_, model::RowsFrom<model::Gap>(*batch)); break;
      case model::InfoRow::kTable:
        for (size_t row = 0; row < batch->rows; ++row) info_[batch->texts[0][row]] = batch->texts[1][row];
        break;
      default: break;
    }
    changed_.notify_all();
  }
  void WaitForRows(model::StreamId stream, size_t rows) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return t_ns_[stream].size() >= rows; });
  }
  void WaitForStreams(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return streams_.size() >= count; });
  }
  void WaitForGap(GapReason reason) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
      return std::any_of(gaps_.begin(), gaps_.end(), [&](const auto& gap) { return gap.reason == reason; });
    });
  }
  model::Stream Newest() {
    const std::lock_guard lock(mutex_);
    return streams_.back();
  }
  int64_t GapCount(model::StreamId stream, GapReason reason) const {
    int64_t count = 0;
    for (const model::Gap& gap : gaps_) count += gap.stream == stream && gap.reason == reason ? gap.count : 0;
    return count;
  }

  std::map<model::StreamId, std::vector<int64_t>> t_ns_;
  std::vector<model::Stream> streams_;
  std::vector<model::Series> series_;
  std::vector<model::Element> elements_;
  std::vector<model::Gap> gaps_;
  std::map<std::string, std::string> info_;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

size_t OpenDescriptors() {
  const std::filesystem::directory_iterator entries("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(entries), end(entries)));
}

class SensingTest : public ::testing::Test {
 protected:
  void Plug(const std::string& name) { host_.Write("/sys/class/toy/" + name + "/count", "17\n"); }
  void Unplug(const std::string& name) {
    host_.Write("/sys/class/toy/" + name + "/count", "");  // what its descriptor reads from now on
    host_.Remove("/sys/class/toy/" + name);
  }
  void Start(std::chrono::nanoseconds look_every = kNever, std::unique_ptr<model::Sensor> another = nullptr,
             bool only_if_here = false) {
    sensing_ = std::make_unique<Sensing>(host_.Root(), registry_, processes_, pipeline_, look_every);
    std::vector<SensorRequest> requests;
    requests.push_back({std::make_unique<ToySensor>(), kMs});
    requests.push_back({std::make_unique<SteadySensor>(), kMs});
    if (another) requests.push_back({std::move(another), kMs, only_if_here});
    SamplerOptions options;
    options.patience_ns = 100 * kMs;
    options.realtime = false;  // a test must not take the machine from others
    meter_ = options.meter;
    ASSERT_TRUE(sensing_->Start(std::move(requests), options).ok());
  }
  void Finish() {
    sensing_->Stop();
    pipeline_.Drain();
  }
  /// Every grid point from the first sample of these streams to the last is one sample or counted in one gap.
  void ExpectEveryTickAccounted(const std::vector<model::StreamId>& streams) {
    std::vector<int64_t> t_ns;
    for (const model::StreamId id : streams) t_ns.insert(t_ns.end(), sink_.t_ns_[id].begin(), sink_.t_ns_[id].end());
    ASSERT_TRUE(std::is_sorted(t_ns.begin(), t_ns.end()));
    for (size_t i = 1; i < t_ns.size(); ++i) ASSERT_LT(t_ns[i - 1] / kMs, t_ns[i] / kMs) << "a grid point taken twice";
    int64_t lost = 0;
    for (const model::Gap& gap : sink_.gaps_) {
      const bool ours = std::find(streams.begin(), streams.end(), gap.stream) != streams.end();
      if (ours && gap.t0_ns > t_ns.front() && gap.t0_ns < t_ns.back()) lost += gap.count;
    }
    EXPECT_EQ(static_cast<int64_t>(t_ns.size()) + lost, t_ns.back() / kMs - t_ns.front() / kMs + 1);
  }
  std::vector<model::StreamId> ToyStreams() {
    std::vector<model::StreamId> ids;
    for (const model::Stream& stream : sink_.streams_) {
      if (stream.series != sink_.streams_[1].series) ids.push_back(stream.id);
    }
    return ids;
  }

  FakeHost host_;
  KeepingSink sink_;
  Pipeline pipeline_{{&sink_}};
  Registry registry_{pipeline_, "host"};
  ProcessTable processes_{registry_, pipeline_};
  std::shared_ptr<sensor::SelfMeter> meter_;
  std::unique_ptr<Sensing> sensing_;
};

TEST_F(SensingTest, ADeviceThatComesHasASeriesAndNoTickIsLost) {
  Plug("a");
  Start();
  sink_.WaitForRows(1, 5);
  sensing_->LookNow();
  pipeline_.Drain();
  EXPECT_THAT(sink_.streams_, SizeIs(2)) << "nothing changed: nothing is swapped";
  Plug("b");
  sensing_->LookNow();
  sink_.WaitForRows(3, 5);
  Finish();
  ASSERT_THAT(sink_.streams_, SizeIs(3));
  EXPECT_EQ(sink_.streams_[2].series[0], sink_.streams_[0].series[0]) << "the same series goes on";
  EXPECT_THAT(sink_.series_, SizeIs(3)) << "toy a, steady, toy b";
  EXPECT_EQ(sink_.streams_[2].interval_ns, kMs);
  ExpectEveryTickAccounted({1, 3});
  ExpectEveryTickAccounted({2});
}

TEST_F(SensingTest, ADeviceThatReturnsIsTheSameElementAndTheSameSeries) {
  Plug("a");
  Plug("b");
  Start();
  sink_.WaitForRows(1, 3);
  Unplug("b");
  sensing_->LookNow();
  sink_.WaitForRows(3, 3);
  Plug("b");
  sensing_->LookNow();
  sink_.WaitForRows(4, 3);
  Finish();
  EXPECT_THAT(sink_.streams_[2].series, ElementsAre(sink_.streams_[0].series[0]));
  EXPECT_EQ(sink_.streams_[3].series, sink_.streams_[0].series);
  EXPECT_THAT(sink_.series_, SizeIs(3));
  EXPECT_THAT(sink_.elements_, SizeIs(3)) << "the machine, a and b";
  ExpectEveryTickAccounted({1, 3, 4});
}

TEST_F(SensingTest, WhatVanishesAltogetherIsAGapUntilItReturns) {
  Plug("a");
  Start();
  sink_.WaitForRows(1, 3);
  Unplug("a");
  host_.Remove("/sys/class/toy");
  sink_.WaitForRows(2, 20);
  sensing_->LookNow();  // cannot be prepared: what is there stays, and says that its source is gone
  sink_.WaitForGap(GapReason::kVanished);
  EXPECT_EQ(sink_.Newest().id, 2u);
  Plug("a");
  sensing_->LookNow();
  sink_.WaitForRows(3, 3);
  Finish();
  EXPECT_EQ(sink_.streams_[2].series, sink_.streams_[0].series);
  EXPECT_GT(sink_.GapCount(1, GapReason::kVanished), 0);
  EXPECT_EQ(sink_.GapCount(2, GapReason::kVanished), 0);
  ExpectEveryTickAccounted({1, 3});
  ExpectEveryTickAccounted({2});
}

TEST_F(SensingTest, WhatWasNotThereAtTheStartIsSampledOnceItComes) {
  Start();
  EXPECT_THAT(sensing_->Skipped(), SizeIs(1));
  EXPECT_THAT(sensing_->Skipped()[0].why.message, ::testing::HasSubstr("/sys/class/toy"));
  sink_.WaitForRows(1, 3);  // steady
  ASSERT_TRUE(sensing_->SetInterval("toy", 2 * kMs).ok());
  Plug("late");
  sensing_->LookNow();
  sink_.WaitForRows(2, 3);
  Finish();
  EXPECT_EQ(sink_.streams_[1].interval_ns, 2 * kMs) << "as it was asked for before it came";
  EXPECT_THAT(sink_.info_["skipped.toy"], ::testing::HasSubstr("not there from the start"));
}

TEST_F(SensingTest, NothingAtTheMomentIsNeitherAStreamNorUnavailable) {
  host_.MakeFolder("/sys/class/toy");
  Start();
  EXPECT_THAT(sensing_->Skipped(), SizeIs(0));
  sink_.WaitForRows(1, 3);
  EXPECT_THAT(sink_.Newest().series, SizeIs(1));
  Plug("a");
  sensing_->LookNow();
  sink_.WaitForRows(2, 3);
  Unplug("a");
  sensing_->LookNow();
  sink_.WaitForRows(1, 20);
  Plug("a");
  sensing_->LookNow();
  sink_.WaitForRows(3, 3);
  Finish();
  EXPECT_EQ(sink_.streams_[2].series, sink_.streams_[1].series);
}

TEST_F(SensingTest, LooksByItself) {
  Plug("a");
  Start(5ms);
  sink_.WaitForRows(1, 1);
  Plug("b");
  sink_.WaitForStreams(3);
  Unplug("a");
  sink_.WaitForStreams(4);
  Finish();
  EXPECT_THAT(sink_.streams_.back().series, SizeIs(1));
}

TEST_F(SensingTest, HundredsOfSwapsLeakNothingAndLoseNoTick) {
  Plug("a");
  Start();
  sink_.WaitForRows(1, 1);
  const size_t before = OpenDescriptors();
  for (int i = 0; i < 300; ++i) {
    Plug("b");
    sensing_->LookNow();
    Unplug("b");
    sensing_->LookNow();
  }
  EXPECT_EQ(OpenDescriptors(), before);
  Finish();
  EXPECT_THAT(sink_.streams_, SizeIs(602));
  EXPECT_THAT(sink_.series_, SizeIs(3));
  EXPECT_THAT(sink_.elements_, SizeIs(3));
  ExpectEveryTickAccounted(ToyStreams());
  ExpectEveryTickAccounted({2});
}

TEST_F(SensingTest, HundredsOfTogglesLeakNothingAndEveryTickIsAccountedFor) {
  Plug("a");
  Start();
  sink_.WaitForRows(1, 1);
  const size_t before = OpenDescriptors();
  for (int i = 0; i < 300; ++i) {
    sensing_->Pause();
    ASSERT_TRUE(sensing_->SetInterval(i % 2 == 0 ? "toy" : "", i % 4 < 2 ? kMs / 10 : kMs).ok());
    sensing_->Resume();
  }
  ASSERT_TRUE(sensing_->SetInterval("", kMs).ok());
  EXPECT_EQ(OpenDescriptors(), before);
  Finish();
  int64_t missed = 0;
  for (const model::Gap& gap : sink_.gaps_) missed += gap.reason == GapReason::kMissed ? gap.count : 0;
  EXPECT_EQ(missed, meter_->missed_ticks) << "what is stored is what was counted";
}

TEST_F(SensingTest, ASwapWhilePausedGoesOnPaused) {
  Plug("a");
  Start();
  sink_.WaitForRows(1, 3);
  sensing_->Pause();
  Plug("b");
  sensing_->LookNow();
  const int64_t paused_ns = MonotonicNs();
  while (MonotonicNs() < paused_ns + 10 * kMs) {
  }
  pipeline_.Drain();
  EXPECT_THAT(sink_.t_ns_[3], SizeIs(0));
  EXPECT_TRUE(sensing_->paused());
  sensing_->Resume();
  sink_.WaitForRows(3, 3);
  Finish();
  EXPECT_GE(sink_.GapCount(3, GapReason::kPaused), 9);
  ExpectEveryTickAccounted({1, 3});
}

TEST_F(SensingTest, WhatIsLookedAtIsReadOnlyWhereItIsExchanged) {
  const auto moods = std::make_shared<Moods>();
  host_.MakeFolder("/sys/class/toy");
  Start(kNever, std::make_unique<MoodySensor>(moods));
  for (int i = 0; i < 3; ++i) sensing_->LookNow();
  EXPECT_EQ(moods->fresh, 3);
  EXPECT_EQ(moods->readings, 0);
  moods->changes = true;
  sensing_->LookNow();
  EXPECT_GT(moods->readings, 0);
  Finish();
}

TEST_F(SensingTest, ALookAtWhatDoesNotAnswerHoldsUpNeitherTheOthersNorTheEnd) {
  const auto moods = std::make_shared<Moods>();
  host_.MakeFolder("/sys/class/toy");
  Start(kNever, std::make_unique<MoodySensor>(moods));
  moods->opens = false;
  sensing_->LookNow();
  Plug("a");
  sensing_->LookNow();
  EXPECT_EQ(moods->fresh, 1) << "not asked again before it answers";
  sink_.WaitForRows(3, 3);
  Finish();
  EXPECT_EQ(sink_.streams_.size(), 3u);
  EXPECT_GT(moods.use_count(), 1);
  sensing_.reset();
  moods->opens = true;
  while (moods.use_count() > 1) std::this_thread::yield();
}

TEST_F(SensingTest, NoStreamIsRegisteredForASensorThatDoesNotReturn) {
  const auto moods = std::make_shared<Moods>();
  Plug("a");
  Start(kNever, std::make_unique<MoodySensor>(moods));
  sink_.WaitForRows(3, 3);
  moods->hangs = true;
  while (moods->hanging == 0) std::this_thread::yield();
  EXPECT_EQ(sensing_->SetInterval("", 2 * kMs).error().code, Errc::kTimeout);
  sink_.WaitForStreams(5);
  pipeline_.Drain();
  EXPECT_THAT(sink_.streams_, SizeIs(5)) << "toy and steady have another, the one that hangs has not";
  sink_.WaitForRows(4, 3);
  sink_.WaitForRows(5, 3);
  moods->hangs = false;
  while (!sensing_->SetInterval("moody", 2 * kMs).ok()) std::this_thread::yield();
  sink_.WaitForRows(6, 3);
  Finish();
  EXPECT_THAT(sink_.streams_, SizeIs(6));
}

TEST_F(SensingTest, NoStreamIsRegisteredForAnExchangeThatCannotBe) {
  const auto moods = std::make_shared<Moods>();
  host_.MakeFolder("/sys/class/toy");
  Start(kNever, std::make_unique<MoodySensor>(moods));
  sink_.WaitForRows(2, 3);
  moods->hangs = true;
  while (moods->hanging == 0) std::this_thread::yield();
  EXPECT_EQ(sensing_->SetInterval("moody", 2 * kMs).error().code, Errc::kTimeout);
  // Only the sensor in place hangs from now on: it was in its reading already.
  moods->changes = true;
  moods->is_in_place_only = true;
  sensing_->LookNow();
  sensing_->LookNow();
  pipeline_.Drain();
  EXPECT_THAT(sink_.streams_, SizeIs(2));
  moods->hangs = false;
  while (sink_.Newest().id < 3) {
    sensing_->LookNow();
    pipeline_.Drain();
  }
  sink_.WaitForRows(3, 3);
  Finish();
}

TEST_F(SensingTest, WhatNobodyAskedForIsLateAndThenNotHereWithoutAWord) {
  for (const bool asked_for : {true, false}) {
    const auto moods = std::make_shared<Moods>();
    moods->file = "moody.toml";
    moods->opens = false;
    moods->is_here = false;
    host_.MakeFolder("/sys/class/toy");
    Start(kNever, std::make_unique<MoodySensor>(moods), /*only_if_here=*/!asked_for);
    moods->opens = true;
    while (moods->fresh == 0) sensing_->LookNow();  // there is a fresh one once the late one is in its place
    Finish();
    EXPECT_THAT(sink_.info_["skipped.moody"], ::testing::HasSubstr(asked_for ? "not here" : "not ready"));
  }
}

TEST_F(SensingTest, NothingIsLookedAtAfterTheEnd) {
  const auto moods = std::make_shared<Moods>();
  Plug("a");
  Start(kNever, std::make_unique<MoodySensor>(moods));
  Finish();
  sensing_->LookNow();
  EXPECT_EQ(moods->fresh, 0);
}

TEST_F(SensingTest, AnIntervalOfASensorThatIsNotSampledNamesTheNearest) {
  Plug("a");
  Start();
  const Status wrong = sensing_->SetInterval("stedy", kMs);
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().code, Errc::kNotFound);
  EXPECT_THAT(wrong.error().hint, ::testing::HasSubstr("steady"));
  EXPECT_EQ(sensing_->SetInterval("toy", 0).error().code, Errc::kInvalidArgument);
}

TEST_F(SensingTest, ThreadsOfTheProgramAreTheElementsOfTheWatcher) {
  const auto put = [&](int pid, int tid) {
    const std::string folder = fmt::format("/proc/{}/task/{}/", pid, tid);
    host_.Write(folder + "schedstat", "1 2 3\n").Write(folder + "stat", "1 (a) R 1 1 1 0 0 0 5 0 7 0\n");
    host_.Write(folder + "status", "Name:\ta\nvoluntary_ctxt_switches:\t1\n");
    host_.Write(fmt::format("/proc/{}/statm", pid), "10 5\n");
  };
  const auto observed = [this] {
    const std::vector<pid_t> pids = processes_.Running();
    return std::vector<int64_t>(pids.begin(), pids.end());
  };
  host_.MakeFolder("/sys/class/toy");
  Start(kNever, std::make_unique<sensor::ThreadSensor>(observed));
  put(70, 70);
  processes_.Apply({.kind = model::ProcessEventKind::kFork, .t_ns = 5, .pid = 70, .tid = 70, .command = "solver"});
  sensing_->LookSoon();
  sink_.WaitForRows(2, 2);
  put(70, 71);
  processes_.Apply({.kind = model::ProcessEventKind::kThreadStart, .t_ns = 6, .pid = 70, .tid = 71});
  sensing_->LookSoon();
  sink_.WaitForRows(3, 2);
  processes_.Apply({.kind = model::ProcessEventKind::kExit, .t_ns = 7, .pid = 70, .tid = 70, .exit_code = 0});
  sensing_->LookNow();
  Finish();
  std::set<std::pair<ElementKind, int64_t>> seen;
  std::set<model::ElementId> ids;
  for (const model::Series& series : sink_.series_) {
    if (series.sensor != "thread") continue;
    for (const model::Element& element : sink_.elements_) {
      if (element.id != series.element) continue;
      seen.emplace(element.kind, element.os_id);
      ids.insert(element.id);
      if (element.kind != ElementKind::kThread) continue;
      EXPECT_EQ(element.parent, processes_.Process(70));
    }
  }
  EXPECT_THAT(seen, ElementsAre(std::pair(ElementKind::kMachine, kAbsent), std::pair(ElementKind::kProcess, 70),
                                std::pair(ElementKind::kThread, 70), std::pair(ElementKind::kThread, 71)));
  EXPECT_TRUE(ids.contains(processes_.Thread(70, 71))) << "not another element of the same thread";
  EXPECT_THAT(sink_.streams_.back().series, SizeIs(2 * 8 + 1 + 2)) << "after its end there is nothing to sample";
}

}  // namespace
}  // namespace attune::session
