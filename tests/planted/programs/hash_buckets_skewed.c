// Sixteen buckets have a lock each, but a poor hash puts nearly all keys into one of them.
// planted: class=lock-contention function=insert_key

#include "planted.h"

enum { kBuckets = 16, kKeys = 400 };
static struct {
  pthread_mutex_t lock;
  long entries;
} buckets[kBuckets];

static int poor_hash(long key) { return key % 40 == 0 ? (int)(key / 40 % kBuckets) : 3; }

static void insert_key(long key) {
  const int bucket = poor_hash(key);
  const long long before_ns = now_ns();
  pthread_mutex_lock(&buckets[bucket].lock);  // <- cause
  lost_since(before_ns);
  buckets[bucket].entries++;
  rest_us(1500);
  pthread_mutex_unlock(&buckets[bucket].lock);
}

static void* run_inserts(void* number) {
  for (long i = 0; i < kKeys / 2; ++i) insert_key(i * 2654435761L % 9973 + (long)number);
  return NULL;
}

int main(void) {
  for (int i = 0; i < kBuckets; ++i) pthread_mutex_init(&buckets[i].lock, NULL);
  run_threads(4, run_inserts);
  return write_truth();
}
