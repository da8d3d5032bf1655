#pragma once
// A worker that says when it waits for work.

#define ATTUNE_OPTIONAL
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "attune/probe.h"
#include "scenario.h"

static inline struct timespec in_a_moment(void) {
  struct timespec end;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_nsec += 5000000;
  end.tv_sec += end.tv_nsec / 1000000000;
  end.tv_nsec %= 1000000000;
  return end;
}

// In each of three ways, and then for something else; nobody ever wakes it.
static inline void idles(void) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  static uint32_t word;
  static sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  struct timespec end = in_a_moment();
  attune_idle_begin();
  printf("idles %s", said(sem_timedwait(&semaphore, &end)));
  pthread_mutex_lock(&lock);
  end = in_a_moment();
  printf(" %d", pthread_cond_timedwait(&condition, &lock, &end));
  pthread_mutex_unlock(&lock);
  const struct timespec short_time = {0, 1000000};
  printf(" %s", said(syscall(SYS_futex, &word, FUTEX_WAIT, 0, &short_time)));
  attune_idle_end();
  end = in_a_moment();
  printf(" %s\n", said(sem_timedwait(&semaphore, &end)));
}
