// The cases that call the C++ library.

#include <mutex>

#include "sync_target.h"

namespace {

std::mutex g_mutex;

void LockAlone(uint64_t operations) {
  for (uint64_t i = 0; i < operations; ++i) const std::lock_guard lock(g_mutex);
}

}  // namespace

const SyncCase kStandardCases[] = {
    {"std-mutex", StartIdleThread, LockAlone},
    {nullptr, nullptr, nullptr},
};
