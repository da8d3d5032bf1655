#pragma once
/// Calls of a library's exported functions in a program: by its probe, or where it has none by a thread that is
/// stopped.

#include <array>
#include <cstdint>
#include <string_view>

#include "actuator/actuators.h"

namespace attune::actuator {

/// Time for a thread to come by a safe point. A rank that polls while others have its CPU takes seconds.
inline constexpr int64_t kCallLimitNs = 10'000'000'000;

/// @return what the function returns. Error: kNotFound: no such function; kTimeout; else as CallByThread()
Result<int64_t> CallRemotely(const ActuatorHost& host, pid_t pid, std::string_view library, std::string_view function,
                             std::array<int64_t, 2> arguments = {});

}  // namespace attune::actuator
