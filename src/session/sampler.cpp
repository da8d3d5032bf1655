#include "session/sampler.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>

#include "base/clock.h"
#include "base/units.h"
#include "session/control.h"
#include "session/sampler_lane.h"

namespace attune::session {
namespace {

constexpr int kTrialSamples = 5;

/// What a reading costs once it is warm: the quickest of some.
int64_t MeasureCostNs(model::Sensor& sensor, size_t columns) {
  std::vector<int64_t> row(columns);
  int64_t best_ns = INT64_MAX;
  for (int i = 0; i < kTrialSamples; ++i) {
    const int64_t begin_ns = MonotonicNs();
    if (!sensor.Sample(row)) break;  // gone already: the sampler will say so
    best_ns = std::min(best_ns, MonotonicNs() - begin_ns);
  }
  return best_ns == INT64_MAX ? 0 : best_ns;
}

}  // namespace

Sampler::Sampler(SamplerOptions options) : options_(std::move(options)) {}

std::unique_ptr<Sampler> Sampler::Create(const HostRoot& host, std::vector<SensorRequest> requests,
                                         SamplerOptions options) {
  std::unique_ptr<Sampler> sampler(new Sampler(std::move(options)));
  for (SensorRequest& request : requests) {
    const model::SensorInfo& info = request.sensor->Info();
    PreparedSensor prepared;
    prepared.name = info.name;
    prepared.interval_ns = request.interval_ns > 0 ? request.interval_ns : info.default_interval_ns;
    auto group = std::make_unique<LatchGroup>();
    if (auto signals = request.sensor->Prepare(host); signals.ok()) {
      prepared.signals = *std::move(signals);
      prepared.cost_ns = MeasureCostNs(*request.sensor, prepared.signals.size());
      group->sensor = std::move(request.sensor);
      group->columns = prepared.signals.size();
      group->cost_ns = prepared.cost_ns;
    } else {
      prepared.unavailable = signals.error();
      group = nullptr;
    }
    sampler->groups_.push_back(std::move(group));
    sampler->sensors_.push_back(std::move(prepared));
  }
  return sampler;
}

Sampler::~Sampler() { Stop(); }

Sampler::Lane& Sampler::LaneFor(const LatchGroup& group) {
  if (!group.IsSlow()) return *lanes_.front();
  // A reading that takes long must not starve the observed program: no real-time priority for it.
  lanes_.push_back(std::make_unique<Lane>(options_, callback_, /*realtime=*/false, paused_));
  return *lanes_.back();
}

Status Sampler::Start(std::span<const model::StreamId> streams, ChunkCallback callback) {
  const std::lock_guard lock(mutex_);
  if (state_ != State::kNew) return Error{Errc::kInternal, "sampler: started a second time", ""};
  if (streams.size() != groups_.size()) {
    return Error{Errc::kInternal, fmt::format("sampler: {} streams for {} sensors", streams.size(), groups_.size()),
                 ""};
  }
  state_ = State::kRunning;
  callback_ = std::move(callback);
  for (size_t i = 0; i < groups_.size(); ++i) {
    if (groups_[i]) groups_[i]->Configure(streams[i], sensors_[i].interval_ns, options_.chunk_ns);
  }
  lanes_.push_back(std::make_unique<Lane>(options_, callback_, options_.realtime, paused_));
  conditions_ = lanes_.front()->Conditions();
  if (options_.realtime) {
    // On fault: what is touched stays, but stacks and tables that are only reserved are not filled.
    memory_locked_ = ::mlockall(MCL_CURRENT | MCL_ONFAULT) == 0;
    conditions_ += memory_locked_ ? ", memory locked"
                                  : fmt::format(", memory not locked ({}; RLIMIT_MEMLOCK)", std::strerror(errno));
  }
  for (const auto& group : groups_) {
    if (!group) continue;
    Lane& lane = LaneFor(*group);
    group->lane = &lane;
    lane.Add(group.get());
  }
  return {};
}

Status Sampler::SetInterval(size_t index, int64_t interval_ns, model::StreamId stream) {
  const std::lock_guard lock(mutex_);
  if (index >= groups_.size() || !groups_[index])
    return Error{Errc::kNotFound, fmt::format("sampler: no sensor {}", index), ""};
  if (interval_ns < kMinIntervalNs || interval_ns > kMaxIntervalNs) {
    return Error{
        Errc::kInvalidArgument, fmt::format("sampler: an interval of {} is out of range", FormatDuration(interval_ns)),
        fmt::format("it must lie between {} and {}", FormatDuration(kMinIntervalNs), FormatDuration(kMaxIntervalNs))};
  }
  if (state_ == State::kStopped) return Error{Errc::kInvalidArgument, "sampler: stopped", ""};
  sensors_[index].interval_ns = interval_ns;
  if (state_ == State::kNew) return {};
  LatchGroup& group = *groups_[index];
  group.lane->Remove(&group);
  group.Configure(stream, interval_ns, options_.chunk_ns);
  Lane& lane = LaneFor(group);
  group.lane = &lane;
  lane.Add(&group);
  DropIdleLanes();
  return {};
}

void Sampler::DropIdleLanes() {
  const auto idle = [](const std::unique_ptr<Lane>& lane) { return lane->empty(); };
  lanes_.erase(std::remove_if(lanes_.begin() + 1, lanes_.end(), idle), lanes_.end());
}

void Sampler::Pause() {
  const std::lock_guard lock(mutex_);
  paused_ = true;
  for (const auto& lane : lanes_) lane->Pause();
}

void Sampler::Resume() {
  const std::lock_guard lock(mutex_);
  paused_ = false;
  for (const auto& lane : lanes_) lane->Resume();
}

void Sampler::Stop() {
  const std::lock_guard lock(mutex_);
  lanes_.clear();
  if (memory_locked_) ::munlockall();
  memory_locked_ = false;
  state_ = State::kStopped;
}

std::string Sampler::Conditions() const {
  const std::lock_guard lock(mutex_);
  return conditions_;
}

}  // namespace attune::session
