#include "session/sampler.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/units.h"
#include "session/control.h"
#include "session/placement.h"
#include "session/sampler_lane.h"

namespace attune::session {
namespace {

/// A sensor that keeps a thread busy for longer does not come back.
constexpr int64_t kStuckNs = 2'000'000'000;

Error NotReady(int64_t patience_ns) {
  return {Errc::kTimeout, fmt::format("it was not ready after {}", FormatDuration(patience_ns)), "it joins when it is"};
}

}  // namespace

Sampler::Sampler(const HostRoot& host, SamplerOptions options) : host_(host), options_(std::move(options)) {}

std::unique_ptr<Sampler> Sampler::Create(const HostRoot& host, std::vector<SensorRequest> requests,
                                         SamplerOptions options) {
  std::unique_ptr<Sampler> sampler(new Sampler(host, std::move(options)));
  const int64_t deadline_ns = MonotonicNs() + sampler->options_.patience_ns;
  // Those that may take long go ahead, each for itself, while the others are prepared here.
  std::vector<std::unique_ptr<Opening>> openings(requests.size());
  std::vector<std::string> names;
  for (size_t i = 0; i < requests.size(); ++i) {
    names.emplace_back(requests[i].sensor->Info().name);
    if (MayTakeLong(*requests[i].sensor)) openings[i] = std::make_unique<Opening>(host, std::move(requests[i].sensor));
  }
  std::vector<std::optional<OpenedSensor>> opened(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    if (!openings[i]) opened[i] = OpenSensor(host, std::move(requests[i].sensor));
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    PreparedSensor prepared{.name = names[i], .request = i, .interval_ns = requests[i].interval_ns};
    if (openings[i]) opened[i] = openings[i]->Take(deadline_ns);
    if (opened[i]) {
      openings[i].reset();
      if (requests[i].only_if_here && !opened[i]->signals.ok()) continue;
      sampler->Describe(prepared, *opened[i]);
    } else {
      prepared.late = true;
      prepared.unavailable = NotReady(sampler->options_.patience_ns);
    }
    sampler->sensor_objects_.push_back(opened[i] ? std::move(opened[i]->sensor) : nullptr);
    sampler->late_.push_back(std::move(openings[i]));
    sampler->sensors_.push_back(std::move(prepared));
  }
  sampler->groups_.resize(sampler->sensors_.size());
  return sampler;
}

/// Takes over what preparing the sensor has said, but not the sensor.
void Sampler::Describe(PreparedSensor& prepared, OpenedSensor& opened) {
  prepared.late = false;
  prepared.unavailable.reset();
  if (prepared.interval_ns == 0) prepared.interval_ns = opened.sensor->Info().default_interval_ns;
  if (opened.signals.ok()) {
    prepared.signals = *std::move(opened.signals);
    prepared.notes = std::move(opened.notes);
    prepared.cost_ns = opened.cost_ns;
  } else {
    prepared.unavailable = opened.signals.error();
  }
}

Sampler::~Sampler() { Stop(); }

std::unique_ptr<Sampler::LatchGroup> Sampler::MakeGroup(size_t index, model::StreamId stream) const {
  if (!sensors_[index].HasSignals()) return nullptr;
  return std::make_unique<LatchGroup>(*sensor_objects_[index], sensors_[index], stream, delivery_ns_);
}

/// Whether the group would make others late: reading takes more than a tenth of its own interval, or so long that the
/// quickest sensor might miss a grid point; or it may wait for another process.
bool Sampler::NeedsOwnLane(const LatchGroup& group) const {
  int64_t quickest_ns = INT64_MAX;
  for (const auto& other : groups_) {
    if (other && other.get() != &group) quickest_ns = std::min(quickest_ns, other->interval_ns);
  }
  return group.cost_ns > group.interval_ns / 10 || group.cost_ns > quickest_ns / 4 || group.sensor.Info().own_thread;
}

Sampler::Lane& Sampler::NewLaneFor(const LatchGroup& group) {
  if (!NeedsOwnLane(group)) return *lanes_.front();
  // A reading that takes long must not starve the observed program: no real-time priority for it.
  lanes_.push_back(std::make_unique<Lane>(options_, *delivery_, /*realtime=*/false, paused_));
  return *lanes_.back();
}

/// The lane goes on with `next` where it was with the sensor's group so far; either may be nullptr.
void Sampler::Exchange(size_t index, std::unique_ptr<LatchGroup> next) {
  const std::unique_ptr<LatchGroup> old = std::exchange(groups_[index], std::move(next));
  LatchGroup* group = groups_[index].get();
  const bool stays = old && group && NeedsOwnLane(*group) == (old->lane != lanes_.front().get());
  if (group) delivery_->Add(group);
  if (stays) {
    group->lane = old->lane;
    old->lane->Replace(old.get(), group);
  } else if (old) {
    old->lane->Remove(old.get());
  }
  if (old) delivery_->Remove(old.get());
  if (stays) return;
  if (group) {
    if (old && &old->sensor != &group->sensor) group->sensor.Continue(old->sensor);
    group->lane = &NewLaneFor(*group);
    group->lane->Add(group, old ? old->closed_ns : 0);
  }
  DropIdleLanes();
}

Status Sampler::Start(std::span<const model::StreamId> streams, ChunkCallback callback) {
  const std::lock_guard lock(mutex_);
  if (state_ != State::kNew) return Error{Errc::kInternal, "sampler: started a second time", ""};
  if (streams.size() != sensors_.size()) {
    return Error{Errc::kInternal, fmt::format("sampler: {} streams for {} sensors", streams.size(), sensors_.size()),
                 ""};
  }
  if (options_.keep_awake) {
    ATTUNE_TRY(awake_, KeepCpusAwake(host_));
  }
  state_ = State::kRunning;
  delivery_ = std::make_shared<Delivery>(std::move(callback));
  lanes_.push_back(std::make_unique<Lane>(options_, *delivery_, options_.realtime, paused_));
  conditions_ = lanes_.front()->Conditions();
  if (options_.realtime) {
    // On fault: what is touched stays, but stacks and tables that are only reserved are not filled.
    memory_locked_ = ::mlockall(MCL_CURRENT | MCL_ONFAULT) == 0;
    conditions_ += memory_locked_ ? ", memory locked"
                                  : fmt::format(", memory not locked ({}; RLIMIT_MEMLOCK)", std::strerror(errno));
  }
  if (awake_) conditions_ += ", CPUs kept awake";
  // All groups first: the quickest of them decides who needs a lane of its own.
  for (size_t i = 0; i < streams.size(); ++i) groups_[i] = MakeGroup(i, streams[i]);
  for (const auto& group : groups_) {
    if (!group) continue;
    delivery_->Add(group.get());
    group->lane = &NewLaneFor(*group);
    group->lane->Add(group.get());
  }
  return {};
}

Status Sampler::CheckRunning(size_t index) const {
  if (index >= sensors_.size()) return Error{Errc::kNotFound, fmt::format("sampler: no sensor {}", index), ""};
  if (state_ == State::kStopped) return Error{Errc::kInvalidArgument, "sampler: stopped", ""};
  return {};
}

/// Whoever takes a sensor from its lane waits for the lane.
Status Sampler::CheckAnswers(size_t index) const {
  if (!groups_.at(index) || groups_[index]->lane == nullptr || groups_[index]->lane->Answers(kStuckNs)) return {};
  return Error{Errc::kTimeout, fmt::format("sensor {} does not return from a reading", sensors_[index].name), ""};
}

Status Sampler::SetInterval(size_t index, int64_t interval_ns, model::StreamId stream) {
  const std::lock_guard lock(mutex_);
  ATTUNE_CHECK_OK(CheckRunning(index));
  if (interval_ns < kMinIntervalNs || interval_ns > kMaxIntervalNs) {
    return Error{
        Errc::kInvalidArgument, fmt::format("sampler: an interval of {} is out of range", FormatDuration(interval_ns)),
        fmt::format("it must lie between {} and {}", FormatDuration(kMinIntervalNs), FormatDuration(kMaxIntervalNs))};
  }
  ATTUNE_CHECK_OK(CheckAnswers(index));
  sensors_[index].interval_ns = interval_ns;
  if (state_ == State::kRunning && groups_[index]) {
    Exchange(index, MakeGroup(index, stream));
    Rebalance();
  }
  return {};
}

std::unique_ptr<model::Sensor> Sampler::Fresh(size_t index) const {
  const model::Sensor* sensor = nullptr;
  {
    const std::lock_guard lock(mutex_);
    sensor = sensor_objects_.at(index).get();
  }
  return sensor == nullptr ? nullptr : sensor->Fresh();  // only this thread ever replaces it
}

bool Sampler::NeedsProgram(size_t index) const {
  const std::lock_guard lock(mutex_);
  return sensor_objects_.at(index) && sensor_objects_[index]->Info().needs_program;
}

bool Sampler::IsAway(size_t index) const {
  const std::lock_guard lock(mutex_);
  return groups_.at(index) && groups_[index]->away.load(std::memory_order_relaxed);
}

Status Sampler::Replace(size_t index, OpenedSensor opened, model::StreamId stream) {
  const std::lock_guard lock(mutex_);
  ATTUNE_CHECK_OK(CheckRunning(index));
  ATTUNE_CHECK_OK(CheckAnswers(index));
  Describe(sensors_[index], opened);
  // The old one lives until its lane has let go of it.
  const std::unique_ptr<model::Sensor> old = std::exchange(sensor_objects_[index], std::move(opened.sensor));
  if (state_ == State::kRunning) {
    Exchange(index, MakeGroup(index, stream));
    Rebalance();
  }
  return {};
}

/// After the quickest interval may have changed.
void Sampler::Rebalance() {
  for (size_t i = 0; i < groups_.size(); ++i) {
    if (groups_[i] && NeedsOwnLane(*groups_[i]) != (groups_[i]->lane != lanes_.front().get()))
      Exchange(i, MakeGroup(i, groups_[i]->stream));
  }
}

void Sampler::DropIdleLanes() {
  const auto idle = [](const std::unique_ptr<Lane>& lane) { return lane->empty(); };
  lanes_.erase(std::remove_if(lanes_.begin() + 1, lanes_.end(), idle), lanes_.end());
}

void Sampler::Pause() {
  const std::lock_guard lock(mutex_);
  paused_ = true;
  for (const auto& lane : lanes_) lane->Pause();
  if (delivery_) delivery_->Drain();
}

void Sampler::Resume() {
  const std::lock_guard lock(mutex_);
  paused_ = false;
  for (const auto& lane : lanes_) lane->Resume();
  if (delivery_) delivery_->Drain();
}

void Sampler::Abandon(std::unique_ptr<Lane> lane) {
  // The thread may go on at any time: all that it touches stays until the process ends.
  struct Left {
    std::unique_ptr<Lane> lane;
    std::vector<std::unique_ptr<LatchGroup>> groups;
    std::vector<std::unique_ptr<model::Sensor>> sensors;
    std::shared_ptr<Delivery> delivery;
  };
  static std::mutex mutex;
  static auto* const all = new std::vector<Left>;
  Left left{std::move(lane), {}, {}, delivery_};
  for (size_t i = 0; i < groups_.size(); ++i) {
    if (!groups_[i] || groups_[i]->lane != left.lane.get()) continue;
    left.groups.push_back(std::move(groups_[i]));
    left.sensors.push_back(std::move(sensor_objects_[i]));
  }
  const std::lock_guard lock(mutex);
  all->push_back(std::move(left));
}

void Sampler::Stop() {
  const std::lock_guard lock(mutex_);
  const int64_t limit_ns = MonotonicNs() + kStuckNs;
  for (std::unique_ptr<Lane>& lane : lanes_) {
    if (!lane->Stop(limit_ns)) Abandon(std::move(lane));
  }
  lanes_.clear();
  for (const auto& group : groups_) {
    if (group) delivery_->Remove(group.get());
  }
  if (delivery_) delivery_->Stop();
  delivery_.reset();
  groups_.clear();
  groups_.resize(sensors_.size());
  if (memory_locked_) ::munlockall();
  memory_locked_ = false;
  awake_.reset();
  state_ = State::kStopped;
}

std::string Sampler::Conditions() const {
  const std::lock_guard lock(mutex_);
  return conditions_;
}

}  // namespace attune::session
