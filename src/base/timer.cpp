#include "base/timer.h"
#include "base/clock.h"

#include <sys/timerfd.h>
#include <unistd.h>

namespace attune {

Result<UniqueFd> MakeTimer(int64_t after_ns, int64_t every_ns) {
  UniqueFd timer(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  const itimerspec when{{every_ns / kSecondNs, every_ns % kSecondNs}, {after_ns / kSecondNs, after_ns % kSecondNs}};
  if (!timer || timerfd_settime(timer.get(), 0, &when, nullptr) != 0) return ErrnoError("timer");
  return timer;
}

bool HasExpired(const UniqueFd& timer) {
  uint64_t times = 0;
  return timer && read(timer.get(), &times, sizeof times) == sizeof times;
}

}  // namespace attune
