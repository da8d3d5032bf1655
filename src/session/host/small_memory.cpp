#include "session/host/small_memory.h"

#include <malloc.h>

namespace attune::session {

void KeepMemorySmall() {
#ifdef __GLIBC__
  // A second arena's address space would be locked with what the sampler locks, and locked pages cannot be given back.
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_THRESHOLD, 256 << 10);
  mallopt(M_TRIM_THRESHOLD, 512 << 10);
#endif
}

void GiveMemoryBack() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace attune::session
