#include "session/sampling/sensing.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/units.h"
#include "model/info_keys.h"

namespace attune::session {
namespace {

using Clock = std::chrono::steady_clock;

/// The soonest answer to LookSoon(): a program that starts a thread mostly starts some more.
constexpr std::chrono::milliseconds kSoonest{20};
/// A program whose threads never stay has little to gain from a new stream every second, and fills the recording: after
/// so many exchanges in a row they become rarer.
constexpr int kExchangesInARow = 10;
constexpr int kMostRarer = 10;
/// A sensor that takes longer to prepare is left to itself until it is ready: one that may, and one of attune's own,
/// which does only where a kernel or a file system does not answer.
constexpr int64_t kLookNs = 100'000'000;
constexpr int64_t kOwnLookNs = 1'000'000'000;
/// Preparations that go on at the end may use what the session has, and get so much time for it.
constexpr int64_t kLeaveNs = 100'000'000;

model::ElementId ElementOf(const model::ElementKey& key, Registry& registry, ProcessTable& processes) {
  switch (key.kind) {
    case model::ElementKind::kProcess: return processes.Process(static_cast<pid_t>(key.os_id));
    case model::ElementKind::kThread:
      return processes.Thread(static_cast<pid_t>(key.pid), static_cast<pid_t>(key.os_id));
    default: return registry.FindOrAdd(key);
  }
}

}  // namespace

Sensing::Sensing(HostRoot host, Registry& registry, ProcessTable& processes, Pipeline& pipeline,
                 std::chrono::nanoseconds look_every)
    : host_(std::move(host)),
      registry_(registry),
      processes_(processes),
      pipeline_(pipeline),
      look_every_(look_every) {}

Sensing::~Sensing() { Stop(); }

model::Stream Sensing::AddStream(const std::string& sensor, const std::vector<model::SignalSpec>& signals,
                                 int64_t interval_ns) {
  std::vector<model::ElementId> elements;
  elements.reserve(signals.size());
  for (const model::SignalSpec& signal : signals) elements.push_back(ElementOf(signal.element, registry_, processes_));
  return registry_.AddStream(sensor, signals, elements, interval_ns);
}

Status Sensing::Start(std::vector<SensorRequest> requests, const SamplerOptions& options) {
  const MutexLock looking(look_mutex_);
  const MutexLock lock(mutex_);
  sampler_ = Sampler::Create(host_, std::move(requests), options);
  std::vector<std::pair<std::string, std::string>> rows;
  std::vector<model::StreamId> ids;
  for (const PreparedSensor& sensor : sampler_->Sensors()) {
    if (sensor.unavailable) {
      skipped_.push_back({sensor.request, sensor.name, *sensor.unavailable, sensor.late});
      rows.emplace_back(std::string(model::info::kSkippedPrefix) + sensor.name, sensor.unavailable->message);
    }
    rows.insert(rows.end(), sensor.notes.begin(), sensor.notes.end());
    streams_.push_back(sensor.HasSignals() ? AddStream(sensor.name, sensor.signals, sensor.interval_ns)
                                           : model::Stream());
    ids.push_back(streams_.back().id);
  }
  for (size_t i = 0; i < sampler_->Count(); ++i) {
    openings_.push_back(sampler_->TakeLate(i));
    if (openings_.back()) openings_.back()->Notify([this] { LookSoon(); });
  }
  ATTUNE_CHECK_OK(sampler_->Start(ids, [this](SampleChunk chunk) {
    pipeline_.Publish(std::move(chunk.samples), Pipeline::Hurry::kNo);
    pipeline_.Publish(model::ToBatch(chunk.gaps), Pipeline::Hurry::kNo);
    if (!chunk.more) pipeline_.Wake();
  }));
  rows.emplace_back(model::info::kSampling, sampler_->Conditions());
  pipeline_.Publish(model::InfoBatch(rows));
  look_out_ = std::thread([this] { Run(); });
  return {};
}

Status Sensing::SetInterval(const std::string& sensor, int64_t interval_ns) {
  const MutexLock lock(mutex_);
  bool found = false;
  Status changed_all;
  std::vector<std::string> names;
  for (size_t i = 0; i < streams_.size(); ++i) {
    const PreparedSensor& prepared = sampler_->Sensors()[i];
    names.push_back(prepared.name);
    if (!sensor.empty() && prepared.name != sensor) continue;
    found = true;
    if (prepared.interval_ns == interval_ns) continue;
    // No stream is registered in vain, and one that cannot be changed leaves the others theirs.
    Status done = sampler_->CheckInterval(i, interval_ns);
    if (done.ok()) {
      model::Stream changed;
      if (prepared.HasSignals()) changed = registry_.ChangeInterval(streams_[i], interval_ns);
      done = sampler_->SetInterval(i, interval_ns, changed.id);
      if (done.ok()) streams_[i] = changed;
    }
    if (!done.ok() && changed_all.ok()) changed_all = done;
  }
  if (found) return changed_all;
  return Error{Errc::kNotFound, fmt::format("interval: this session does not sample '{}'", sensor),
               DidYouMean(sensor, names)};
}

void Sensing::Pause() {
  const MutexLock lock(mutex_);
  paused_ = true;
  sampler_->Pause();
}

void Sensing::Resume() {
  const MutexLock lock(mutex_);
  paused_ = false;
  sampler_->Resume();
}

void Sensing::LookSoon() {
  {
    const MutexLock lock(wake_mutex_);
    if (soon_) return;
    soon_ = true;
  }
  wake_.NotifyAll();
}

void Sensing::LookNow() {
  const MutexLock looking(look_mutex_);
  for (size_t i = 0; i < openings_.size() && !Stopping(); ++i) LookAt(i);
}

void Sensing::Stop() {
  {
    const MutexLock lock(wake_mutex_);
    stopping_ = true;
  }
  wake_.NotifyAll();
  if (look_out_.joinable()) look_out_.join();
  {
    const MutexLock looking(look_mutex_);
    const int64_t limit_ns = MonotonicNs() + kLeaveNs;
    for (const auto& opening : openings_) {
      if (opening) opening->Cancel(limit_ns);
    }
    openings_.clear();
  }
  const MutexLock lock(mutex_);
  if (sampler_) sampler_->Stop();
}

bool Sensing::Stopping() const {
  const MutexLock lock(wake_mutex_);
  return stopping_;
}

void Sensing::Run() {
  std::chrono::nanoseconds patience = kSoonest;
  Clock::time_point looked = Clock::now();
  Clock::time_point looked_at_all = looked;
  MutexLock lock(wake_mutex_);
  while (!stopping_) {
    const Clock::time_point due = looked_at_all + look_every_;
    const Clock::time_point until = soon_ ? std::min(due, looked + patience) : due;
    if (Clock::now() < until) {
      const bool was_soon = soon_;
      wake_.WaitUntil(lock, until, [&]() ATTUNE_REQUIRES(wake_mutex_) { return stopping_ || soon_ != was_soon; });
      continue;
    }
    if (soon_) patience = std::min(2 * patience, look_every_);
    soon_ = false;
    lock.Unlock();
    const bool all = Clock::now() >= due;
    LookAtDue(!all);
    looked = Clock::now();
    if (all) looked_at_all = looked;
    lock.Lock();
  }
}

void Sensing::LookAtDue(bool only_program) {
  const MutexLock looking(look_mutex_);
  paces_.resize(sampler_->Count());
  for (size_t i = 0; i < paces_.size() && !Stopping(); ++i) {
    Pace& pace = paces_[i];
    const bool due = !only_program || sampler_->NeedsProgram(i) || openings_[i];
    if (!due || Clock::now() < pace.not_before) continue;
    pace.exchanges = LookAt(i) ? pace.exchanges + 1 : 0;
    const int rarer = std::clamp(pace.exchanges - kExchangesInARow, 0, kMostRarer);
    pace.not_before = Clock::now() + rarer * look_every_;
  }
}

/// A prepared sensor for the place of this one, if there may be news of it.
std::optional<OpenedSensor> Sensing::LookFor(size_t index) {
  std::unique_ptr<Opening>& opening = openings_[index];
  int64_t limit_ns = MonotonicNs();
  if (!opening) {
    std::unique_ptr<model::Sensor> fresh = sampler_->Fresh(index);
    if (fresh == nullptr) return std::nullopt;
    limit_ns += MayTakeLong(*fresh) ? kLookNs : kOwnLookNs;
    KnownSignals known;
    {
      const MutexLock lock(mutex_);
      const PreparedSensor& now = sampler_->Sensors()[index];
      if (!now.unavailable) known = now.signals;
    }
    opening = std::make_unique<Opening>(host_, std::move(fresh), std::move(known));
  }
  std::optional<OpenedSensor> opened = opening->Take(limit_ns);
  if (opened) {
    opening.reset();
  } else {
    opening->Notify([this] { LookSoon(); });
  }
  return opened;
}

/// @return whether the sensor was exchanged
bool Sensing::LookAt(size_t index) {
  std::optional<OpenedSensor> opened = LookFor(index);
  if (!opened) return false;
  const MutexLock lock(mutex_);
  const PreparedSensor& now = sampler_->Sensors()[index];
  const std::string key = std::string(model::info::kSkippedPrefix) + now.name;
  const bool came = now.unavailable.has_value();
  if (!opened->signals.ok()) {
    // A sensor that is unavailable at the moment is no news: the old one says itself that its source is gone.
    if (!now.late) return false;
    if (!now.only_if_here)
      pipeline_.Publish(model::InfoBatch(std::vector{std::pair(key, opened->signals.error().message)}));
    static_cast<void>(sampler_->Replace(index, *std::move(opened), 0));
    return false;
  }
  const std::vector<model::SignalSpec>& signals = *opened->signals;
  if (!came && now.signals == signals && !sampler_->IsAway(index)) return false;
  if (!sampler_->CheckReplace(index, *opened).ok()) return false;
  const int64_t interval_ns = now.interval_ns > 0 ? now.interval_ns : opened->sensor->Info().default_interval_ns;
  model::Stream stream;
  if (!signals.empty()) stream = AddStream(now.name, signals, interval_ns);
  auto rows = opened->notes;
  if (!sampler_->Replace(index, *std::move(opened), stream.id).ok()) return false;
  streams_[index] = stream;
  if (!came) return true;
  rows.emplace_back(key, "was not there from the start");
  pipeline_.Publish(model::InfoBatch(rows));
  return true;
}

}  // namespace attune::session
