#pragma once
/// How the sampler shall sample, what it knows of each sensor, and what it delivers: the terms that its parts share.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/cpu_set.h"
#include "base/result.h"
#include "model/schema.h"
#include "model/sensor.h"
#include "sensor/self/self.h"

namespace attune::session {

/// Samples of one stream and the gaps among them. Either may be empty.
struct SampleChunk {
  model::Batch samples;  ///< table kSamples, its stream set; its sequence number is the pipeline's to give
  std::vector<model::Gap> gaps;
  bool more = false;  ///< others of the same moment follow: there is no hurry with this one
};
/// @thread one of the sampler's, of ordinary priority, or who calls SetInterval, Replace, Pause, Resume or Stop. Must
/// not call the sampler. While it does not return, rows of ten seconds are kept (kBacklogNs in latch_group.h); what
/// comes later is dropped and counted.
using ChunkCallback = std::function<void(SampleChunk)>;

/// How often values are delivered, or at each tick where ticks are slower: while somebody looks, and at the least.
constexpr int64_t kPromptDeliveryNs = 50'000'000;
constexpr int64_t kLongestDeliveryNs = 500'000'000;

struct SamplerOptions {
  bool realtime = true;       ///< ask for SCHED_FIFO and locked memory; what is refused is said in Conditions()
  bool keep_awake = false;    ///< KeepCpusAwake while it runs; Start fails where that is refused
  bool at_both_ends = false;  ///< samples also when a sensor starts and at Stop()
  CpuSet cpus;                ///< CPUs of the sampling threads; empty: any
  /// Time to wait for sensors that may take long to prepare, for all of them together.
  int64_t patience_ns = 1'000'000'000;
  std::shared_ptr<sensor::SelfMeter> meter = std::make_shared<sensor::SelfMeter>();  ///< for the sensor "attune"
};

/// A sensor as prepared: its signals, or why it will deliver none.
struct PreparedSensor {
  std::string name;
  size_t request = 0;                      ///< index in the requests of Create()
  int64_t interval_ns = 0;                 ///< 0: its default, which is not known until it is prepared
  int64_t cost_ns = 0;                     ///< cost of one reading, measured while preparing
  std::vector<model::SignalSpec> signals;  ///< empty: nothing at the moment
  std::optional<Error> unavailable;
  bool late = false;                                       ///< it is still being prepared, and unavailable so far
  bool only_if_here = false;                               ///< as it was requested
  std::vector<std::pair<std::string, std::string>> notes;  ///< model::Sensor::Notes()

  bool HasSignals() const { return !unavailable && !signals.empty(); }
};

}  // namespace attune::session
