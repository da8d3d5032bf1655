#pragma once
/// The cycle counter, as C and C++, for code inside observed programs too. @cost 17 to 21 ns on a virtual machine

#include <stdint.h>

#ifdef __cplusplus
namespace attune {
#endif

static inline uint64_t ReadTsc(void) {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  uint64_t value;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#else
#error "attune supports x86-64 and aarch64"
#endif
}

/// ReadTsc() after all earlier instructions: without the fence the CPU may read the counter before a preceding atomic
/// operation.
/// @cost 1 to 10 ns more
static inline uint64_t ReadTscBehind(void) {
#if defined(__x86_64__)
  __asm__ volatile("lfence" ::: "memory");
#else
  __asm__ volatile("isb" ::: "memory");
#endif
  return ReadTsc();
}

#ifdef __cplusplus
}  // namespace attune
#endif
