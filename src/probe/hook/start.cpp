/// Before the program's threads exist, and after Attach, whose own calls need nothing of this.

#include <errno.h>

#include "probe/core.h"
#include "probe/hook/caller.h"
#include "probe/hook/plain_mutex.h"
#include "probe/hook/real.h"

namespace attune::probe::hook {
namespace {

[[gnu::constructor(102)]] void Start() {
  Resolve();
  const int saved_errno = errno;
  if (!IsInPlace()) {
    g_sync_level = g_levels_off;
  } else if (g_process.header != nullptr) {
    PrepareToFindCallers();
    LearnMutexes();  // a child made by fork is noticed only there
  }
  errno = saved_errno;
}

}  // namespace
}  // namespace attune::probe::hook
