#include "session/sampling/sampler.h"

#include <gmock/gmock.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "base/clock.h"
#include "base/units.h"
#include "sensor/registry.h"
#include "session/core/control.h"
#include "session/sampling/latch_group.h"

namespace attune::session {
namespace {

namespace fs = std::filesystem;

using model::Gap;
using model::GapReason;
using ::testing::HasSubstr;

constexpr int64_t kMs = 1'000'000;

/// What the test and its sensor share.
struct Script {
  std::atomic<bool> stuck{false};  ///< a reading or Prepare() does not return while this holds
  std::atomic<bool> is_in{false};  ///< one of them waits for that
  std::string_view file;           ///< as if it was somebody else's; then Prepare() waits, else readings
  bool own_thread = false;
  std::atomic<int64_t> samples{0};
  std::atomic<bool> away{false};
  std::atomic<int64_t> spin_ns{0};       ///< the next reading takes this long, once
  std::atomic<int64_t> each_spin_ns{0};  ///< every reading takes this long
  std::atomic<pid_t> thread{0};
};

class ScriptedSensor final : public model::Sensor {
 public:
  explicit ScriptedSensor(std::shared_ptr<Script> script, bool available = true)
      : script_(std::move(script)), available_(available) {}
  const model::SensorInfo& Info() const override { return info_; }
  Result<std::vector<model::SignalSpec>> Prepare(const HostRoot&) override {
    if (!script_->file.empty()) WaitWhileStuck();
    if (!available_) return Error{Errc::kUnavailable, "nowhere: not here", ""};
    return std::vector<model::SignalSpec>(2);
  }
  bool Sample(std::span<int64_t> out) override {
    script_->thread = ::gettid();
    if (script_->file.empty()) WaitWhileStuck();
    const int64_t until_ns = MonotonicNs() + script_->spin_ns.exchange(0) + script_->each_spin_ns;
    while (MonotonicNs() < until_ns) {
    }
    out[0] = script_->samples.fetch_add(1);
    out[1] = -out[0];
    return !script_->away;
  }

 private:
  void WaitWhileStuck() {
    while (script_->stuck) {
      script_->is_in = true;
      std::this_thread::yield();
    }
  }

  std::shared_ptr<Script> script_;
  bool available_;
  model::SensorInfo info_{"scripted", "a test's", "nowhere", "0", 7 * kMs, false, script_->own_thread, script_->file};
};

/// Takes chunks and waits for what they must hold.
class Collector {
 public:
  ChunkCallback Callback() {
    return [this](const SampleChunk& chunk) {
      const std::lock_guard lock(mutex_);
      for (size_t row = 0; row < chunk.samples.rows; ++row) {
        t_ns_[chunk.samples.stream].push_back(chunk.samples.ints[0][row]);
        values_[chunk.samples.stream].push_back(chunk.samples.ints[1][row]);
        EXPECT_EQ(chunk.samples.ints[1][row], -chunk.samples.ints[2][row]) << "columns of one row belong together";
      }
      for (const Gap& gap : chunk.gaps) gaps_.push_back(gap);
      changed_.notify_all();
    };
  }
  template <class Condition>
  void WaitUntil(Condition condition) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, condition);
  }
  void WaitForRows(model::StreamId stream, size_t rows) {
    WaitUntil([&] { return t_ns_[stream].size() >= rows; });
  }
  void WaitForMoreRows(model::StreamId stream, size_t rows) { WaitForRows(stream, Rows(stream) + rows); }
  size_t Rows(model::StreamId stream) {
    const std::lock_guard lock(mutex_);
    return t_ns_[stream].size();
  }
  int64_t GapCount(model::StreamId stream, GapReason reason) const {
    int64_t count = 0;
    for (const Gap& gap : gaps_) count += gap.stream == stream && gap.reason == reason ? gap.count : 0;
    return count;
  }
  /// Every grid point between the first and the last sample is a sample or counted in a gap.
  void ExpectEveryTickAccounted(model::StreamId stream, int64_t interval_ns) const {
    const std::vector<int64_t>& t_ns = t_ns_.at(stream);
    for (size_t i = 1; i < t_ns.size(); ++i)
      ASSERT_LT(t_ns[i - 1] / interval_ns, t_ns[i] / interval_ns) << "two samples of one grid point";
    int64_t lost = 0;
    for (const Gap& gap : gaps_)
      lost += gap.stream == stream && gap.t0_ns > t_ns.front() && gap.t0_ns < t_ns.back() ? gap.count : 0;
    EXPECT_EQ(static_cast<int64_t>(t_ns.size()) + lost, t_ns.back() / interval_ns - t_ns.front() / interval_ns + 1);
  }

  std::map<model::StreamId, std::vector<int64_t>> t_ns_, values_;
  std::vector<Gap> gaps_;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

SensorRequest Request(std::shared_ptr<Script> script, int64_t interval_ns) {
  return {std::make_unique<ScriptedSensor>(std::move(script)), interval_ns};
}

template <class... Requests>
std::unique_ptr<Sampler> Make(Requests... requests) {
  std::vector<SensorRequest> list;
  (list.push_back(std::move(requests)), ...);
  SamplerOptions options;
  options.realtime = false;  // a test must not take the machine from others
  return Sampler::Create(HostRoot(), std::move(list), std::move(options));
}

/// The thread of a reading that did not return ends, and touches nothing that is gone.
void LetGo(Script& script) {
  const fs::path thread = "/proc/self/task/" + std::to_string(script.thread);
  script.stuck = false;
  while (fs::exists(thread)) std::this_thread::yield();
}

bool PriorityIsPermitted() {
  bool permitted = false;
  std::thread([&] {
    const sched_param parameters{1};
    permitted = ::sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameters) == 0;
  }).join();
  return permitted;
}

/// On a machine that was taken away while the sensor was tried, it would seem slow, and get a lane without priority.
std::unique_ptr<Sampler> MakeWithPriority(const std::function<SensorRequest()>& request) {
  std::unique_ptr<Sampler> sampler;
  do {
    std::vector<SensorRequest> list;
    list.push_back(request());
    sampler = Sampler::Create(HostRoot(), std::move(list));
  } while (sampler->Sensors()[0].cost_ns > sampler->Sensors()[0].interval_ns / 10);
  return sampler;
}

TEST(Sampler, DeliversEverySampleOnceAndAccountsForEveryTick) {
  auto script = std::make_shared<Script>();
  Collector collector;
  auto sampler = Make(Request(script, kMs));
  const int64_t trials = script->samples;
  ASSERT_TRUE(sampler->Start(std::vector<model::StreamId>{5}, collector.Callback()).ok());
  collector.WaitForRows(5, 300);
  sampler->Stop();
  const std::vector<int64_t>& values = collector.values_[5];
  ASSERT_EQ(static_cast<int64_t>(values.size()), script->samples - trials) << "Stop delivers what is left";
  for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], trials + static_cast<int64_t>(i));
  collector.ExpectEveryTickAccounted(5, kMs);
}

TEST(Sampler, ARunShorterThanAnIntervalHasASampleAtEachEnd) {
  for (const bool paused : {false, true}) {
    auto script = std::make_shared<Script>();
    Collector collector;
    std::vector<SensorRequest> list;
    list.push_back(Request(script, kMaxIntervalNs));
    auto sampler = Sampler::Create(HostRoot(), std::move(list), {.realtime = false, .at_both_ends = true});
    ASSERT_TRUE(sampler->Start(std::vector<model::StreamId>{1}, collector.Callback()).ok());
    if (paused) sampler->Pause();
    sampler->Stop();
    ASSERT_EQ(collector.Rows(1), paused ? 1u : 2u);
    EXPECT_LT(collector.t_ns_[1].front(), MonotonicNs());
    if (!paused) {
      EXPECT_LT(collector.t_ns_[1][0], collector.t_ns_[1][1]);
      EXPECT_EQ(collector.values_[1][1], collector.values_[1][0] + 1);
    }
  }
}

TEST(Sampler, MissedTicksAreCountedWhereTheyWere) {
  auto script = std::make_shared<Script>();
  Collector collector;
  auto sampler = Make(Request(script, kMs));
  ASSERT_TRUE(sampler->Start(std::vector<model::StreamId>{1}, collector.Callback()).ok());
  collector.WaitForRows(1, 20);
  script->spin_ns = 30 * kMs;
  collector.WaitUntil([&] { return collector.GapCount(1, GapReason::kMissed) >= 28; });
  collector.WaitForMoreRows(1, 20);
  sampler->Stop();
  collector.ExpectEveryTickAccounted(1, kMs);
}

TEST(SamplerWithPriority, DoesNotWaitForWhoTakesItsRows) {
  if (!PriorityIsPermitted()) GTEST_SKIP() << "SCHED_FIFO needs CAP_SYS_NICE";
  auto script = std::make_shared<Script>();
  Collector collector;
  const ChunkCallback collect = collector.Callback();
  auto sampler = MakeWithPriority([&] { return Request(script, kMs); });
  std::atomic<bool> waits{true};
  std::atomic<int> went_on{0};
  const auto take = [&](SampleChunk chunk) {
    const int64_t until = script->samples + 40, until_ns = MonotonicNs() + 500 * kMs;
    // Once there is no room for more rows nothing is sampled.
    while (waits && script->samples < until && MonotonicNs() < until_ns)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (script->samples >= until) ++went_on;
    collect(std::move(chunk));
  };
  ASSERT_TRUE(sampler->Start(std::vector<model::StreamId>{1}, take).ok());
  collector.WaitForRows(1, 300);
  waits = false;
  EXPECT_GT(went_on, 0);
  sampler->Stop();
  collector.ExpectEveryTickAccounted(1, kMs);
}

/// Rows that fit before one is lost where each is handed over, or they are as often as they ever are.
int64_t TimeOfRowsThatFit(size_t columns, int64_t interval_ns) {
  const RowQueue::Size size = RowQueue::SizeFor(columns, interval_ns);
  RowQueue queue(columns, size.chunk_rows, size.chunks);
  const auto rows_handed_over = static_cast<size_t>(std::max<int64_t>(1, kPromptDeliveryNs / interval_ns));
  int64_t rows = 0;
  for (bool has_room = true; has_room; ++rows) {
    RowQueue::Chunk& chunk = queue.filling();
    chunk.cells[chunk.rows * columns] = rows;
    ++chunk.rows;
    if (chunk.rows >= rows_handed_over) has_room = queue.Push() || chunk.rows < size.chunk_rows;
  }
  // Nothing of it is overwritten.
  int64_t taken = 0;
  queue.TakeAll([&](const RowQueue::Chunk& chunk) {
    for (size_t row = 0; row < chunk.rows; ++row) EXPECT_EQ(chunk.cells[row * columns], taken++);
  });
  EXPECT_EQ(taken + static_cast<int64_t>(queue.filling().rows), rows);
  return rows * interval_ns;
}

TEST(RowQueue, HoldsTenSecondsAtEveryRateAndBoundedMemory) {
  for (const int64_t interval_ns : {kMs / 10, kMs, 10 * kMs, 50 * kMs, 100 * kMs, 500 * kMs, 1000 * kMs})
    EXPECT_GE(TimeOfRowsThatFit(4, interval_ns), kBacklogNs) << interval_ns;
  EXPECT_GE(TimeOfRowsThatFit(4, kMaxIntervalNs), 2 * kMaxIntervalNs);
  // A thousand values at 10 kHz: less time, and not more memory than two seconds take.
  const RowQueue::Size size = RowQueue::SizeFor(1000, kMs / 10);
  EXPECT_GE(TimeOfRowsThatFit(1000, kMs / 10), kLeastBacklogNs);
  EXPECT_LE(size.chunk_rows * size.chunks * 1000 * sizeof(int64_t), 180u << 20);
  const RowQueue::Size fewer = RowQueue::SizeFor(200, kMs / 10);
  EXPECT_LE(fewer.chunk_rows * fewer.chunks * 200 * sizeof(int64_t), kMostBacklogBytes);
}

TEST(SamplerWithPriority, RowsThatNobodyTakesForLongAreDroppedAndCounted) {
  if (!PriorityIsPermitted()) GTEST_SKIP() << "SCHED_FIFO needs CAP_SYS_NICE";
  auto script = std::make_shared<Script>();
  Collector collector;
  const ChunkCallback collect = collector.Callback();
  constexpr int64_t kInterval = kMs / 5;
  constexpr int64_t kMoreThanFits = (kBacklogNs + 600 * kMs) / kInterval;
  auto sampler = MakeWithPriority([&] { return Request(script, kInterval); });
  bool waited = false;
  const auto take = [&](SampleChunk chunk) {
    const int64_t until_ns = MonotonicNs() + kMoreThanFits * kInterval;
    while (!waited && MonotonicNs() < until_ns) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    waited = true;
    collect(std::move(chunk));
  };
  ASSERT_TRUE(sampler->Start(std::vector<model::StreamId>{1}, take).ok());
  collector.WaitUntil([&] { return collector.GapCount(1, GapReason::kDropped) > 0; });
  collector.WaitForMoreRows(1, 20);
  sampler->Stop();
  collector.ExpectEveryTickAccounted(1, kInterval);
}

TEST(Sampler, PauseTakesNothingAndBecomesAGap) {
  auto script = std::make_shared<Script>();
  Collector collector;
  auto sampler = Make(Request(script, kMs));
  ASSERT_TRUE(sampler->Start(std::vector<model::StreamId>{1}, collector.Callback()).ok());
  collector.WaitForRows(1, 10);
  sampler->Pause();
  const int64_t paused_ns = MonotonicNs();
  const int64_t samples = script->samples;
  while (MonotonicNs() < paused_ns + 20 * kMs) {
  }
  EXPECT_EQ(script->samples, samples);
  sampler->Resume();
  collector.WaitForMoreRows(1, 10);
  sampler->Stop();
  EXPECT_GE(collector.GapCount(1, GapReason::kPaused), 19);
  collector.ExpectEveryTickAccounted(1, kMs);
}

TEST(Sampler, StoppedWhilePausedStillTellsOfThePause) {
  auto script = std::make_shared<Script>();
  Collector collector;
  auto sampler = Make(Request(script, kMs));
  ASSERT_TRUE(sampler->Start(std::vector<model::StreamId>{1}, collector.Callback()).ok());
  sampler->Pause();
  const int64_t paused_ns = MonotonicNs();
  while (MonotonicNs() < paused_ns + 5 * kMs) {
  }
  sampler->Stop();
  EXPECT_GE(collector.GapCount(1, GapReason::kPaused), 4);
}

TEST(Sampler, AnotherIntervalIsAnotherStream) {
  auto script = std::make_shared<Script>();
  Collector collector;
  auto sampler = Make(Request(script, kMs));
  ASSERT_TRUE(sampler->Start(std::vector<model::StreamId>{1}, collector.Callback()).ok());
  collector.WaitForRows(1, 10);
  ASSERT_TRUE(sampler->SetInterval(0, 2 * kMs, 2).ok());
  const size_t of_first = collector.Rows(1);
  collector.WaitForRows(2, 30);
  sampler->Stop();
  EXPECT_EQ(collector.t_ns_[1].size(), of_first) << "nothing of the old stream after SetInterval returned";
  EXPECT_LT(collector.t_ns_[1].back(), collector.t_ns_[2].front());
  collector.ExpectEveryTickAccounted(2, 2 * kMs);
  EXPECT_EQ(sampler->Sensors()[0].interval_ns, 2 * kMs);
}

TEST(Sampler, RefusesAnIntervalOutOfRangeAndASensorThatIsNotThere) {
  auto sampler = Make(Request(std::make_shared<Script>(), kMs));
  EXPECT_EQ(sampler->SetInterval(0, 0, 1).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(sampler->SetInterval(0, -kMs, 1).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(sampler->SetInterval(0, 7'200'000 * kMs, 1).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(sampler->SetInterval(1, kMs, 1).error().code, Errc::kNotFound);
}

TEST(Sampler, ASensorThatVanishesLeavesAGapAndTheOthersGoOn) {
  auto gone = std::make_shared<Script>(), stays = std::make_shared<Script>();
  Collector collector;
  auto sampler = Make(Request(gone, kMs), Request(stays, kMs));
  ASSERT_TRUE(sampler->Start(std::vector<model::StreamId>{1, 2}, collector.Callback()).ok());
  collector.WaitForRows(1, 10);
  gone->away = true;
  collector.WaitForMoreRows(2, 60);
  gone->away = false;
  collector.WaitUntil([&] { return collector.GapCount(1, GapReason::kVanished) > 0; });
  collector.WaitForMoreRows(1, 10);
  sampler->Stop();
  collector.ExpectEveryTickAccounted(1, kMs);
  collector.ExpectEveryTickAccounted(2, kMs);
  EXPECT_EQ(collector.GapCount(2, GapReason::kVanished), 0);
}

TEST(Sampler, ASensorThatStaysAwayIsToldOfAtTheEnd) {
  auto script = std::make_shared<Script>();
  Collector collector;
  auto sampler = Make(Request(script, kMs));
  script->away = true;
  const int64_t trials = script->samples;
  ASSERT_TRUE(sampler->Start(std::vector<model::StreamId>{1}, collector.Callback()).ok());
  while (script->samples < trials + 5) {
  }
  sampler->Stop();
  EXPECT_EQ(collector.GapCount(1, GapReason::kVanished), script->samples - trials);
}

TEST(Sampler, ASlowSensorHasAThreadOfItsOwnUntilItIsNoLongerSlow) {
  auto quick = std::make_shared<Script>(), slow = std::make_shared<Script>();
  slow->each_spin_ns = kMs;
  Collector collector;
  std::unique_ptr<Sampler> sampler;
  do {  // until both were tried with a CPU for themselves
    sampler = Make(Request(quick, kMs), Request(slow, 4 * kMs));
    EXPECT_GE(sampler->Sensors()[1].cost_ns, kMs);
  } while (sampler->Sensors()[0].cost_ns > kMs || sampler->Sensors()[1].cost_ns > 2 * kMs);
  ASSERT_TRUE(sampler->Start(std::vector<model::StreamId>{1, 2}, collector.Callback()).ok());
  collector.WaitForRows(1, 10);
  collector.WaitForRows(2, 3);
  EXPECT_NE(quick->thread, slow->thread);
  ASSERT_TRUE(sampler->SetInterval(1, 40 * kMs, 3).ok());
  collector.WaitForRows(3, 1);
  EXPECT_NE(quick->thread, slow->thread) << "no longer slow itself, but it would still make the quick one late";
  ASSERT_TRUE(sampler->SetInterval(0, 20 * kMs, 4).ok());
  collector.WaitForRows(4, 3);
  collector.WaitForMoreRows(3, 2);
  EXPECT_EQ(quick->thread, slow->thread);
  ASSERT_TRUE(sampler->SetInterval(1, 5 * kMs, 5).ok());
  collector.WaitForRows(5, 3);
  EXPECT_NE(quick->thread, slow->thread);
  sampler->Stop();
  collector.ExpectEveryTickAccounted(3, 40 * kMs);
  collector.ExpectEveryTickAccounted(4, 20 * kMs);
}

TEST(Sampler, AnUnavailableSensorSaysWhyAndTheRestRuns) {
  auto script = std::make_shared<Script>();
  Collector collector;
  auto sampler =
      Make(SensorRequest{std::make_unique<ScriptedSensor>(std::make_shared<Script>(), false), 0}, Request(script, 0));
  ASSERT_TRUE(sampler->Sensors()[0].unavailable.has_value());
  EXPECT_EQ(sampler->Sensors()[0].unavailable->message, "nowhere: not here");
  EXPECT_EQ(sampler->Sensors()[1].interval_ns, 7 * kMs) << "the sensor's own default";
  ASSERT_TRUE(sampler->Start(std::vector<model::StreamId>{0, 8}, collector.Callback()).ok());
  collector.WaitForRows(8, 3);
  sampler->Stop();
  EXPECT_EQ(collector.t_ns_.size(), 1u);
}

TEST(Sampler, ASensorThatDoesNotReturnHoldsUpNeitherTheOthersNorTheEnd) {
  const auto stuck = std::make_shared<Script>();
  const auto steady = std::make_shared<Script>();
  stuck->own_thread = true;
  Collector collector;
  auto sampler = Make(Request(stuck, kMs), Request(steady, kMs));
  ASSERT_TRUE(sampler->Start(std::vector<model::StreamId>{1, 2}, collector.Callback()).ok());
  collector.WaitForRows(1, 3);
  stuck->stuck = true;
  while (!stuck->is_in) std::this_thread::yield();
  collector.WaitForMoreRows(2, 5);
  const Status changed = sampler->SetInterval(0, 2 * kMs, 3);
  EXPECT_EQ(changed.ok() ? Errc::kInternal : changed.error().code, Errc::kTimeout);
  sampler->Pause();
  sampler->Resume();
  collector.WaitForMoreRows(2, 5);
  sampler.reset();
  EXPECT_EQ(steady.use_count(), 1) << "what is not stuck is not left to itself";
  LetGo(*stuck);
}

TEST(Sampler, ACommonThreadThatIsStuckHoldsUpNobodyElse) {
  const auto stuck = std::make_shared<Script>();
  const auto own = std::make_shared<Script>();
  const auto shared = std::make_shared<Script>();
  own->own_thread = true;
  Collector collector;
  auto sampler = Make(Request(stuck, kMs), Request(own, kMs));
  ASSERT_TRUE(sampler->Start(std::vector<model::StreamId>{1, 2}, collector.Callback()).ok());
  collector.WaitForRows(1, 3);
  stuck->stuck = true;
  while (!stuck->is_in) std::this_thread::yield();
  ASSERT_TRUE(sampler->SetInterval(1, 2 * kMs, 3).ok()) << "it stays on its own thread";
  collector.WaitForRows(3, 5);
  const auto opened = [&] { return OpenSensor(HostRoot(), std::make_unique<ScriptedSensor>(shared)); };
  EXPECT_EQ(sampler->CheckReplace(1, opened()).error().code, Errc::kTimeout);
  EXPECT_EQ(sampler->Replace(1, opened(), 4).error().code, Errc::kTimeout) << "it is for the common thread";
  EXPECT_EQ(sampler->SetInterval(0, 2 * kMs, 5).error().code, Errc::kTimeout);
  EXPECT_EQ(sampler->Sensors()[0].interval_ns, kMs) << "as before";
  collector.WaitForMoreRows(3, 5);
  sampler.reset();
  EXPECT_EQ(own.use_count(), 1) << "its thread was told to stop, and did";
  collector.ExpectEveryTickAccounted(3, 2 * kMs);
  LetGo(*stuck);
}

TEST(Sampler, AThreadThatWasStuckIsAsBefore) {
  const auto stuck = std::make_shared<Script>();
  Collector collector;
  auto sampler = Make(Request(stuck, kMs));
  ASSERT_TRUE(sampler->Start(std::vector<model::StreamId>{1}, collector.Callback()).ok());
  collector.WaitForRows(1, 3);
  stuck->stuck = true;
  while (!stuck->is_in) std::this_thread::yield();
  EXPECT_FALSE(sampler->SetInterval(0, 2 * kMs, 2).ok());
  stuck->stuck = false;
  collector.WaitForMoreRows(1, 10);
  while (!sampler->CheckInterval(0, 2 * kMs).ok()) std::this_thread::yield();
  ASSERT_TRUE(sampler->SetInterval(0, 2 * kMs, 3).ok());
  collector.WaitForRows(3, 5);
  sampler->Stop();
  EXPECT_EQ(collector.Rows(2), 0u);
  collector.ExpectEveryTickAccounted(1, kMs);
}

TEST(Sampler, ASensorThatIsSlowToPrepareIsLateAndJoinsWhenItIsReady) {
  const auto slow = std::make_shared<Script>();
  const auto quick = std::make_shared<Script>();
  slow->file = "slow.toml";
  slow->stuck = true;
  std::vector<SensorRequest> requests;
  requests.push_back(Request(slow, 0));
  requests.push_back(Request(quick, kMs));
  SamplerOptions options;
  options.realtime = false;
  options.patience_ns = kMs;
  Collector collector;
  const auto sampler = Sampler::Create(HostRoot(), std::move(requests), options);
  EXPECT_TRUE(sampler->Sensors()[0].late);
  EXPECT_THAT(sampler->Sensors()[0].unavailable->message, HasSubstr("not ready after 1 ms"));
  ASSERT_TRUE(sampler->Start(std::vector<model::StreamId>{0, 2}, collector.Callback()).ok());
  collector.WaitForRows(2, 3);
  const std::unique_ptr<Opening> opening = sampler->TakeLate(0);
  ASSERT_NE(opening, nullptr);
  EXPECT_FALSE(opening->Take(0));
  std::atomic<bool> ready{false};
  opening->Notify([&] { ready = true; });
  slow->stuck = false;
  auto opened = opening->Take(INT64_MAX);
  ASSERT_TRUE(opened && opened->signals.ok());
  EXPECT_FALSE(opening->Take(0)) << "it is given once";
  while (!ready) std::this_thread::yield();
  ASSERT_TRUE(sampler->Replace(0, *std::move(opened), 1).ok());
  EXPECT_FALSE(sampler->Sensors()[0].late || sampler->Sensors()[0].unavailable);
  EXPECT_EQ(sampler->Sensors()[0].interval_ns, 7 * kMs) << "its own, which was not known before";
  collector.WaitForRows(1, 3);
}

TEST(Sampler, ASensorThatNobodyAskedForIsLeftOutWhereItIsUnavailable) {
  const auto script = std::make_shared<Script>();
  std::vector<SensorRequest> requests;
  requests.push_back({std::make_unique<ScriptedSensor>(script, false), kMs, /*only_if_here=*/true});
  requests.push_back(Request(script, kMs));
  const auto sampler = Sampler::Create(HostRoot(), std::move(requests));
  ASSERT_EQ(sampler->Count(), 1u);
  EXPECT_EQ(sampler->Sensors()[0].request, 1u);
}

TEST(Sampler, StartsOnceAndWithAStreamForEachSensor) {
  auto sampler = Make(Request(std::make_shared<Script>(), kMs));
  EXPECT_FALSE(sampler->Start({}, [](const SampleChunk&) {}).ok());
  ASSERT_TRUE(sampler->Start(std::vector<model::StreamId>{1}, [](const SampleChunk&) {}).ok());
  EXPECT_FALSE(sampler->Start(std::vector<model::StreamId>{1}, [](const SampleChunk&) {}).ok());
  sampler->Stop();
  EXPECT_FALSE(sampler->SetInterval(0, kMs, 2).ok());
}

TEST(Sampler, ItsOwnCostIsASignal) {
  SamplerOptions options;
  options.realtime = false;
  std::vector<SensorRequest> requests;
  requests.push_back({*sensor::MakeSensor("attune", {.meter = options.meter}), kMs});
  auto sampler = Sampler::Create(HostRoot(), std::move(requests), options);
  ASSERT_EQ(sampler->Sensors()[0].signals[0].signal, "sampler_cpu");
  std::atomic<int64_t> cpu_ns{0};
  ASSERT_TRUE(sampler
                  ->Start(std::vector<model::StreamId>{1},
                          [&](const SampleChunk& chunk) {
                            if (chunk.samples.rows > 0) cpu_ns = chunk.samples.ints[1].back();
                            cpu_ns.notify_all();
                          })
                  .ok());
  cpu_ns.wait(0);
  sampler->Stop();
  EXPECT_GT(cpu_ns, 0);
  EXPECT_GE(options.meter->sampler_cpu_ns, cpu_ns);
}

TEST(Sampler, SaysUnderWhichConditionsItRuns) {
  SamplerOptions options;
  options.cpus = CpuSet::Allowed();
  std::vector<SensorRequest> requests;
  requests.push_back(Request(std::make_shared<Script>(), 100 * kMs));
  auto sampler = Sampler::Create(HostRoot(), std::move(requests), options);
  ASSERT_TRUE(sampler->Start(std::vector<model::StreamId>{1}, [](const SampleChunk&) {}).ok());
  EXPECT_THAT(sampler->Conditions(), HasSubstr("SCHED_FIFO"));
  EXPECT_THAT(sampler->Conditions(), HasSubstr("locked"));
  EXPECT_THAT(sampler->Conditions(), HasSubstr("on CPUs " + options.cpus.ToString()));
}

/// A machine with nothing but what keeps CPUs awake, removed at the end.
class AwakeMachine {
 public:
  AwakeMachine() {
    std::string name = (fs::temp_directory_path() / "attune-awake-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
    fs::create_directory(root_ / "dev");
    std::ofstream(Device()) << "before";
  }
  ~AwakeMachine() { fs::remove_all(root_); }
  fs::path Device() const { return root_ / "dev" / "cpu_dma_latency"; }
  HostRoot Host() const { return HostRoot(root_.string()); }
  /// Whether this process has the device open.
  bool IsHeld() const {
    for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      if (fs::read_symlink(entry.path(), gone) == Device()) return true;
    }
    return false;
  }

 private:
  fs::path root_;
};

TEST(Sampler, KeepsTheCpusAwakeWhileItRuns) {
  const AwakeMachine machine;
  const auto make = [&] {
    SamplerOptions options;
    options.keep_awake = true;
    std::vector<SensorRequest> requests;
    requests.push_back(Request(std::make_shared<Script>(), 100 * kMs));
    return Sampler::Create(machine.Host(), std::move(requests), options);
  };
  const auto sampler = make();
  EXPECT_FALSE(machine.IsHeld());
  ASSERT_TRUE(sampler->Start(std::vector<model::StreamId>{1}, [](const SampleChunk&) {}).ok());
  EXPECT_THAT(sampler->Conditions(), HasSubstr("CPUs kept awake"));
  EXPECT_TRUE(machine.IsHeld());
  EXPECT_EQ(*machine.Host().ReadFile("/dev/cpu_dma_latency"), std::string("\0\0\0\0re", 6));
  sampler->Stop();
  EXPECT_FALSE(machine.IsHeld());

  fs::remove(machine.Device());
  const Status refused = make()->Start(std::vector<model::StreamId>{1}, [](const SampleChunk&) {});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("/dev/cpu_dma_latency"));
  EXPECT_THAT(refused.error().hint, HasSubstr("--keep-awake"));
}

TEST(ParseInterval, TakesTimesAndRatesWithinTheLimits) {
  EXPECT_EQ(*ParseInterval("10ms", "-i"), 10 * kMs);
  EXPECT_EQ(*ParseInterval("10kHz", "-i"), 100'000);
  EXPECT_EQ(*ParseInterval("0.1Hz", "-i"), 10'000 * kMs);
  for (const char* wrong : {"0", "0ms", "-1ms", "fast", "", "10", "2h", "20kHz", "1e300s", "nan"}) {
    const auto result = ParseInterval(wrong, "-i");
    ASSERT_FALSE(result.ok()) << wrong;
    EXPECT_EQ(result.error().code, Errc::kInvalidArgument) << wrong;
    EXPECT_THAT(result.error().message, HasSubstr("-i")) << wrong;
  }
}

}  // namespace
}  // namespace attune::session
