#pragma once
/// Sleeping on a word in memory (futex(2)), for who may not take a lock.

#include <atomic>
#include <climits>
#include <cstdint>

namespace attune {

enum class FutexScope : bool {
  kThisProcess,
  kShared,  ///< the word lies in memory that several processes have
};

/// Sleeps until it is woken, the word is no longer `seen`, or the time is reached; sometimes it returns without a
/// reason: look again. @param deadline_ns CLOCK_MONOTONIC; 0: no limit
void FutexWait(const std::atomic<uint32_t>& word, uint32_t seen, int64_t deadline_ns,
               FutexScope scope = FutexScope::kThisProcess);
/// Wakes up to `count` of those that sleep on the word. @cost a system call
void FutexWake(const std::atomic<uint32_t>& word, int count = 1, FutexScope scope = FutexScope::kThisProcess);

}  // namespace attune
