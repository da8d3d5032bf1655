// Two threads hold a lock for long; two others want it only for a moment and wait for them most of their time. The
// planted line is where it is held from, not where it is waited for most.
// Usage: lock_contention mutex|rwlock|spin

#include "truth.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static enum { kMutex, kRwlock, kSpin } kind;
enum { kHolderRounds = 40, kPeeperRounds = 60 };

static void release(void) {
  if (kind == kMutex) pthread_mutex_unlock(&mutex);
  if (kind == kRwlock) pthread_rwlock_unlock(&rwlock);
  if (kind == kSpin) pthread_spin_unlock(&spin);
}

// One line: whichever lock it is, this is the place.
#define ACQUIRE(exclusive)                          \
  (kind == kMutex  ? pthread_mutex_lock(&mutex)     \
   : kind == kSpin ? pthread_spin_lock(&spin)       \
   : (exclusive)   ? pthread_rwlock_wrlock(&rwlock) \
                   : pthread_rwlock_rdlock(&rwlock))

static void hold_long(void) {
  const long long before_ns = now_ns();
  ACQUIRE(1);  // the planted line
  lost_since(before_ns);
  rest_us(5000);
  release();
}

static void peek(void) {
  const long long before_ns = now_ns();
  ACQUIRE(0);
  lost_since(before_ns);
  release();
}

static void* run(void* number) {
  if ((long)number < 2) {
    for (int i = 0; i < kHolderRounds; ++i) {
      hold_long();
      rest_us(4000);
    }
  } else {
    for (int i = 0; i < kPeeperRounds; ++i) {
      peek();
      rest_us(500);
    }
  }
  return NULL;
}

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "mutex";
  kind = strcmp(name, "rwlock") == 0 ? kRwlock : strcmp(name, "spin") == 0 ? kSpin : kMutex;
  pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
  run_threads(4, run);
  return print_truth();
}
