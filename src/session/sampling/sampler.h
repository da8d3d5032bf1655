#pragma once
/// Drives sensors on an absolute grid of time and delivers their values in batches.
///
///   Create()    prepares every sensor; what is unavailable says why, and the rest goes on
///   Sensors()   what each will deliver; the caller registers streams for them
///   Start(ids)  begins to sample; chunks come through the callback until Stop()
///
/// The grid of a sensor are the multiples of its interval in CLOCK_MONOTONIC, so that sensors of one interval are read
/// together. A sample carries the time at which its reading began. A grid point is missed when the wake-up comes after
/// the next one; misses become gap rows, never invented or moved samples. SamplerOptions::at_both_ends adds a sample
/// beside the grid at the start and one at the end, so that counters of a run shorter than an interval have a
/// difference.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/host_root.h"
#include "base/result.h"
#include "base/thread_safety.h"
#include "model/schema.h"
#include "model/sensor.h"
#include "session/core/opening.h"
#include "session/sampling/sampler_options.h"

namespace attune::session {

struct LatchGroup;
class SampleDelivery;
class SamplerLane;

struct SensorRequest {
  std::unique_ptr<model::Sensor> sensor;
  int64_t interval_ns = 0;    ///< 0: the sensor's default
  bool only_if_here = false;  ///< nobody asked for it: left out without a word where it is unavailable
};

/// A sensor that does not return from a reading holds up its thread alone: none of the functions waits longer than some
/// seconds for it.
/// @thread Start, SetInterval, Replace, Pause, Resume and Stop: any, they take turns. Sensors() not during Replace
class Sampler {
 public:
  /// Never fails as a whole: an unavailable sensor is an entry with a reason.
  /// @cost reads every sensor some times to learn what it costs
  static std::unique_ptr<Sampler> Create(const HostRoot& host, std::vector<SensorRequest> requests,
                                         SamplerOptions options = {});
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  /// Not checked, since callers keep it: in the order of the requests, without those that are only wanted where they
  /// are available and are not.
  const std::vector<PreparedSensor>& Sensors() const ATTUNE_NO_THREAD_SAFETY_ANALYSIS { return sensors_; }

  /// @param streams one a sensor, in the order of Sensors(); ignored where unavailable
  Status Start(std::span<const model::StreamId> streams, ChunkCallback callback);

  size_t Count() const { return late_.size(); }
  bool NeedsProgram(size_t index) const;
  /// The preparation of sensor `index` that was late. Once; nullptr: it was not
  std::unique_ptr<Opening> TakeLate(size_t index) { return std::exchange(late_.at(index), nullptr); }
  /// A sensor for the place of sensor `index`, if what it samples may have changed since that was prepared; nullptr: it
  /// has not, or its elements never do. @thread the one that calls Replace
  std::unique_ptr<model::Sensor> Fresh(size_t index) const;
  /// Whether sensor `index` said at its last reading that its source vanished.
  bool IsAway(size_t index) const;
  /// Puts a prepared sensor in the place of sensor `index`, between two grid points: none is lost or taken twice.
  /// @param opened without signals: nothing is sampled from now on. Where it is unavailable it only says so in place of
  /// one that was late  @param stream of the signals, registered
  /// @return kTimeout: a reading on a thread that has, or should have, the sensor does not return; all is as before
  Status Replace(size_t index, OpenedSensor opened, model::StreamId stream);
  /// The error that Replace would mostly give: to be asked before a stream is registered for it.
  Status CheckReplace(size_t index, const OpenedSensor& opened) const;

  /// Samples sensor `index` at another interval from now on. What it has of the old stream is delivered before this
  /// returns.
  /// @param stream of the same series at the new interval, already registered
  /// @return as Replace
  Status SetInterval(size_t index, int64_t interval_ns, model::StreamId stream);
  /// As CheckReplace.
  Status CheckInterval(size_t index, int64_t interval_ns) const;
  /// Values are delivered this often from now on (from each sensor's next tick): each delivery costs, so where nobody
  /// waits for them it is better done rarely. @param ns at most kLongestDeliveryNs  @thread any, also before Start
  void SetDelivery(int64_t ns) { delivery_ns_->store(ns, std::memory_order_relaxed); }
  /// Takes no samples until Resume(); the grid points in between become a gap.
  void Pause();
  void Resume();
  /// Delivers what is left. The sampler cannot be started again. A sensor that does not return from a reading is left
  /// to itself, with its thread, after some seconds.
  void Stop();

  /// Measures for punctual sampling that the threads got, in words: "SCHED_FIFO, memory locked, timer slack 1 ns".
  std::string Conditions() const;

 private:
  /// The facts that decide which lane a sensor is for.
  struct Load {
    int64_t cost_ns;
    int64_t interval_ns;
    bool own_thread;
  };

  Sampler(const HostRoot& host, SamplerOptions options);
  Status CheckRunning(size_t index) const ATTUNE_REQUIRES(mutex_);
  static void Describe(PreparedSensor& prepared, OpenedSensor& opened);
  Status CheckAnswers(size_t index, const std::optional<Load>& next) const ATTUNE_REQUIRES(mutex_);
  Status CheckIntervalLocked(size_t index, int64_t interval_ns) const ATTUNE_REQUIRES(mutex_);
  void Abandon(std::unique_ptr<SamplerLane> lane) ATTUNE_REQUIRES(mutex_);
  std::unique_ptr<LatchGroup> MakeGroup(const PreparedSensor& prepared, model::Sensor* sensor,
                                        model::StreamId stream) const;
  Status Exchange(size_t index, std::unique_ptr<LatchGroup> next) ATTUNE_REQUIRES(mutex_);
  static Load LoadOf(const LatchGroup& group);
  bool NeedsOwnLane(size_t index, const Load& load) const ATTUNE_REQUIRES(mutex_);
  void Place(size_t index, LatchGroup& group, int64_t after_ns) ATTUNE_REQUIRES(mutex_);
  void AwaitLanes() ATTUNE_REQUIRES(mutex_);
  void Rebalance() ATTUNE_REQUIRES(mutex_);
  void DropIdleLanes() ATTUNE_REQUIRES(mutex_);

  const HostRoot host_;
  const SamplerOptions options_;
  const std::shared_ptr<std::atomic<int64_t>> delivery_ns_ = std::make_shared<std::atomic<int64_t>>(kPromptDeliveryNs);
  std::vector<std::unique_ptr<Opening>> late_;  // one a sensor; nullptr where it is not late, or was taken
  mutable Mutex mutex_;                         // against concurrent callers; the lanes have their own
  UniqueFd awake_ ATTUNE_GUARDED_BY(mutex_);    // keeps the CPUs awake, while running
  std::vector<PreparedSensor> sensors_ ATTUNE_GUARDED_BY(mutex_);
  // also the unavailable ones; nullptr while late
  std::vector<std::unique_ptr<model::Sensor>> sensor_objects_ ATTUNE_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<LatchGroup>> groups_ ATTUNE_GUARDED_BY(mutex_);  // nullptr where nothing is sampled
  std::shared_ptr<SampleDelivery> delivery_ ATTUNE_GUARDED_BY(mutex_);         // while running
  // [0] has the quick sensors, each other one slow sensor
  std::vector<std::unique_ptr<SamplerLane>> lanes_ ATTUNE_GUARDED_BY(mutex_);
  std::string conditions_ ATTUNE_GUARDED_BY(mutex_);
  bool paused_ ATTUNE_GUARDED_BY(mutex_) = false;
  bool memory_locked_ ATTUNE_GUARDED_BY(mutex_) = false;
  enum class State { kNew, kRunning, kStopped } state_ ATTUNE_GUARDED_BY(mutex_) = State::kNew;
};

}  // namespace attune::session
