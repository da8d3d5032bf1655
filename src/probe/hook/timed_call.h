#pragma once
/// Calls that take time by themselves, and whose object is nothing that threads share (wire::IsCall).

#include <errno.h>

#include "probe/hook/wrap.h"

namespace attune::probe::hook {

enum class Records : uint8_t {
  kAllCalls,
  kLongCalls,  ///< shorter ones may be a look at what is there
};

/// Whether shorter calls of the kind have waited for nothing: 12 to 25 us of a TSC, 50 us of another clock.
constexpr uint64_t kLongCallTicks = 50'000;

/// Times a call. Waiting for descriptors is only counted: servers do so after each request.
/// @param is_served whether its result says that what was waited for came; else it has failed, or its time was up
template <class Call, class IsServed>
[[gnu::always_inline]] inline auto TimedCall(SyncKind kind, const void* site, const Call& call,
                                             const IsServed& is_served, Records records = Records::kAllCalls) {
  if (!Recording()) return call();
  PrepareCall(kind, site);
  const uint64_t before = Ticks();
  const auto result = call();
  const uint64_t now = Ticks();
  if (records == Records::kLongCalls && now - before < kLongCallTicks) return result;
  const int saved_errno = errno;
  EndCall(kind, site, before, now, is_served(result));
  errno = saved_errno;
  return result;
}

}  // namespace attune::probe::hook
