#pragma once
/// Top-down metrics of Intel's cores since Ice Lake, which the kernel counts in a group that the event `slots` leads
/// and nowhere else (intel_pmu_hw_config() of arch/x86/events/intel/core.c).

#include "counter/event.h"

namespace attune::counter {

bool IsSlots(const Event& event);
/// Whether it is one of these metrics.
bool NeedsSlots(const Event& event);

inline constexpr std::string_view kWithoutSlots = "this processor counts it together with the event 'slots' alone";

}  // namespace attune::counter
