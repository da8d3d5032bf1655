// A library that a user preloads: it wants to see each call that locks or unlocks, and ends a program that unlocks more
// than it has locked. At the end it says how often was locked.

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

static int locked, locks, downs;

int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static int (*real)(pthread_mutex_t*);
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "pthread_mutex_lock");
  const int result = real(mutex);
  __atomic_add_fetch(&locked, 1, __ATOMIC_SEQ_CST);
  __atomic_add_fetch(&locks, 1, __ATOMIC_SEQ_CST);
  return result;
}

int pthread_mutex_unlock(pthread_mutex_t* mutex) {
  static int (*real)(pthread_mutex_t*);
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
  if (__atomic_sub_fetch(&locked, 1, __ATOMIC_SEQ_CST) < 0) abort();
  return real(mutex);
}

int sem_wait(sem_t* semaphore) {
  static int (*real)(sem_t*);
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "sem_wait");
  __atomic_add_fetch(&downs, 1, __ATOMIC_SEQ_CST);
  return real(semaphore);
}

__attribute__((destructor)) static void say(void) { fprintf(stderr, "%d locks, %d downs\n", locks, downs); }
