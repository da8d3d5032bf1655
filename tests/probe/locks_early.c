// A library that is preloaded behind the probe, and so is set up before it and taken down after it: it locks in both.

#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void lock(void) {
  if (pthread_mutex_lock(&mutex) != 0 || pthread_mutex_unlock(&mutex) != 0) abort();
}

__attribute__((constructor)) static void early(void) { lock(); }
__attribute__((destructor)) static void late(void) { lock(); }
