/// Unmapping and protecting memory. The probe's own (the ring, the threads' states, the library) is left out: a program
/// that cleans up what it finds in /proc/self/maps would otherwise die of its next lock. It is told that it was done.

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/mman.h>

#include "probe/core.h"
#include "probe/hook/module.h"
#include "probe/hook/real.h"
#include "probe/hook/wrap.h"

namespace attune::probe::hook {
namespace {

struct Range {
  uintptr_t begin, end;  ///< [begin, end)

  bool Overlaps(const Range& other) const { return begin < other.end && other.begin < end; }
};

constexpr int kOwnRanges = 3;

Range OwnRange(int index) {
  const ProcessState& process = g_process;
  if (Range library = {0, 0}; index == 0) return OwnLibrary(library.begin, library.end) ? library : Range{0, 0};
  if (process.header == nullptr) return {0, 0};
  const void* begin = index == 1 ? static_cast<const void*>(process.header) : const_cast<const int*>(process.fork_pid);
  const uint64_t bytes = index == 1 ? process.mapped_bytes : process.states_bytes;
  const auto address = reinterpret_cast<uintptr_t>(begin);
  return {address, address + bytes};
}

bool IsOurs(const Range& range) {
  for (int i = 0; i < kOwnRanges; ++i) {
    if (range.Overlaps(OwnRange(i))) return true;
  }
  return false;
}

/// Calls `change` for the parts of a range that are not ours. @return its first failure, or 0
template <class Change>
int ChangeAround(const Range& range, const Change& change, int first_own = 0) {
  for (int i = first_own; i < kOwnRanges; ++i) {
    const Range own = OwnRange(i);
    if (!range.Overlaps(own)) continue;
    int result = 0;
    if (range.begin < own.begin) result = ChangeAround({range.begin, own.begin}, change, i + 1);
    if (result == 0 && own.end < range.end) result = ChangeAround({own.end, range.end}, change, i + 1);
    return result;
  }
  return change(reinterpret_cast<void*>(range.begin), range.end - range.begin);
}

Range RangeOf(const void* address, size_t bytes) {
  constexpr uintptr_t kPage = 4096;
  const auto begin = reinterpret_cast<uintptr_t>(address);
  return {begin, (begin + bytes + kPage - 1) / kPage * kPage};
}

}  // namespace

ATTUNE_HOOK int munmap(void* address, size_t bytes) {
  const Range range = RangeOf(address, bytes);
  if (__builtin_expect(!IsOurs(range), 1)) return g_real.munmap(address, bytes);
  return ChangeAround(range, [](void* part, size_t part_bytes) { return g_real.munmap(part, part_bytes); });
}

ATTUNE_HOOK int mprotect(void* address, size_t bytes, int protection) {
  const Range range = RangeOf(address, bytes);
  if (__builtin_expect(!IsOurs(range), 1)) return g_real.mprotect(address, bytes, protection);
  return ChangeAround(range,
                      [=](void* part, size_t part_bytes) { return g_real.mprotect(part, part_bytes, protection); });
}

ATTUNE_HOOK void* mremap(void* old_address, size_t old_bytes, size_t bytes, int flags, ...) {
  va_list list;
  va_start(list, flags);
  void* address = (flags & MREMAP_FIXED) != 0 ? va_arg(list, void*) : nullptr;
  va_end(list);
  if (IsOurs(RangeOf(old_address, old_bytes)) || ((flags & MREMAP_FIXED) != 0 && IsOurs(RangeOf(address, bytes)))) {
    errno = EFAULT;
    return MAP_FAILED;
  }
  return g_real.mremap(old_address, old_bytes, bytes, flags, address);
}

}  // namespace attune::probe::hook
