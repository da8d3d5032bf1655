// Two threads take two locks in different orders, and have both waited for ever since. Says its pid when they are about
// to.

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;

static void* take(void* mutexes) {
  pthread_mutex_t** both = mutexes;
  pthread_mutex_lock(both[0]);
  if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
    printf("%d\n", (int)getpid());
    fflush(stdout);
  }
  pthread_mutex_lock(both[1]);
  return mutexes;
}

int main(void) {
  pthread_mutex_t* up[] = {&first, &second};
  pthread_mutex_t* down[] = {&second, &first};
  pthread_t thread;
  pthread_barrier_init(&barrier, NULL, 2);
  if (pthread_create(&thread, NULL, take, up) != 0) return 1;
  take(down);
  return 0;
}
