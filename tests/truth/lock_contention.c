// Two threads hold a lock for long; two others want it only for a moment and wait for them most of their time. The
// planted line is where it is held from, not where it is waited for most. With "many" each lock is held for long once,
// and only all of them together cost much. Usage: lock_contention mutex|rwlock|spin|many [TIMES], how often it does all
// this

#include "truth.h"

enum { kHolderRounds = 40, kPeeperRounds = 60, kManyPeeperRounds = 400, kMutexes = 2 * kHolderRounds };
static pthread_mutex_t mutexes[kMutexes];
static atomic_int held[2];  // which of them the holders have or had last
static int is_many, times = 1;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static enum { kMutex, kRwlock, kSpin } kind;

static void release(int number) {
  if (kind == kMutex) pthread_mutex_unlock(&mutexes[number]);
  if (kind == kRwlock) pthread_rwlock_unlock(&rwlock);
  if (kind == kSpin) pthread_spin_unlock(&spin);
}

// One line: whichever lock it is, this is the place.
#define ACQUIRE(exclusive, number)                        \
  (kind == kMutex  ? pthread_mutex_lock(&mutexes[number]) \
   : kind == kSpin ? pthread_spin_lock(&spin)             \
   : (exclusive)   ? pthread_rwlock_wrlock(&rwlock)       \
                   : pthread_rwlock_rdlock(&rwlock))

static void hold_long(int holder, int number) {
  const long long before_ns = now_ns();
  ACQUIRE(1, number);  // the planted line
  lost_since(before_ns);
  held[holder] = number;
  rest_us(5000);
  release(number);
}

static void peek(int number) {
  const long long before_ns = now_ns();
  ACQUIRE(0, number);
  lost_since(before_ns);
  release(number);
}

static void* run(void* argument) {
  const int thread = (int)(long)argument;
  if (thread < 2) {
    for (int i = 0; i < times * kHolderRounds; ++i) {
      hold_long(thread, is_many ? thread * kHolderRounds + i % kHolderRounds : 0);
      rest_us(4000);
    }
  } else {
    for (int i = 0; i < times * (is_many ? kManyPeeperRounds : kPeeperRounds); ++i) {
      peek(held[thread - 2]);
      rest_us(500);
    }
  }
  return NULL;
}

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "mutex";
  kind = strcmp(name, "rwlock") == 0 ? kRwlock : strcmp(name, "spin") == 0 ? kSpin : kMutex;
  is_many = strcmp(name, "many") == 0;
  if (argc > 2) times = atoi(argv[2]);
  held[1] = is_many ? kHolderRounds : 0;
  for (int i = 0; i < kMutexes; ++i) pthread_mutex_init(&mutexes[i], NULL);
  pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
  run_threads(4, run);
  return print_truth();
}
