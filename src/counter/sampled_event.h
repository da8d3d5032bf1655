#pragma once
/// Which events can give a row each time that they have occurred so often (attune counters --period).

#include "base/result.h"
#include "counter/event.h"

namespace attune::counter {

/// Error: kInvalidArgument: eBPF takes no samples of such an event, and what to do instead
Status CheckSampledByBpf(const NamedEvent& event);

}  // namespace attune::counter
