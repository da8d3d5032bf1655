// A library that locks what it is given: built twice, under two names.

#include <pthread.h>

void plugin_lock(pthread_mutex_t* mutex);

void plugin_lock(pthread_mutex_t* mutex) {
  pthread_mutex_lock(mutex);
  pthread_mutex_unlock(mutex);
}
