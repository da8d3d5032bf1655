/// The function of attune/machine.h.

#include "attune/machine.h"

#include <time.h>

#include "probe/core.h"
#include "wire/ring.h"

static_assert(static_cast<int>(ATTUNE_ALARM_MEMORY) == static_cast<int>(attune::wire::kRingAlarmMemory));
static_assert(static_cast<int>(ATTUNE_ALARM_HEAT) == static_cast<int>(attune::wire::kRingAlarmHeat));
static_assert(static_cast<int>(ATTUNE_ALARM_LOAD) == static_cast<int>(attune::wire::kRingAlarmLoad));

namespace {

/// Written once a second; a session that was killed clears nothing.
constexpr uint32_t kOldSeconds = 5;

}  // namespace

extern "C" uint32_t attune_probe_machine(uint32_t* others_cpus) {
  const attune::wire::RingHeader* header = attune::probe::g_process.header;
  if (header == nullptr) return 0;
  const uint32_t alarms = __atomic_load_n(&header->machine_alarms, __ATOMIC_RELAXED);
  if (alarms == 0) return 0;
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  const uint32_t seconds = __atomic_load_n(&header->machine_seconds, __ATOMIC_RELAXED);
  // This clock is behind the session's by up to a tick.
  if (static_cast<uint32_t>(now.tv_sec) + 1 - seconds > kOldSeconds + 1) return 0;
  *others_cpus = __atomic_load_n(&header->machine_others, __ATOMIC_RELAXED);
  return alarms;
}
