#pragma once
/// Names that may have been meant by one that is no event, for the error that says so.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/host_root.h"
#include "counter/pmu.h"

namespace attune::counter {

/// Why it cannot be said whether the name is a tracepoint, and what to do. nullopt: it is none, or tracepoints can be
/// read. @param name "sched:sched_switch"
std::optional<Error> TracepointsClosed(const HostRoot& host, std::string_view name);

/// "did you mean sched:sched_switch?", or "": names of units' events, of the user's files, of libpfm4 for this
/// machine's models, tracepoints, and `names`. @cost some 10 ms
std::string NearestEvents(const HostRoot& host, const std::vector<Pmu>& pmus, std::string_view name,
                          std::vector<std::string> names);

}  // namespace attune::counter
