#pragma once
/// The sensors of a session: the sampler, a stream for what each sensor delivers, and the look-out for devices and
/// threads that come and go.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/host_root.h"
#include "base/result.h"
#include "base/thread_safety.h"
#include "model/schema.h"
#include "session/core/opening.h"
#include "session/core/pipeline.h"
#include "session/core/process_table.h"
#include "session/core/registry.h"
#include "session/sampling/sampler.h"

namespace attune::session {

/// A sensor that this host cannot have (now).
struct SkippedSensor {
  size_t request;  ///< index in the requests of Start()
  std::string name;
  Error why;
  bool late = false;  ///< it may still join
};

/// @thread any: callers take turns. Registry, process table and pipeline must outlive it
class Sensing {
 public:
  /// @param look_every how often sensors with a Fresh() are asked for one
  Sensing(HostRoot host, Registry& registry, ProcessTable& processes, Pipeline& pipeline,
          std::chrono::nanoseconds look_every = std::chrono::seconds(5));
  ~Sensing();
  Sensing(const Sensing&) = delete;
  Sensing& operator=(const Sensing&) = delete;

  /// Prepares the sensors and samples from now on. What is unavailable is skipped; it is looked for again if it can
  /// come later. What is late joins when it is ready. Once.
  Status Start(std::vector<SensorRequest> requests, const SamplerOptions& options);
  const std::vector<SkippedSensor>& Skipped() const { return skipped_; }

  /// @param sensor empty: all  @return kNotFound: not sampled here
  Status SetInterval(const std::string& sensor, int64_t interval_ns);
  void Pause();
  void Resume();
  bool paused() const { return paused_; }
  /// As Sampler::SetDelivery. @thread any, after Start
  void SetDelivery(int64_t ns) { sampler_->SetDelivery(ns); }
  /// There may be threads of the program that were not there before: looks soon for sensors that depend on it. Ever
  /// less soon, up to the usual time, the more often it is called.
  void LookSoon();
  /// Looks now at every sensor and returns when it is done, or after some seconds. Nothing after Stop().
  void LookNow();
  /// Delivers what is left. Final.
  void Stop();

 private:
  void Run();
  /// How often one sensor was exchanged, look for look.
  struct Pace {
    int exchanges = 0;  // without a look in between that found nothing new
    std::chrono::steady_clock::time_point not_before;
  };

  bool LookAt(size_t index) ATTUNE_REQUIRES(look_mutex_);
  std::optional<OpenedSensor> LookFor(size_t index) ATTUNE_REQUIRES(look_mutex_);
  bool Stopping() const;
  void LookAtDue(bool only_program);
  model::Stream AddStream(const std::string& sensor, const std::vector<model::SignalSpec>& signals,
                          int64_t interval_ns);

  const HostRoot host_;
  Registry& registry_;
  ProcessTable& processes_;
  Pipeline& pipeline_;
  const std::chrono::nanoseconds look_every_;
  std::unique_ptr<Sampler> sampler_;
  std::vector<SkippedSensor> skipped_;

  Mutex mutex_;
  std::vector<model::Stream> streams_ ATTUNE_GUARDED_BY(mutex_);  // in the sampler's order; id 0: nothing is sampled
  std::atomic<bool> paused_{false};                               // whoever asks does not wait for the others

  Mutex look_mutex_;                                        // held while looking: one at a time
  std::vector<Pace> paces_ ATTUNE_GUARDED_BY(look_mutex_);  // pace of each sensor
  // opening that a sensor waits for; nullptr: none
  std::vector<std::unique_ptr<Opening>> openings_ ATTUNE_GUARDED_BY(look_mutex_);
  mutable Mutex wake_mutex_;  // for the waits of the look-out
  CondVar wake_;
  bool soon_ ATTUNE_GUARDED_BY(wake_mutex_) = false;
  bool stopping_ ATTUNE_GUARDED_BY(wake_mutex_) = false;
  std::thread look_out_;
};

}  // namespace attune::session
