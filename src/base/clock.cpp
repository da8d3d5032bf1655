#include "base/clock.h"

#include <time.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

#include "wire/tsc.h"

namespace attune {
namespace {

int64_t ReadClock(clockid_t id) {
  timespec now{};
  clock_gettime(id, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

constexpr size_t kMaxSyncs = 4096;

}  // namespace

int64_t MonotonicNs() { return ReadClock(CLOCK_MONOTONIC); }
int64_t RealNs() { return ReadClock(CLOCK_REALTIME); }

ClockSync ReadClocks() {
  ClockSync best;
  int64_t best_width = std::numeric_limits<int64_t>::max();
  for (int attempt = 0; attempt < 5; ++attempt) {
    const int64_t before = MonotonicNs();
    const uint64_t tsc = ReadTsc();
    const int64_t after = MonotonicNs();
    if (after - before >= best_width) continue;
    best_width = after - before;
    best.tsc = tsc;
    best.monotonic_ns = before + (after - before) / 2;
  }
  best.real_ns = RealNs() - (MonotonicNs() - best.monotonic_ns);
  return best;
}

bool TscIsUsable() {
#if defined(__aarch64__)
  return true;  // CNTVCT_EL0 is architecturally invariant and shared by all cores.
#else
  // The kernel takes "tsc" as its clock source only while it agrees between cores and never stops.
  std::ifstream source("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string name;
  return static_cast<bool>(source >> name) && name == "tsc";
#endif
}

void ClockConverter::Add(const ClockSync& sync) {
  if (!syncs_.empty() && sync.tsc <= syncs_.back().tsc) return;
  if (syncs_.size() == kMaxSyncs) syncs_.erase(syncs_.begin(), syncs_.begin() + kMaxSyncs / 2);
  syncs_.push_back(sync);
}

int64_t ClockConverter::ToMonotonicNs(uint64_t tsc) const {
  if (syncs_.empty()) return 0;
  if (syncs_.size() == 1) return syncs_.front().monotonic_ns;
  auto next =
      std::upper_bound(syncs_.begin(), syncs_.end(), tsc, [](uint64_t t, const ClockSync& s) { return t < s.tsc; });
  next = std::clamp(next, syncs_.begin() + 1, syncs_.end() - 1);
  const ClockSync& a = *(next - 1);
  const ClockSync& b = *next;
  const auto offset = static_cast<__int128>(static_cast<int64_t>(tsc - a.tsc)) * (b.monotonic_ns - a.monotonic_ns);
  return a.monotonic_ns + static_cast<int64_t>(offset / static_cast<int64_t>(b.tsc - a.tsc));
}

}  // namespace attune
