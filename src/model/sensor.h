#pragma once
/// Interface of sensors, which the sampler drives; each folder of src/sensor/ has one. Prepare, then sample.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/host_root.h"
#include "base/result.h"
#include "model/schema.h"

namespace attune::model {

/// The element that a signal belongs to, before it has an id: the session finds or makes the element.
struct ElementKey {
  ElementKind kind = ElementKind::kMachine;
  int64_t os_id = kAbsent;
  std::string name;       ///< "cpu0", "sda"; the machine's is its host name and is left empty here
  int64_t pid = kAbsent;  ///< kThread: of its process. Processes and threads are the elements that the watcher made

  bool operator==(const ElementKey&) const = default;
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
  SumRule sum = SumRule::kSum;
  std::string mnemonic;  ///< a short heading, as its maker's manual calls it: "n2DirPrbRecv"; "": the signal's name

  bool operator==(const SignalSpec&) const = default;
};

/// Description of a sensor, available without Prepare(), for `attune list sensors`.
struct SensorInfo {
  std::string_view name;         ///< "vmstat"
  std::string_view description;  ///< one line
  std::string_view source;       ///< "/proc/vmstat"
  std::string_view cost;         ///< measured: "5.8 us read + 0.33 us parse"
  int64_t default_interval_ns;
  bool needs_program = false;  ///< samples the observed program: on by default only where there is one
  bool own_thread = false;     ///< a reading may wait for another process: it must not share a sampling thread
  std::string_view file = {};  ///< the description or plug-in that it comes from; empty: built in
  bool by_request = false;     ///< costs more, or is for few: only sampled when asked for by name
};

class Sensor {
 public:
  virtual ~Sensor() = default;
  virtual const SensorInfo& Info() const = 0;
  /// Opens the source and returns the signals, in the order of Sample(). Empty: nothing at the moment (no thread yet).
  /// An unavailable source is an Error with the reason.
  virtual Result<std::vector<SignalSpec>> Prepare(const HostRoot& host) = 0;
  /// Fills one value a signal, kAbsent where there is none at the moment. Does not allocate, open or log.
  /// @return false: the source vanished (all values absent). @thread sampler only
  virtual bool Sample(std::span<int64_t> out) = 0;
  /// Further rows for the recording's info (model/info_keys.h): keys and texts. Set by Prepare.
  virtual std::vector<std::pair<std::string, std::string>> Notes() const { return {}; }
  /// For sensors whose elements come and go (devices, threads): an unprepared instance of the same. The session
  /// prepares one about every five seconds, off the sampling threads, and puts it in this one's place where its signals
  /// differ. nullptr: the elements are those that were found, now or always. @thread any, also during Sample: may read
  /// only what the constructor and Prepare set
  virtual std::unique_ptr<Sensor> Fresh() const { return nullptr; }
  /// For sensors that carry something from sample to sample: goes on where `before`, whose Fresh() this is, stopped.
  /// Between the last sample of that and the first of this that counts. Does not allocate. @thread sampler only
  virtual void Continue(Sensor& /*before*/) {}
};

}  // namespace attune::model
