#include "base/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

namespace attune {
namespace {

int Flag(FutexScope scope) { return scope == FutexScope::kThisProcess ? FUTEX_PRIVATE_FLAG : 0; }

}  // namespace

void FutexWait(const std::atomic<uint32_t>& word, uint32_t seen, int64_t deadline_ns, FutexScope scope) {
  const timespec deadline{deadline_ns / 1'000'000'000, deadline_ns % 1'000'000'000};
  // The form with an absolute time. Every way to return is handled alike: the caller looks again.
  ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET | Flag(scope), seen, deadline_ns == 0 ? nullptr : &deadline, nullptr,
            FUTEX_BITSET_MATCH_ANY);
}

void FutexWake(const std::atomic<uint32_t>& word, int count, FutexScope scope) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE | Flag(scope), count, nullptr, nullptr, 0);
}

}  // namespace attune
