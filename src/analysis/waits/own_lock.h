#pragma once
/// Futexes that are a lock of the program's own, or of a library: made of std::atomic::wait, a std::counting_semaphore,
/// tbb::mutex and the like.

#include "analysis/waits/sync_sums.h"

namespace attune::analysis {

/// Whether those who wait there are those who wake the others, one at a time: whoever has got a lock gives it to the
/// next one. At a place where all wait for all, one call wakes many; two threads that meet there look like a lock.
/// @cost threads x places of the object
bool IsOwnLock(const ObjectSums& object);

}  // namespace attune::analysis
