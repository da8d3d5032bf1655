#pragma once
/// What the sampler drives: one Sensor a folder of src/sensor/. Prepare, then sample.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/host_root.h"
#include "base/result.h"
#include "model/batch.h"

namespace attune::model {

/// The element that a signal belongs to, before it has an id: the session finds or makes the element.
struct ElementKey {
  ElementKind kind = ElementKind::kMachine;
  int64_t os_id = kAbsent;
  std::string name;  ///< "cpu0", "sda"; the machine's is its host name and is left empty here
};

/// One column of a latch group. The description is the catalog's.
struct SignalSpec {
  ElementKey element;
  SeriesKind kind = SeriesKind::kGauge;
  int scale = 0;
  int64_t max_per_second = kAbsent;
  std::string signal;  ///< "pgfault"
  std::string unit;
  std::string description;
};

/// What `attune list sensors` shows without preparing anything.
struct SensorInfo {
  std::string_view name;         ///< "vmstat"
  std::string_view description;  ///< one line
  std::string_view source;       ///< "/proc/vmstat"
  std::string_view cost;         ///< measured: "5.8 us read + 0.33 us parse"
  int64_t default_interval_ns;
};

class Sensor {
 public:
  virtual ~Sensor() = default;
  virtual const SensorInfo& Info() const = 0;
  /// Opens what it reads and says what it will deliver, in this order. Unavailable is an answer: an Error that says
  /// why.
  virtual Result<std::vector<SignalSpec>> Prepare(const HostRoot& host) = 0;
  /// Fills one value a signal, kAbsent where there is none at the moment. Does not allocate, open or log.
  /// @return false: the source vanished (all values absent). @thread sampler only
  virtual bool Sample(std::span<int64_t> out) = 0;
};

}  // namespace attune::model
