// Threads that do at random what threads do with locks: lock, try, wait for conditions, post, cancel, end, fork. What
// it prints depends on its arguments alone, not on how the threads happen to run. Usage: random_schedules SEED STEPS

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kThreads = 4, kLocks = 5, kNormal = 0, kAdaptive = 2 };  // two of the locks by their type

static pthread_mutex_t mutexes[kLocks];
static pthread_rwlock_t rwlocks[kLocks];
static pthread_spinlock_t spin;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t tokens;
static long counts[kLocks];  // under the lock
static long read_counts, spun, given, taken, waited, cancelled, ended, children, timed_out;
static long steps;

static uint32_t next_random(uint32_t* state) {
  *state ^= *state << 13;
  *state ^= *state >> 17;
  *state ^= *state << 5;
  return *state;
}

static void add(long* to, long what) { __atomic_fetch_add(to, what, __ATOMIC_RELAXED); }

static struct timespec in_microseconds(clockid_t clock, long us) {
  struct timespec t;
  clock_gettime(clock, &t);
  t.tv_nsec += us * 1000;
  t.tv_sec += t.tv_nsec / 1000000000;
  t.tv_nsec %= 1000000000;
  return t;
}

// Two locks in order, the second one tried first.
static void lock_two(uint32_t random) {
  const uint32_t a = random % kLocks;
  const uint32_t b = a + (random >> 8) % (kLocks - a);
  pthread_mutex_lock(&mutexes[a]);
  ++counts[a];
  if (b != a) {
    if (pthread_mutex_trylock(&mutexes[b]) != 0) pthread_mutex_lock(&mutexes[b]);
    ++counts[b];
    pthread_mutex_unlock(&mutexes[b]);
  }
  pthread_mutex_unlock(&mutexes[a]);
}

static void lock_in_time(uint32_t random) {
  const struct timespec limit = in_microseconds(CLOCK_MONOTONIC, 10000000);
  const uint32_t a = random % kLocks;
  if (pthread_mutex_clocklock(&mutexes[a], CLOCK_MONOTONIC, &limit) != 0) exit(3);
  ++counts[a];
  pthread_mutex_unlock(&mutexes[a]);
}

static void read_or_write(uint32_t random) {
  pthread_rwlock_t* lock = &rwlocks[random % kLocks];
  if ((random >> 8) % 4 == 0) {
    pthread_rwlock_wrlock(lock);
  } else if (pthread_rwlock_tryrdlock(lock) != 0) {
    pthread_rwlock_rdlock(lock);
  }
  add(&read_counts, 1);
  pthread_rwlock_unlock(lock);
}

static void wait_for_nothing(void) {
  const struct timespec limit = in_microseconds(CLOCK_REALTIME, 20);
  pthread_mutex_lock(&gate);
  while (pthread_cond_timedwait(&opened, &gate, &limit) != ETIMEDOUT) {
  }
  pthread_mutex_unlock(&gate);
  add(&timed_out, 1);
}

static void unlock(void* mutex) { pthread_mutex_unlock(mutex); }

static void* wait_for_ever(void* ready) {
  pthread_mutex_lock(&gate);
  pthread_cleanup_push(unlock, &gate);
  sem_post(ready);
  while (1) pthread_cond_wait(&opened, &gate);
  pthread_cleanup_pop(1);
  return ready;
}

static void cancel_one(void) {
  sem_t ready;
  pthread_t thread;
  void* result = NULL;
  sem_init(&ready, 0, 0);
  if (pthread_create(&thread, NULL, wait_for_ever, &ready) != 0) exit(4);
  while (sem_wait(&ready) != 0) {
  }
  pthread_cancel(thread);
  pthread_join(thread, &result);
  sem_destroy(&ready);
  add(&cancelled, result == PTHREAD_CANCELED);
}

static void* end_holding_nothing(void* mutex) {
  pthread_mutex_lock(mutex);
  add(&ended, 1);
  pthread_mutex_unlock(mutex);
  pthread_exit(mutex);
}

static void end_one(uint32_t random) {
  pthread_t thread;
  void* result = NULL;
  if (pthread_create(&thread, NULL, end_holding_nothing, &mutexes[random % kLocks]) != 0) exit(4);
  pthread_join(thread, &result);
  if (result != &mutexes[random % kLocks]) exit(5);
}

// The child has the locks that do not know their owner, gives them back and takes them again.
static void fork_one(void) {
  pthread_mutex_lock(&mutexes[kNormal]);
  pthread_mutex_lock(&mutexes[kAdaptive]);
  const pid_t child = fork();
  pthread_mutex_unlock(&mutexes[kAdaptive]);
  pthread_mutex_unlock(&mutexes[kNormal]);
  if (child == 0) {
    for (int i = 0; i < 20; ++i) {
      pthread_mutex_t* mutex = &mutexes[i % 2 == 0 ? kNormal : kAdaptive];
      pthread_mutex_lock(mutex);
      pthread_mutex_unlock(mutex);
    }
    _exit(7);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  add(&children, WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static void step(uint32_t random) {
  const uint32_t what = random % 1000;
  random /= 1000;
  if (what < 500) {
    lock_two(random);
  } else if (what < 600) {
    lock_in_time(random);
  } else if (what < 800) {
    read_or_write(random);
  } else if (what < 900) {
    pthread_spin_lock(&spin);
    ++spun;
    pthread_spin_unlock(&spin);
  } else if (what < 950) {
    sem_post(&tokens);
    add(&given, 1);
    while (sem_wait(&tokens) != 0) {
    }
    add(&taken, 1);
  } else if (what < 980) {
    pthread_cond_broadcast(&opened);
    add(&waited, 1);
  } else if (what < 990) {
    wait_for_nothing();
  } else if (what < 995) {
    end_one(random);
  } else if (what < 998) {
    cancel_one();
  } else {
    fork_one();
  }
}

static void* run(void* seed) {
  uint32_t random = (uint32_t)(uintptr_t)seed;
  for (long i = 0; i < steps; ++i) {
    step(next_random(&random));
    if (i % 1000 == 999) pthread_barrier_wait(&barrier);
  }
  return NULL;
}

int main(int argc, char** argv) {
  const unsigned long seed = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
  steps = (argc > 2 ? atol(argv[2]) : 10000) / kThreads;
  const int types[kLocks] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP,
                             PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_NORMAL};
  for (int i = 0; i < kLocks; ++i) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, types[i]);
    if (i == kLocks - 1) pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&mutexes[i], &attributes);
    pthread_rwlock_init(&rwlocks[i], NULL);
  }
  pthread_spin_init(&spin, 0);
  sem_init(&tokens, 0, 0);
  pthread_barrier_init(&barrier, NULL, kThreads);
  pthread_t threads[kThreads];
  for (uintptr_t i = 0; i < kThreads; ++i) {
    if (pthread_create(&threads[i], NULL, run, (void*)(seed * 7919 + i * 104729 + 1)) != 0) return 4;
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < kLocks; ++i) printf("%ld ", counts[i]);
  printf("read %ld spun %ld tokens %ld %ld woken %ld out %ld ended %ld cancelled %ld children %ld\n", read_counts, spun,
         given, taken, waited, timed_out, ended, cancelled, children);
  return 0;
}
