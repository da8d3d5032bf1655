// Programs that lock, wait and meet, without knowing of attune. What they print is the same with it and without it.

#ifndef WITHOUT_LIBRARIES  // a static program
#include <dlfcn.h>
#endif
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "file_scenarios.h"
#include "idle_scenario.h"
#include "scenario.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static long total;

static struct timespec soon(clockid_t clock, long ms) {
  struct timespec t;
  clock_gettime(clock, &t);
  t.tv_nsec += ms * 1000000;
  t.tv_sec += t.tv_nsec / 1000000000;
  t.tv_nsec %= 1000000000;
  return t;
}

static void* add(void* times) {
  for (long i = 0; i < (long)(intptr_t)times; ++i) {
    pthread_mutex_lock(&mutex);
    ++total;
    pthread_mutex_unlock(&mutex);
  }
  return NULL;
}

// Threads that count under one mutex.
static void counts(long threads, long times) {
  pthread_t ids[64];
  for (long i = 0; i < threads; ++i) pthread_create(&ids[i], NULL, add, (void*)(intptr_t)times);
  for (long i = 0; i < threads; ++i) pthread_join(ids[i], NULL);
  printf("%ld\n", total);
}

// At each letter on stdin the mutex is locked and unlocked so many times, which is then said.
static void steps(long turns) {
  char letter;
  while (read(0, &letter, 1) == 1) {
    for (long i = 0; i < turns; ++i) {
      pthread_mutex_lock(&mutex);
      pthread_mutex_unlock(&mutex);
    }
    if (write(1, "d", 1) != 1) return;
  }
}

// Each kind of lock and wait: three acquisitions that need not wait, and the ones whose time is up.
static void kinds(void) {
  struct timespec past = {1, 0};
  pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
  pthread_spinlock_t spin;
  pthread_barrier_t barrier;
  sem_t semaphore;
  pthread_spin_init(&spin, 0);
  pthread_barrier_init(&barrier, NULL, 1);
  sem_init(&semaphore, 0, 0);
  const struct timespec limit = soon(CLOCK_REALTIME, 10000);
  const struct timespec steady = soon(CLOCK_MONOTONIC, 10000);

  printf("mutex %s", name_of(pthread_mutex_trylock(&mutex)));
  printf(" %s", name_of(pthread_mutex_trylock(&mutex)));
  printf(" %s", name_of(pthread_mutex_timedlock(&mutex, &past)));
  printf(" %s", name_of(pthread_mutex_unlock(&mutex)));
  printf(" %s", name_of(pthread_mutex_timedlock(&mutex, &limit)));
  printf(" %s", name_of(pthread_mutex_unlock(&mutex)));
  printf(" %s", name_of(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &steady)));
  printf(" %s\n", name_of(pthread_mutex_unlock(&mutex)));

  printf("rwlock %s", name_of(pthread_rwlock_rdlock(&rwlock)));
  printf(" %s", name_of(pthread_rwlock_tryrdlock(&rwlock)));
  printf(" %s", name_of(pthread_rwlock_timedrdlock(&rwlock, &limit)));
  printf(" %s", name_of(pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &steady)));
  printf(" %s", name_of(pthread_rwlock_trywrlock(&rwlock)));
  printf(" %s", name_of(pthread_rwlock_timedwrlock(&rwlock, &past)));
  for (int i = 0; i < 4; ++i) pthread_rwlock_unlock(&rwlock);
  printf(" %s", name_of(pthread_rwlock_wrlock(&rwlock)));
  printf(" %s", name_of(pthread_rwlock_wrlock(&rwlock)));
  printf(" %s", name_of(pthread_rwlock_tryrdlock(&rwlock)));
  pthread_rwlock_unlock(&rwlock);
  printf(" %s", name_of(pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &steady)));
  printf(" %s\n", name_of(pthread_rwlock_unlock(&rwlock)));

  printf("spin %s", name_of(pthread_spin_lock(&spin)));
  printf(" %s", name_of(pthread_spin_trylock(&spin)));
  printf(" %s\n", name_of(pthread_spin_unlock(&spin)));

  pthread_mutex_lock(&mutex);
  printf("condition %s", name_of(pthread_cond_timedwait(&condition, &mutex, &past)));
  printf(" %s", name_of(pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &past)));
  printf(" %s", name_of(pthread_cond_signal(&condition)));
  printf(" %s\n", name_of(pthread_cond_broadcast(&condition)));
  pthread_mutex_unlock(&mutex);

  printf("barrier %d\n", pthread_barrier_wait(&barrier) != 0);

  errno = 77;
  printf("semaphore %d", sem_post(&semaphore));
  printf(" %d", sem_wait(&semaphore));
  printf(" %d", errno);
  printf(" %d", sem_trywait(&semaphore));
  printf(" %s", name_of(errno));
  printf(" %d", sem_timedwait(&semaphore, &past));
  printf(" %s", name_of(errno));
  printf(" %d", sem_clockwait(&semaphore, CLOCK_MONOTONIC, &past));
  printf(" %s\n", name_of(errno));
}

static void* die_holding(void* robust) {
  pthread_mutex_lock(robust);
  return NULL;
}

static pthread_mutex_t of_type(int type, int robust) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, type);
  if (robust) pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_t made;
  pthread_mutex_init(&made, &attributes);
  return made;
}

// What each type of mutex answers to a second lock, to the wrong unlock, to an owner that died.
static void types(void) {
  pthread_mutex_t recursive = of_type(PTHREAD_MUTEX_RECURSIVE, 0);
  printf("recursive %s", name_of(pthread_mutex_lock(&recursive)));
  printf(" %s", name_of(pthread_mutex_lock(&recursive)));
  printf(" %s", name_of(pthread_mutex_unlock(&recursive)));
  printf(" %s", name_of(pthread_mutex_unlock(&recursive)));
  printf(" %s\n", name_of(pthread_mutex_unlock(&recursive)));
  pthread_mutex_t checking = of_type(PTHREAD_MUTEX_ERRORCHECK, 0);
  printf("checking %s", name_of(pthread_mutex_lock(&checking)));
  printf(" %s", name_of(pthread_mutex_lock(&checking)));
  printf(" %s", name_of(pthread_mutex_trylock(&checking)));
  printf(" %s", name_of(pthread_mutex_unlock(&checking)));
  printf(" %s\n", name_of(pthread_mutex_unlock(&checking)));
  static pthread_mutex_t robust;
  robust = of_type(PTHREAD_MUTEX_NORMAL, 1);
  pthread_t thread;
  pthread_create(&thread, NULL, die_holding, &robust);
  pthread_join(thread, NULL);
  printf("robust %s", name_of(pthread_mutex_lock(&robust)));
  printf(" %s", name_of(pthread_mutex_consistent(&robust)));
  printf(" %s", name_of(pthread_mutex_unlock(&robust)));
  printf(" %s", name_of(pthread_mutex_lock(&robust)));
  printf(" %s\n", name_of(pthread_mutex_unlock(&robust)));
  robust = of_type(PTHREAD_MUTEX_NORMAL, 1);
  pthread_create(&thread, NULL, die_holding, &robust);
  pthread_join(thread, NULL);
  printf("given up %s", name_of(pthread_mutex_lock(&robust)));
  printf(" %s", name_of(pthread_mutex_unlock(&robust)));
  printf(" %s\n", name_of(pthread_mutex_lock(&robust)));
}

static sem_t ready;

static void give_up(void* held) { printf("cleaned %s\n", name_of(pthread_mutex_unlock(held))); }

static void* wait_for_ever(void* nothing) {
  pthread_mutex_lock(&mutex);
  pthread_cleanup_push(give_up, &mutex);
  sem_post(&ready);
  while (1) pthread_cond_wait(&condition, &mutex);
  pthread_cleanup_pop(1);
  return nothing;
}

static void* take_while_cancelled(void* nothing) {
  static sem_t full;
  sem_init(&full, 0, 1);
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
  sem_post(&ready);
  pthread_mutex_lock(&mutex);  // until the cancellation was sent
  pthread_mutex_unlock(&mutex);
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
  sem_wait(&full);  // a cancellation point, although there is something to take
  printf("went on\n");
  return nothing;
}

static void join_cancelled(pthread_t thread) {
  void* result;
  printf("%s", name_of(pthread_join(thread, &result)));
  printf(" %d\n", result == PTHREAD_CANCELED);
}

// Cancellation in a wait, with a cleanup; at a semaphore that has room.
static void cancel(void) {
  pthread_t thread;
  sem_init(&ready, 0, 0);
  pthread_create(&thread, NULL, wait_for_ever, NULL);
  sem_wait(&ready);
  pthread_mutex_lock(&mutex);  // it waits by now
  pthread_mutex_unlock(&mutex);
  pthread_cancel(thread);
  join_cancelled(thread);
  pthread_mutex_lock(&mutex);
  pthread_create(&thread, NULL, take_while_cancelled, NULL);
  sem_wait(&ready);
  pthread_cancel(thread);
  pthread_mutex_unlock(&mutex);
  join_cancelled(thread);
}

static sem_t from_handler;
static void on_signal(int number) {
  (void)number;
  sem_post(&from_handler);
}

// A semaphore posted in a signal handler, a hundred times, at any moment of the same being waited for.
static void signals(void) {
  sem_init(&from_handler, 0, 0);
  signal(SIGUSR1, on_signal);
  for (int i = 0; i < 100; ++i) {
    raise(SIGUSR1);
    while (sem_wait(&from_handler) != 0) {
    }
  }
  printf("100\n");
}

// The child counts for itself, and leaves without a word.
static void forks(void) {
  add((void*)100);
  const pid_t child = fork();
  if (child == 0) {
    add((void*)30);
    _exit(total == 130 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  add((void*)1);
  printf("%ld %d\n", total, status);
}

static void show(const char* when) {
  printf("%s: lock %d, owner %s, users %u\n", when, mutex.__data.__lock,
         mutex.__data.__owner == gettid() ? "me"
         : mutex.__data.__owner == 0      ? "none"
                                          : "another",
         mutex.__data.__nusers);
}

static void* take_and_leave(void* nothing) {
  pthread_mutex_lock(&mutex);
  show("in the other thread");
  pthread_mutex_unlock(&mutex);
  return nothing;
}

static int is_waited_for(void) { return __atomic_load_n(&mutex.__data.__lock, __ATOMIC_RELAXED) > 1; }

// What the C library keeps in a mutex, which others (its own functions, debuggers) read.
static void inside(void) {
  const struct timespec past = {1, 0};
  for (int threads = 1; threads <= 2; ++threads) {  // alone, and when there has been another one
    pthread_mutex_lock(&mutex);
    show("taken");
    printf("destroy %s, try %s\n", name_of(pthread_mutex_destroy(&mutex)), name_of(pthread_mutex_trylock(&mutex)));
    printf("wait %s\n", name_of(pthread_cond_timedwait(&condition, &mutex, &past)));
    show("after a wait");
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      pthread_mutex_unlock(&mutex);
      pthread_mutex_lock(&mutex);
      show("in a child");
      pthread_mutex_unlock(&mutex);
      show("given back in a child");
      fflush(stdout);
      _exit(0);
    }
    waitpid(child, NULL, 0);
    pthread_mutex_unlock(&mutex);
    pthread_mutex_lock(&mutex);  // nobody waits for it any more
    pthread_t other;
    pthread_create(&other, NULL, take_and_leave, NULL);
    while (!is_waited_for()) sched_yield();
    pthread_mutex_unlock(&mutex);
    pthread_join(other, NULL);
    show("given back");
  }
  printf("destroy %s\n", name_of(pthread_mutex_destroy(&mutex)));
}

#ifndef WITHOUT_LIBRARIES
// Another library that takes the place of the same functions may be there.
static void another_library(void) {
  long (*calls)(void);
  void* symbol = dlsym(RTLD_DEFAULT, "locks_and_unlocks");
  memcpy((void*)&calls, (const void*)&symbol, sizeof calls);
  for (int i = 0; i < 1000; ++i) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  }
  printf("%ld\n", symbol != NULL ? calls() : -1);
}
#endif

static mtx_t shared;
static cnd_t changed;
static int turn;

static int add_of_c11(void* times) {
  for (long i = 0; i < (long)(intptr_t)times; ++i) {
    mtx_lock(&shared);
    ++total;
    mtx_unlock(&shared);
  }
  return 7;
}

static int take_turns(void* times) {
  for (long i = 0; i < (long)(intptr_t)times; ++i) {
    mtx_lock(&shared);
    while (turn != 1) cnd_wait(&changed, &shared);
    turn = 0;
    cnd_broadcast(&changed);
    mtx_unlock(&shared);
  }
  return 8;
}

// C11's own threads, mutexes and conditions: three acquisitions that need not wait, the ones whose time is up, turns.
static void threads_of_c11(long threads, long times) {
  const struct timespec past = {1, 0};
  const struct timespec limit = soon(CLOCK_REALTIME, 10000);
  mtx_t timed;
  mtx_init(&timed, mtx_timed);
  mtx_init(&shared, mtx_plain);
  cnd_init(&changed);
  errno = 77;
  printf("mutex %d", mtx_lock(&timed));
  printf(" %d", mtx_trylock(&timed));
  printf(" %d", mtx_timedlock(&timed, &past));
  printf(" %d", mtx_unlock(&timed));
  printf(" %d", mtx_timedlock(&timed, &limit));
  printf(" %d", mtx_unlock(&timed));
  printf(" %d", mtx_trylock(&timed));
  printf(" %d", cnd_timedwait(&changed, &timed, &past));
  printf(" %d", mtx_unlock(&timed));
  printf(" %d\n", errno);
  mtx_t recursive;
  mtx_init(&recursive, mtx_plain | mtx_recursive);
  printf("recursive %d", mtx_lock(&recursive));
  printf(" %d", mtx_lock(&recursive));
  printf(" %d", mtx_unlock(&recursive));
  printf(" %d\n", mtx_unlock(&recursive));
  thrd_t ids[64];
  int result = 0;
  for (long i = 0; i < threads; ++i) thrd_create(&ids[i], add_of_c11, (void*)(intptr_t)times);
  for (long i = 0; i < threads; ++i) printf("join %d", thrd_join(ids[i], &result));
  printf(" %d %ld\n", result, total);
  thrd_create(&ids[0], take_turns, (void*)(intptr_t)times);
  for (long i = 0; i < times; ++i) {
    mtx_lock(&shared);
    turn = 1;
    cnd_signal(&changed);
    while (turn != 0) cnd_wait(&changed, &shared);
    mtx_unlock(&shared);
  }
  printf("turns %d", thrd_join(ids[0], &result));
  printf(" %d\n", result);
}

static void give_up_of_c11(void* held) { printf("cleaned %d\n", mtx_unlock(held)); }

static void* wait_for_ever_of_c11(void* nothing) {
  mtx_lock(&shared);
  pthread_cleanup_push(give_up_of_c11, &shared);
  sem_post(&ready);
  while (1) cnd_wait(&changed, &shared);
  pthread_cleanup_pop(1);
  return nothing;
}

// Cancellation while C11's condition is waited for.
static void cancel_c11(void) {
  pthread_t thread;
  sem_init(&ready, 0, 0);
  mtx_init(&shared, mtx_plain);
  cnd_init(&changed);
  pthread_create(&thread, NULL, wait_for_ever_of_c11, NULL);
  sem_wait(&ready);
  mtx_lock(&shared);  // it waits by now
  mtx_unlock(&shared);
  pthread_cancel(thread);
  join_cancelled(thread);
}

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t semaphore;

static void* take_mutex(void* which) {
  pthread_mutex_lock(which);
  pthread_mutex_unlock(which);
  return NULL;
}

static void* take_to_read(void* nothing) {
  pthread_rwlock_rdlock(&rwlock);
  pthread_rwlock_unlock(&rwlock);
  return nothing;
}

static void* take_condition(void* nothing) {
  pthread_mutex_lock(&mutex);
  while (total == 0) pthread_cond_wait(&condition, &mutex);
  pthread_mutex_unlock(&mutex);
  return nothing;
}

static void* take_semaphore(void* nothing) {
  sem_wait(&semaphore);
  return nothing;
}

static uint32_t word_at(const void* address) { return __atomic_load_n((const uint32_t*)address, __ATOMIC_ACQUIRE); }

// Another thread waits for the mutex, until it is given up.
static void make_wait(pthread_mutex_t* which, uint32_t waited_for, int depth) {
  pthread_t thread;
  for (int i = 0; i < depth; ++i) pthread_mutex_lock(which);
  pthread_create(&thread, NULL, take_mutex, which);
  while ((word_at(&which->__data.__lock) & waited_for) == 0) usleep(100);
  for (int i = 0; i < depth; ++i) pthread_mutex_unlock(which);
  pthread_join(thread, NULL);
}

// The first thread makes another one wait for each of: three types of mutex, a read-write lock, a condition, a
// semaphore.
static void hands_over(void) {
  pthread_t thread;
  pthread_mutex_t recursive = of_type(PTHREAD_MUTEX_RECURSIVE, 0);
  pthread_mutex_t robust = of_type(PTHREAD_MUTEX_NORMAL, 1);
  sem_init(&semaphore, 0, 0);
  make_wait(&mutex, 2, 1);
  make_wait(&recursive, 2, 2);
  make_wait(&robust, 0x80000000, 1);

  pthread_rwlock_wrlock(&rwlock);
  pthread_create(&thread, NULL, take_to_read, NULL);
  while ((word_at(&rwlock.__data.__wrphase_futex) & 2) == 0) usleep(100);
  pthread_rwlock_unlock(&rwlock);
  pthread_join(thread, NULL);

  pthread_create(&thread, NULL, take_condition, NULL);
  // It counts as waiting before it gives the mutex back.
  while (word_at(&condition.__data.__wrefs) < 8 || word_at(&mutex.__data.__lock) != 0) usleep(100);
  pthread_mutex_lock(&mutex);
  total = 1;
  pthread_mutex_unlock(&mutex);
  pthread_cond_signal(&condition);
  pthread_join(thread, NULL);
  pthread_cond_broadcast(&condition);  // nobody waits

  pthread_create(&thread, NULL, take_semaphore, NULL);
  while (word_at((const char*)&semaphore + 4) == 0) usleep(100);
  sem_post(&semaphore);
  pthread_join(thread, NULL);
  sem_post(&semaphore);  // nobody waits
  printf("%ld\n", total);
}

static int is_over;

static void* take_until_over(void* nothing) {
  while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  }
  return nothing;
}

// The first thread makes another one wait for a mutex so many times, as quickly as it can.
static void hands_over_quickly(long times) {
  pthread_t thread;
  pthread_create(&thread, NULL, take_until_over, NULL);
  for (long i = 0; i < times; ++i) {
    pthread_mutex_lock(&mutex);
    while (word_at(&mutex.__data.__lock) != 2) sched_yield();
    pthread_mutex_unlock(&mutex);
  }
  __atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
  pthread_join(thread, NULL);
}

static pthread_mutex_t kept = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t kept_too = PTHREAD_MUTEX_INITIALIZER;

static void* take_and_keep(void* nothing) {
  pthread_mutex_lock(&kept);
  pthread_mutex_lock(&kept_too);
  return nothing;
}

// A thread waits for two locks, one inside the other, and ends without releasing them.
static void keeps(void) {
  pthread_t thread;
  pthread_mutex_lock(&kept_too);
  pthread_mutex_lock(&kept);
  pthread_create(&thread, NULL, take_and_keep, NULL);
  while (word_at(&kept.__data.__lock) != 2) usleep(100);
  pthread_mutex_unlock(&kept);
  while (word_at(&kept_too.__data.__lock) != 2) usleep(100);
  pthread_mutex_unlock(&kept_too);
  pthread_join(thread, NULL);
  printf("kept %s %s\n", name_of(pthread_mutex_trylock(&kept)), name_of(pthread_mutex_trylock(&kept_too)));
}

// Locks inside others: one order a level of depth, a try, a lock that is had already, a time limit.
static void nested(void) {
  pthread_mutex_t recursive = of_type(PTHREAD_MUTEX_RECURSIVE, 0);
  pthread_spinlock_t spin;
  pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
  volatile int times = 3;  // a compiler that knew it could make three places of one
  for (int i = 0; i < times; ++i) {
    pthread_rwlock_rdlock(&rwlock);
    pthread_mutex_lock(&mutex);
    pthread_spin_lock(&spin);
    pthread_spin_unlock(&spin);
    pthread_mutex_unlock(&mutex);
    pthread_rwlock_unlock(&rwlock);
  }
  pthread_mutex_lock(&recursive);
  printf("try %s\n", name_of(pthread_mutex_trylock(&mutex)));
  pthread_mutex_lock(&recursive);
  pthread_mutex_unlock(&recursive);
  pthread_mutex_unlock(&mutex);
  pthread_mutex_unlock(&recursive);
  pthread_mutex_lock(&mutex);  // nothing is had meanwhile
  pthread_mutex_unlock(&mutex);
  // What changes each time is told so often and not more.
  pthread_mutex_t many[100];
  for (int i = 0; i < 100; ++i) many[i] = of_type(PTHREAD_MUTEX_NORMAL, 0);
  for (int i = 0; i < 100; ++i) {
    pthread_mutex_lock(&many[i]);
    mtx_lock(&shared);
    mtx_unlock(&shared);
    pthread_mutex_unlock(&many[i]);
  }
}

static uint32_t word;

static pthread_once_t posix_once = PTHREAD_ONCE_INIT;
static once_flag c11_once = ONCE_FLAG_INIT;
static int done;
static void initialise_posix(void);
static void initialise_c11(void);

static void* come_later(void* is_c11) {
  about_to_sleep();
  if (is_c11 != NULL) call_once(&c11_once, initialise_c11);
  if (is_c11 == NULL) pthread_once(&posix_once, initialise_posix);
  return (void*)(intptr_t)done;
}

static pthread_t latecomer;

static void initialise_posix(void) {
  pthread_create(&latecomer, NULL, come_later, NULL);
  wait_until_asleep();
  ++done;
}

static void initialise_c11(void) {
  pthread_create(&latecomer, NULL, come_later, &c11_once);
  wait_until_asleep();
  ++done;
}

// Initialisers that another thread waits for.
static void once(void) {
  void* seen;
  printf("%d", pthread_once(&posix_once, initialise_posix));
  pthread_join(latecomer, &seen);
  printf(" %d", (int)(intptr_t)seen);
  printf(" %d", pthread_once(&posix_once, initialise_posix));
  call_once(&c11_once, initialise_c11);
  pthread_join(latecomer, &seen);
  call_once(&c11_once, initialise_c11);
  printf(" %d %d\n", (int)(intptr_t)seen, done);
}

static void* sleep_at_word(void* expected) {
  about_to_sleep();
  const long result = syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, (uint32_t)(uintptr_t)expected, NULL);
  return (void*)(intptr_t)(result < 0 ? errno : 0);
}

static void nothing(int number) { (void)number; }

static void leave_with_5(void) { _exit(5); }

// A child on a stack of its own, where the call returns to another place.
static void clone_with_a_stack(void) {
#if defined(__x86_64__)
  static _Alignas(16) uintptr_t stack[1024];
  uintptr_t* top = stack + 1000;
  *top = (uintptr_t)leave_with_5;
  const pid_t child = (pid_t)syscall(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, top, NULL, NULL, 0);
  int status = 0;
  if (child > 0) waitpid(child, &status, 0);
  printf("clone %d\n", WEXITSTATUS(status));
#endif
}

// System calls by number: those for futexes, which wait or not, and others.
static void system_calls(void) {
  const struct timespec short_time = {0, 1000000};
  errno = 77;
  printf("differs %s\n", said(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, NULL)));
  printf("no memory %s\n", said(syscall(SYS_futex, (uint32_t*)16, FUTEX_WAIT_PRIVATE, 1, NULL)));
  printf("null %s\n", said(syscall(SYS_futex, NULL, FUTEX_WAKE_PRIVATE, 1)));
  printf("time %s\n", said(syscall(SYS_futex, &word, FUTEX_WAIT, 0, &short_time)));
  const struct timespec past = {1, 0};
  printf("bitset %s\n", said(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, 0, &past, NULL, FUTEX_BITSET_MATCH_ANY)));
  printf("no bits %s\n", said(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, 0, &past, NULL, 0)));
  printf("nobody %s\n", said(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1)));
  pthread_t thread;
  void* result;
  pthread_create(&thread, NULL, sleep_at_word, (void*)0);
  wait_until_asleep();
  printf("wakes %s\n", said(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1)));
  pthread_join(thread, &result);
  printf("woken %s\n", name_of((int)(intptr_t)result));
  const struct sigaction action = {.sa_handler = nothing};
  sigaction(SIGUSR2, &action, NULL);
  pthread_create(&thread, NULL, sleep_at_word, (void*)0);
  wait_until_asleep();
  pthread_kill(thread, SIGUSR2);
  pthread_join(thread, &result);
  printf("interrupted %s\n", name_of((int)(intptr_t)result));

  errno = 77;
  printf("process %d", syscall(SYS_getpid) == getpid());
  printf(" %d\n", errno);
  printf("write %s\n", said(syscall(SYS_write, -1, "", 1)));
  printf("none %s\n", said(syscall(100000)));
  char* memory = (char*)syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
  printf("memory %d\n", memory[4095]);
  // NOLINTBEGIN(*Vfork,*vfork,bugprone-unsafe-functions): that is what is tried out
  const pid_t child = vfork();
  if (child == 0) {
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1);
    syscall(SYS_exit_group, 6);
  }
  // NOLINTEND(*Vfork,*vfork,bugprone-unsafe-functions)
  int status = 0;
  waitpid(child, &status, 0);
  printf("vfork %d\n", WEXITSTATUS(status));
  clone_with_a_stack();
}

static char early[128];

// Before any library's constructor has run, the probe's too.
static void lock_early(void) {
  static mtx_t plain;
  int answers[8] = {pthread_mutex_lock(&mutex), pthread_mutex_unlock(&mutex), mtx_lock(&plain), mtx_unlock(&plain)};
  answers[4] = (int)syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1);
  answers[5] = (int)syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, NULL);
  answers[6] = errno;
  answers[7] = pthread_cond_signal(&condition);
  for (int i = 0; i < 8; ++i) snprintf(early + strlen(early), sizeof early - strlen(early), "%d ", answers[i]);
}
__attribute__((section(".preinit_array"), used)) static void (*const call_early)(void) = lock_early;

#ifndef WITHOUT_LIBRARIES
// Locks in libraries that come and go, of which the later ones may take the earlier ones' place. @param folder of them
static void plugins(const char* folder) {
  const char* const names[] = {"a", "b", "a"};
  for (int i = 0; i < 3; ++i) {
    char path[4096];
    snprintf(path, sizeof path, "%s/sync_plugin_%s.so", folder, names[i]);
    void* library = dlopen(path, RTLD_NOW);
    if (library == NULL) exit(3);
    void (*lock)(pthread_mutex_t*);
    *(void**)&lock = dlsym(library, "plugin_lock");
    static pthread_mutex_t mutexes[3];
    lock(&mutexes[i]);
    dlclose(library);
  }
  printf("3\n");
}

// Three threads that count in a library with OpenMP, which this program has not.
static void openmp_plugin(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) exit(3);
  long (*count)(int, int);
  *(void**)&count = dlsym(library, "plugin_count");
  printf("%ld\n", count(3, 1000));
}
#endif

static void* wait_in_vain(void* nothing) {
  pthread_mutex_lock(&mutex);
  return nothing;
}

// Ends while a thread waits for what main has.
static void leaves(void) {
  pthread_t thread;
  pthread_mutex_lock(&mutex);
  pthread_create(&thread, NULL, wait_in_vain, NULL);
  while (!is_waited_for()) sched_yield();
  usleep(30000);
  puts("left");
}

// The same in a child that leaves by _exit, while its parent lives on until its input ends, and then waits itself.
static void abandons(void) {
  const pid_t child = fork();
  if (child == 0) {
    leaves();
    fflush(stdout);
    _exit(0);
  }
  int status = -1;
  if (waitpid(child, &status, 0) != child || status != 0) exit(1);
  char byte = 0;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
  pthread_barrier_t alone;
  pthread_barrier_init(&alone, NULL, 1);
  pthread_barrier_wait(&alone);
}

// Counts until it is killed.
static void endless(long times) {
  add((void*)(intptr_t)times);
  puts("ready");
  fflush(stdout);
  while (1) pause();
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  const long first = argc > 2 ? atol(argv[2]) : 0;
  const long second = argc > 3 ? atol(argv[3]) : 0;
  if (strcmp(what, "counts") == 0) counts(first, second);
  if (strcmp(what, "kinds") == 0) kinds();
  if (strcmp(what, "steps") == 0) steps(argc > 2 ? first : 1);
  if (strcmp(what, "leaves") == 0) leaves();
  if (strcmp(what, "abandons") == 0) abandons();
  if (strcmp(what, "types") == 0) types();
  if (strcmp(what, "cancel") == 0) cancel();
  if (strcmp(what, "signals") == 0) signals();
  if (strcmp(what, "forks") == 0) forks();
  if (strcmp(what, "inside") == 0) inside();
  if (strcmp(what, "c11") == 0) threads_of_c11(first, second);
  if (strcmp(what, "cancel_c11") == 0) cancel_c11();
  if (strcmp(what, "system_calls") == 0) system_calls();
  if (strcmp(what, "once") == 0) once();
  if (strcmp(what, "idles") == 0) idles();
  if (strcmp(what, "early") == 0) puts(early);
  if (strcmp(what, "hands_over") == 0) hands_over();
  if (strcmp(what, "hands_over_quickly") == 0) hands_over_quickly(first);
  if (strcmp(what, "keeps") == 0) keeps();
  if (strcmp(what, "nested") == 0) nested();
  if (strcmp(what, "files") == 0) files();
  if (strcmp(what, "streams") == 0) streams();
  if (strcmp(what, "endless") == 0) endless(first);
#ifndef WITHOUT_LIBRARIES
  if (strcmp(what, "another_library") == 0) another_library();
  if (strcmp(what, "plugins") == 0) plugins(argv[2]);
  if (strcmp(what, "openmp_plugin") == 0) openmp_plugin(argv[2]);
#endif
  return 0;
}
