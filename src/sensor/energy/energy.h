#pragma once
/// Sensor "energy": what packages, cores, memory and the platform consumed, from powercap (RAPL) or perf's power
/// counters.

#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "counter/perf_open.h"
#include "sensor/catalog.h"
#include "sensor/text/number_file.h"

namespace attune::sensor {

/// A counter that starts again at 0 when it reaches its range, and the sum that does not. It must be read at least once
/// in the time that one round takes (at 250 W: 4 minutes for the 65 kJ of old machines).
class WrappingCounter {
 public:
  /// @param range one more than the largest value; 0: it does not wrap
  explicit WrappingCounter(int64_t range = 0) : range_(range) {}
  /// The sum, which begins with the first value. kAbsent stays that. A value that fell in a counter that does not wrap
  /// was reset: it counts from 0 again.
  int64_t Advance(int64_t value);

 private:
  int64_t range_;
  int64_t last_ = model::kAbsent;
  int64_t sum_ = 0;
};

class EnergySensor final : public OfCatalog<"energy"> {
 public:
  /// @param open what opens perf's counters; empty: the kernel, where the host is this machine
  explicit EnergySensor(counter::PerfOpen open = {}) : open_(std::move(open)) {}

  /// kPermission: there are counters, but only root may read them.
  Result<std::vector<model::SignalSpec>> Prepare(const HostRoot& host) override;
  bool Sample(std::span<int64_t> out) override;

 private:
  struct Domain {
    NumberFile energy_uj;     ///< powercap
    UniqueFd event;           ///< or a counter of perf
    double uj_per_count = 0;  ///< scale of `event`
    WrappingCounter counter{0};

    int64_t ReadUj() const;
  };

  Status PreparePowercap(const HostRoot& host, std::vector<model::SignalSpec>& specs);
  Status PreparePerf(const HostRoot& host, std::vector<model::SignalSpec>& specs);

  const counter::PerfOpen open_;
  std::vector<Domain> domains_;
};

}  // namespace attune::sensor
