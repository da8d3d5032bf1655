// A library with an OpenMP runtime that the program which loads it has not.
// With OUTER: a library that is loaded itself, and that one for its sake. With WEAK: one that would use a runtime.

long plugin_count(int threads, int times);

#if defined(OUTER)

long inner_count(int threads, int times);
long plugin_count(int threads, int times) { return inner_count(threads, times); }

#elif defined(WEAK)

void GOMP_parallel(void (*region)(void*), void* data, unsigned threads, unsigned flags) __attribute__((weak));

static void add(void* total) { *(long*)total += 1000; }
long plugin_count(int threads, int times) {
  long total = 0;
  for (int i = 0; i < threads; ++i) {
    if (GOMP_parallel != 0) GOMP_parallel(add, &total, 1, 0);
    if (GOMP_parallel == 0) add(&total);
  }
  return times == 1000 ? total : 0;
}

#else

#include <omp.h>

#ifdef INNER
#define plugin_count inner_count
long inner_count(int threads, int times);
#endif

long plugin_count(int threads, int times) {
  long total = 0;
  long under_lock = 0;
  omp_lock_t lock;
  omp_init_lock(&lock);
#pragma omp parallel num_threads(threads)
  for (int i = 0; i < times; ++i) {
#pragma omp critical
    ++total;
    omp_set_lock(&lock);
    ++under_lock;
    omp_unset_lock(&lock);
  }
  omp_destroy_lock(&lock);
  return under_lock == total ? total : 0;
}

#endif
