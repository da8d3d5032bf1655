#pragma once
#include <time.h>

static long long ordered_sum;

static inline long long ordered_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}
