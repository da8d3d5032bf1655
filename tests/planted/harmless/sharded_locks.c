// A table has 256 locks, and two threads meet at one of them hardly ever.
// planted: class=none

#include "planted.h"

enum { kShards = 256 };
static struct {
  pthread_mutex_t lock;
  long value;
  char padding[128];
} shards[kShards];

static void* update_shards(void* number) {
  unsigned seed = (unsigned)(long)number + 1;
  const long long before_ns = cpu_ns();
  while (cpu_ns() - before_ns < 1200000000LL) {
    for (int i = 0; i < 500; ++i) {
      for (int round = 0; round < 200; ++round) seed = seed * 1664525U + 1013904223U;  // a hash of the key
      pthread_mutex_lock(&shards[seed >> 24].lock);
      shards[seed >> 24].value += i;
      pthread_mutex_unlock(&shards[seed >> 24].lock);
    }
  }
  return NULL;
}

int main(void) {
  for (int i = 0; i < kShards; ++i) pthread_mutex_init(&shards[i].lock, NULL);
  run_threads(2, update_shards);
  return 0;
}
