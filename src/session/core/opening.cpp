#include "session/core/opening.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <stop_token>
#include <system_error>

#include "base/clock.h"
#include "base/thread_safety.h"
#include "sensor/plugin/plugin_sensor.h"

namespace attune::session {
namespace {

constexpr int kTrialSamples = 5;
constexpr int64_t kEnoughTrialNs = 2'000'000;

/// The cost of a reading once it is warm: the quickest of some, or of few where it takes long.
int64_t MeasureCostNs(model::Sensor& sensor, size_t columns) {
  if (columns == 0) return 0;  // it is not read until it has something
  std::vector<int64_t> row(columns);
  int64_t best_ns = INT64_MAX;
  const int64_t enough_ns = MonotonicNs() + kEnoughTrialNs;
  for (int i = 0; i < kTrialSamples && (i < 2 || MonotonicNs() < enough_ns); ++i) {
    const int64_t begin_ns = MonotonicNs();
    if (!sensor.Sample(row)) break;  // gone already: the sampler will say so
    best_ns = std::min(best_ns, MonotonicNs() - begin_ns);
  }
  return best_ns == INT64_MAX ? 0 : best_ns;
}

}  // namespace

OpenedSensor OpenSensor(const HostRoot& host, std::unique_ptr<model::Sensor> sensor, const KnownSignals& known) {
  auto signals = sensor->Prepare(host);
  if (!signals.ok()) return {std::move(sensor), std::move(signals), 0, {}};
  auto notes = sensor->Notes();
  std::optional<int64_t> cost_ns;
  if (!known || *signals != *known) cost_ns = MeasureCostNs(*sensor, signals->size());
  return {std::move(sensor), std::move(signals), cost_ns, std::move(notes)};
}

bool MayTakeLong(const model::Sensor& sensor) { return !sensor.Info().file.empty(); }

struct Opening::State {
  Mutex mutex;
  CondVar ready;
  std::optional<OpenedSensor> opened ATTUNE_GUARDED_BY(mutex);
  bool done ATTUNE_GUARDED_BY(mutex) = false;
  std::function<void()> on_ready ATTUNE_GUARDED_BY(mutex);
  std::stop_source abandoned;

  void Finish(OpenedSensor result) {
    const MutexLock lock(mutex);
    opened = std::move(result);
    done = true;
    ready.NotifyAll();
    if (on_ready) on_ready();
  }
};

Opening::Opening(const HostRoot& host, std::unique_ptr<model::Sensor> sensor, KnownSignals known)
    : state_(std::make_shared<State>()) {
  // Both the thread and this function hold it until one of them has it alone.
  const auto given = std::make_shared<std::unique_ptr<model::Sensor>>(std::move(sensor));
  try {
    thread_ = std::thread([state = state_, token = state_->abandoned.get_token(), host, given, known] {
      ::pthread_setname_np(::pthread_self(), "attune-open");
      const sensor::PluginsEndWith plugins(token);
      state->Finish(OpenSensor(host, std::move(*given), known));
    });
  } catch (const std::system_error& error) {
    state_->Finish(
        {std::move(*given), Error{Errc::kNoSpace, std::string("no thread for it: ") + error.what(), ""}, 0, {}});
  }
}

Opening::~Opening() {
  if (!Cancel(0) && thread_.joinable()) thread_.detach();
}

std::optional<OpenedSensor> Opening::Take(int64_t deadline_ns) {
  MutexLock lock(state_->mutex);
  constexpr int64_t kHourNs = 3'600'000'000'000;  // a longer wait would overflow the clock of wait_for
  const std::chrono::nanoseconds left(std::clamp<int64_t>(deadline_ns - MonotonicNs(), 0, kHourNs));
  if (!state_->ready.WaitFor(lock, left, [this]() ATTUNE_REQUIRES(state_->mutex) { return state_->done; }))
    return std::nullopt;
  auto opened = std::exchange(state_->opened, std::nullopt);
  state_->abandoned = std::stop_source(std::nostopstate);  // it is the caller's now
  lock.Unlock();
  if (thread_.joinable()) thread_.join();
  return opened;
}

void Opening::Notify(std::function<void()> on_ready) {
  const MutexLock lock(state_->mutex);
  state_->on_ready = std::move(on_ready);
  if (state_->done && state_->on_ready) state_->on_ready();
}

bool Opening::Cancel(int64_t deadline_ns) {
  Notify(nullptr);
  state_->abandoned.request_stop();
  Take(deadline_ns).reset();
  return !thread_.joinable();
}

}  // namespace attune::session
