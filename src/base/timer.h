#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/unique_fd.h"

namespace attune {

/// A timer that can be waited for (timerfd, not blocking). @param every_ns 0: once
Result<UniqueFd> MakeTimer(int64_t after_ns, int64_t every_ns = 0);

/// Whether it has expired since the last call.
bool HasExpired(const UniqueFd& timer);

}  // namespace attune
