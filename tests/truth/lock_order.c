// Two threads that take two locks in opposite orders, one after the other: they might hang, and never do here.
// Usage: lock_order cycle|three|consistent|alone|try|gate|readers|recursive
// Only `cycle` and `three` are of that kind; the others look like it.

#include "truth.h"

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER,
                       third = PTHREAD_MUTEX_INITIALIZER, gate = PTHREAD_MUTEX_INITIALIZER, recursive;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER, index_of_table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static const char* kind;
enum { kTimes = 200 };

static int is(const char* name) { return strcmp(kind, name) == 0; }

static void in_order(void) {
  pthread_mutex_lock(&first);
  pthread_mutex_lock(&second);
  pthread_mutex_unlock(&second);
  pthread_mutex_unlock(&first);
}

static void against_it(void) {
  pthread_mutex_lock(&second);
  pthread_mutex_lock(&first);  // the planted line
  pthread_mutex_unlock(&first);
  pthread_mutex_unlock(&second);
}

// Three threads, each of which takes two of three locks.
static void one_further(long number) {
  pthread_mutex_t* const locks[] = {&first, &second, &third};
  pthread_mutex_lock(locks[number]);
  pthread_mutex_lock(locks[(number + 1) % 3]);  // the planted line of three
  pthread_mutex_unlock(locks[(number + 1) % 3]);
  pthread_mutex_unlock(locks[number]);
}

// Not to be had, it is left.
static void try_against_it(void) {
  pthread_mutex_lock(&second);
  if (pthread_mutex_trylock(&first) == 0) pthread_mutex_unlock(&first);
  pthread_mutex_unlock(&second);
}

// Whoever wants both has a third lock meanwhile.
static void behind_a_gate(void (*take)(void)) {
  pthread_mutex_lock(&gate);
  take();
  pthread_mutex_unlock(&gate);
}

// Those who only read do not wait for each other.
static void read_both(pthread_rwlock_t* outer, pthread_rwlock_t* inner) {
  pthread_rwlock_rdlock(outer);
  pthread_rwlock_rdlock(inner);
  pthread_rwlock_unlock(inner);
  pthread_rwlock_unlock(outer);
}

// Who has a lock already does not wait for it.
static void once_more(void) {
  pthread_mutex_lock(&recursive);
  pthread_mutex_lock(&second);
  pthread_mutex_lock(&recursive);
  pthread_mutex_unlock(&recursive);
  pthread_mutex_unlock(&second);
  pthread_mutex_unlock(&recursive);
}

static void take_both(long number) {
  if (is("three")) {
    one_further(number);
  } else if (is("readers")) {
    number == 0 ? read_both(&table, &index_of_table) : read_both(&index_of_table, &table);
  } else if (is("recursive")) {
    once_more();
  } else if (is("gate")) {
    behind_a_gate(number == 0 ? in_order : against_it);
  } else if (is("alone")) {
    if (number == 0) in_order();
    if (number == 0) against_it();
  } else if (number == 0 || is("consistent")) {
    in_order();
  } else if (number == 1) {
    is("try") ? try_against_it() : against_it();
  }
}

// One thread after the other.
static void* run(void* number) {
  for (long turn = 0; turn < 3; ++turn) {
    for (int i = 0; turn == (long)number && i < kTimes; ++i) take_both(turn);
    pthread_barrier_wait(&barrier);
  }
  return NULL;
}

int main(int argc, char** argv) {
  kind = argc > 1 ? argv[1] : "cycle";
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&recursive, &attributes);
  pthread_barrier_init(&barrier, NULL, 3);
  run_threads(3, run);
  return print_truth();
}
