// One thread sieves primes, without optimisation.
// planted: class=none options=-O0

#include "planted.h"

enum { kLimit = 200000 };
static char is_composite[kLimit];

static int sieve(void) {
  int primes = 0;
  memset(is_composite, 0, sizeof is_composite);
  for (long i = 2; i < kLimit; ++i) {
    if (is_composite[i]) continue;
    ++primes;
    for (long j = i * i; j < kLimit; j += i) is_composite[j] = 1;
  }
  return primes;
}

int main(void) {
  int primes = 0;
  const long long before_ns = now_ns();
  while (now_ns() - before_ns < 1200000000LL) primes = sieve();
  return primes == 0;
}
