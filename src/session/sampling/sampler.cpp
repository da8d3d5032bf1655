#include "session/sampling/sampler.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/units.h"
#include "session/probes/placement.h"
#include "session/sampling/sampler_lane.h"

namespace attune::session {
namespace {

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
  const MutexLock lock(sampler->mutex_);  // nobody else has it yet
  for (size_t i = 0; i < requests.size(); ++i) {
    PreparedSensor prepared{.name = names[i],
                            .request = i,
                            .interval_ns = requests[i].interval_ns,
                            .only_if_here = requests[i].only_if_here};
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
    prepared.cost_ns = opened.cost_ns.value_or(prepared.cost_ns);
  } else {
    prepared.unavailable = opened.signals.error();
  }
}

Sampler::~Sampler() { Stop(); }

std::unique_ptr<LatchGroup> Sampler::MakeGroup(const PreparedSensor& prepared, model::Sensor* sensor,
                                               model::StreamId stream) const {
  if (!prepared.HasSignals()) return nullptr;
  return std::make_unique<LatchGroup>(*sensor, prepared, stream, delivery_ns_);
}

Sampler::Load Sampler::LoadOf(const LatchGroup& group) {
  return {group.cost_ns, group.interval_ns, group.sensor.Info().own_thread};
}

/// Whether sensor `index` would make others late: reading takes more than a tenth of its own interval, or so long that
/// the quickest sensor might miss a grid point; or it may wait for another process.
bool Sampler::NeedsOwnLane(size_t index, const Load& load) const {
  int64_t quickest_ns = INT64_MAX;
  for (size_t i = 0; i < groups_.size(); ++i) {
    if (groups_[i] && i != index) quickest_ns = std::min(quickest_ns, groups_[i]->interval_ns);
  }
  return load.cost_ns > load.interval_ns / 10 || load.cost_ns > quickest_ns / 4 || load.own_thread;
}

/// Gives the group to a lane: to one of its own too where the common one does not answer.
void Sampler::Place(size_t index, LatchGroup& group, int64_t after_ns) {
  group.lane = lanes_.front().get();
  if (!NeedsOwnLane(index, LoadOf(group)) && group.lane->Answers() && group.lane->Add(&group, after_ns)) return;
  // A reading that takes long must not starve the observed program: no real-time priority for it.
  lanes_.push_back(std::make_unique<SamplerLane>(options_, *delivery_, /*realtime=*/false, paused_));
  group.lane = lanes_.back().get();
  group.lane->Add(&group, after_ns);
}

/// The lane goes on with `next` where it was with the sensor's group so far; either may be nullptr. Where a lane does
/// not answer nothing has changed.
Status Sampler::Exchange(size_t index, std::unique_ptr<LatchGroup> next) {
  LatchGroup* const group = next.get();
  const auto load = group ? std::optional(LoadOf(*group)) : std::nullopt;
  ATTUNE_CHECK_OK(CheckAnswers(index, load));
  LatchGroup* const old = groups_[index].get();
  const auto stuck = [&]() ATTUNE_REQUIRES(mutex_) {
    return Error{Errc::kTimeout, fmt::format("sensor {}: its thread got stuck", sensors_[index].name), ""};
  };
  if (old && group && NeedsOwnLane(index, *load) == (old->lane != lanes_.front().get())) {
    group->lane = old->lane;
    delivery_->Add(group);
    if (!old->lane->Replace(old, group)) {
      delivery_->Remove(group);
      return stuck();
    }
    delivery_->Remove(old);
  } else {
    if (old && !old->lane->Remove(old)) return stuck();
    if (old) delivery_->Remove(old);
    if (group) {
      if (old && &old->sensor != &group->sensor) group->sensor.Continue(old->sensor);
      delivery_->Add(group);
      Place(index, *group, old ? old->closed_ns : 0);
    }
    DropIdleLanes();
  }
  groups_[index] = std::move(next);
  return {};
}

Status Sampler::Start(std::span<const model::StreamId> streams, ChunkCallback callback) {
  const MutexLock lock(mutex_);
  if (state_ != State::kNew) return Error{Errc::kInternal, "sampler: started a second time", ""};
  if (streams.size() != sensors_.size()) {
    return Error{Errc::kInternal, fmt::format("sampler: {} streams for {} sensors", streams.size(), sensors_.size()),
                 ""};
  }
  if (options_.keep_awake) {
    ATTUNE_TRY(awake_, KeepCpusAwake(host_));
  }
  state_ = State::kRunning;
  delivery_ = std::make_shared<SampleDelivery>(std::move(callback));
  lanes_.push_back(std::make_unique<SamplerLane>(options_, *delivery_, options_.realtime, paused_));
  conditions_ = lanes_.front()->Conditions();
  if (options_.realtime) {
    // On fault: what is touched stays, but stacks and tables that are only reserved are not filled.
    memory_locked_ = ::mlockall(MCL_CURRENT | MCL_ONFAULT) == 0;
    conditions_ += memory_locked_ ? ", memory locked"
                                  : fmt::format(", memory not locked ({}; RLIMIT_MEMLOCK)", std::strerror(errno));
  }
  if (awake_) conditions_ += ", CPUs kept awake";
  // All groups first: the quickest of them decides who needs a lane of its own.
  for (size_t i = 0; i < streams.size(); ++i) groups_[i] = MakeGroup(sensors_[i], sensor_objects_[i].get(), streams[i]);
  for (size_t i = 0; i < groups_.size(); ++i) {
    if (!groups_[i]) continue;
    delivery_->Add(groups_[i].get());
    Place(i, *groups_[i], 0);
  }
  return {};
}

Status Sampler::CheckRunning(size_t index) const {
  if (index >= sensors_.size()) return Error{Errc::kNotFound, fmt::format("sampler: no sensor {}", index), ""};
  if (state_ == State::kStopped) return Error{Errc::kInvalidArgument, "sampler: stopped", ""};
  return {};
}

/// Whoever takes a sensor from its lane, or gives it to the common one, waits for that lane.
/// @param next of the sensor from then on; nothing: it is not sampled
Status Sampler::CheckAnswers(size_t index, const std::optional<Load>& next) const {
  if (state_ != State::kRunning) return {};
  SamplerLane* const common = lanes_.front().get();
  SamplerLane* const from = groups_.at(index) ? groups_[index]->lane : nullptr;
  const bool into_common = next && from != common && !NeedsOwnLane(index, *next);
  if ((from == nullptr || from->Answers()) && (!into_common || common->Answers())) return {};
  return Error{Errc::kTimeout,
               fmt::format("sensor {}: a reading on its sampling thread does not return", sensors_[index].name), ""};
}

Status Sampler::CheckIntervalLocked(size_t index, int64_t interval_ns) const {
  ATTUNE_CHECK_OK(CheckRunning(index));
  if (interval_ns < kMinIntervalNs || interval_ns > kMaxIntervalNs) {
    return Error{
        Errc::kInvalidArgument, fmt::format("sampler: an interval of {} is out of range", FormatDuration(interval_ns)),
        fmt::format("it must lie between {} and {}", FormatDuration(kMinIntervalNs), FormatDuration(kMaxIntervalNs))};
  }
  if (!groups_.at(index)) return {};
  Load load = LoadOf(*groups_[index]);
  load.interval_ns = interval_ns;
  return CheckAnswers(index, load);
}

Status Sampler::CheckInterval(size_t index, int64_t interval_ns) const {
  const MutexLock lock(mutex_);
  return CheckIntervalLocked(index, interval_ns);
}

Status Sampler::SetInterval(size_t index, int64_t interval_ns, model::StreamId stream) {
  const MutexLock lock(mutex_);
  ATTUNE_CHECK_OK(CheckIntervalLocked(index, interval_ns));
  const int64_t before_ns = std::exchange(sensors_[index].interval_ns, interval_ns);
  if (state_ != State::kRunning || !groups_[index]) return {};
  Status exchanged = Exchange(index, MakeGroup(sensors_[index], sensor_objects_[index].get(), stream));
  if (exchanged.ok()) {
    Rebalance();
  } else {
    sensors_[index].interval_ns = before_ns;
  }
  return exchanged;
}

std::unique_ptr<model::Sensor> Sampler::Fresh(size_t index) const {
  const model::Sensor* sensor = nullptr;
  {
    const MutexLock lock(mutex_);
    sensor = sensor_objects_.at(index).get();
  }
  return sensor == nullptr ? nullptr : sensor->Fresh();  // only this thread ever replaces it
}

bool Sampler::NeedsProgram(size_t index) const {
  const MutexLock lock(mutex_);
  return sensor_objects_.at(index) && sensor_objects_[index]->Info().needs_program;
}

bool Sampler::IsAway(size_t index) const {
  const MutexLock lock(mutex_);
  return groups_.at(index) && groups_[index]->away.load(std::memory_order_relaxed);
}

Status Sampler::CheckReplace(size_t index, const OpenedSensor& opened) const {
  const MutexLock lock(mutex_);
  ATTUNE_CHECK_OK(CheckRunning(index));
  if (!opened.signals.ok() || opened.signals->empty()) return CheckAnswers(index, std::nullopt);
  const PreparedSensor& now = sensors_[index];
  const model::SensorInfo& info = opened.sensor->Info();
  return CheckAnswers(index, Load{opened.cost_ns.value_or(now.cost_ns),
                                  now.interval_ns > 0 ? now.interval_ns : info.default_interval_ns, info.own_thread});
}

Status Sampler::Replace(size_t index, OpenedSensor opened, model::StreamId stream) {
  const MutexLock lock(mutex_);
  ATTUNE_CHECK_OK(CheckRunning(index));
  PreparedSensor next = sensors_[index];
  Describe(next, opened);
  if (state_ == State::kRunning) ATTUNE_CHECK_OK(Exchange(index, MakeGroup(next, opened.sensor.get(), stream)));
  sensors_[index] = std::move(next);
  // The old one has lived until its lane has let go of it.
  sensor_objects_[index] = std::move(opened.sensor);
  if (state_ == State::kRunning) Rebalance();
  return {};
}

/// After the quickest interval may have changed.
void Sampler::Rebalance() {
  for (size_t i = 0; i < groups_.size(); ++i) {
    if (!groups_[i]) continue;
    const Load load = LoadOf(*groups_[i]);
    if (NeedsOwnLane(i, load) == (groups_[i]->lane != lanes_.front().get()) || !CheckAnswers(i, load).ok()) continue;
    // One whose lane does not answer stays where it is.
    static_cast<void>(Exchange(i, MakeGroup(sensors_[i], sensor_objects_[i].get(), groups_[i]->stream)));
  }
}

void Sampler::DropIdleLanes() {
  const auto idle = [](const std::unique_ptr<SamplerLane>& lane) { return lane->empty(); };
  lanes_.erase(std::remove_if(lanes_.begin() + 1, lanes_.end(), idle), lanes_.end());
}

void Sampler::Pause() {
  const MutexLock lock(mutex_);
  paused_ = true;
  for (const auto& lane : lanes_) lane->Pause();
  AwaitLanes();
  if (delivery_) delivery_->Drain();
}

void Sampler::Resume() {
  const MutexLock lock(mutex_);
  paused_ = false;
  for (const auto& lane : lanes_) lane->Resume();
  AwaitLanes();
  if (delivery_) delivery_->Drain();
}

/// One that does not obey now does when it can.
void Sampler::AwaitLanes() {
  const int64_t limit_ns = MonotonicNs() + kStuckNs;
  for (const auto& lane : lanes_) lane->Await(limit_ns);
}

void Sampler::Abandon(std::unique_ptr<SamplerLane> lane) {
  // The thread may go on at any time: all that it touches stays until the process ends.
  struct Left {
    std::unique_ptr<SamplerLane> lane;
    std::vector<std::unique_ptr<LatchGroup>> groups;
    std::vector<std::unique_ptr<model::Sensor>> sensors;
    std::shared_ptr<SampleDelivery> delivery;
  };
  static Mutex mutex;
  static auto* const all = new std::vector<Left>;
  Left left{std::move(lane), {}, {}, delivery_};
  for (size_t i = 0; i < groups_.size(); ++i) {
    if (!groups_[i] || groups_[i]->lane != left.lane.get()) continue;
    left.groups.push_back(std::move(groups_[i]));
    left.sensors.push_back(std::move(sensor_objects_[i]));
  }
  const MutexLock lock(mutex);
  all->push_back(std::move(left));
}

void Sampler::Stop() {
  const MutexLock lock(mutex_);
  // All are told before one is waited for: one that is stuck takes no time from the others.
  for (const auto& lane : lanes_) lane->Stop();
  const int64_t limit_ns = MonotonicNs() + kStuckNs;
  for (std::unique_ptr<SamplerLane>& lane : lanes_) {
    if (!lane->Join(limit_ns)) Abandon(std::move(lane));
  }
  lanes_.clear();
  if (delivery_) delivery_->Drain();  // rows that were handed over by stuck lanes
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
  const MutexLock lock(mutex_);
  return conditions_;
}

}  // namespace attune::session
