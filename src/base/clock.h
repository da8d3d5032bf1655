#pragma once
/// Times. `t_ns` everywhere is CLOCK_MONOTONIC in nanoseconds; raw cycle counts are `tsc`.

#include <cstdint>
#include <vector>

namespace attune {

inline constexpr int64_t kSecondNs = 1'000'000'000;

/// @cost about 30 ns (vDSO)
int64_t MonotonicNs();
int64_t RealNs();

/// One reading of all clocks, taken back to back. The tsc lies between two reads of CLOCK_MONOTONIC; of several tries
/// the one with the closest pair is kept. @cost about 0.5 us
struct ClockSync {
  uint64_t tsc = 0;
  int64_t monotonic_ns = 0;
  int64_t real_ns = 0;
};
ClockSync ReadClocks();

/// Whether rings may hold raw TSC on this machine: constant, non-stop, and the kernel's own clock source.
/// Elsewhere probes stamp with CLOCK_MONOTONIC, and conversion is the identity.
bool TscIsUsable();

/// Converts raw TSC to CLOCK_MONOTONIC piecewise between the syncs that it was given (in order of time); before the
/// first and after the last it extrapolates with the nearest piece's slope. Keeps a bounded number of syncs.
/// @thread one at a time
class ClockConverter {
 public:
  void Add(const ClockSync& sync);
  /// @pre at least two syncs, or one (then the slope is unknown and the sync's own time is returned)
  int64_t ToMonotonicNs(uint64_t tsc) const;
  bool empty() const { return syncs_.empty(); }

 private:
  std::vector<ClockSync> syncs_;
};

}  // namespace attune
