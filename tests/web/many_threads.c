// 64 threads that wait for each other in the ways that programs do: a queue of jobs, a table that two of them hold for
// long, and a team that meets at a barrier, where one is late. What they work on is time that passes, so that it runs
// alike on any number of CPUs. Usage: many_threads SECONDS

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kReaders = 6, kWorkers = 45, kFlushers = 2, kTeam = 10, kQueueJobs = 128 };

static atomic_bool stopping;

static void rest_us(long us) {
  struct timespec pause = {us / 1000000, us % 1000000 * 1000};
  while (nanosleep(&pause, &pause) != 0 && errno == EINTR) {
  }
}

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_has_jobs = PTHREAD_COND_INITIALIZER;
static int jobs;

static void put_job(void) {
  pthread_mutex_lock(&queue_lock);
  if (jobs < kQueueJobs) ++jobs;
  pthread_cond_signal(&queue_has_jobs);
  pthread_mutex_unlock(&queue_lock);
}

static int take_job(void) {
  pthread_mutex_lock(&queue_lock);
  while (jobs == 0 && !stopping) pthread_cond_wait(&queue_has_jobs, &queue_lock);
  const int got_one = jobs > 0;
  if (got_one) --jobs;
  pthread_mutex_unlock(&queue_lock);
  return got_one;
}

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static long results;

static void add_result(void) {
  pthread_mutex_lock(&table_lock);
  ++results;
  pthread_mutex_unlock(&table_lock);
}

static void flush_table(void) {
  pthread_mutex_lock(&table_lock);
  rest_us(6000);
  results = 0;
  pthread_mutex_unlock(&table_lock);
}

static pthread_barrier_t step_end;
static atomic_bool team_stops;

static void* read_input(void* number) {
  while (!stopping) {
    rest_us(900 + 70 * (long)number);
    put_job();
  }
  return NULL;
}

static void* work(void* number) {
  while (take_job()) {
    rest_us(3000 + 40 * (long)number);
    add_result();
  }
  return NULL;
}

static void* flush(void* number) {
  while (!stopping) {
    rest_us(9000 + 5000 * (long)number);
    flush_table();
  }
  return NULL;
}

static void* step(void* number) {
  while (!team_stops) {
    rest_us((long)number == 3 ? 18000 : 7000 + 300 * (long)number);
    pthread_barrier_wait(&step_end);
    // All of them see the same: the end is decided between two steps.
    if (number == NULL && stopping) team_stops = 1;
    pthread_barrier_wait(&step_end);
  }
  return NULL;
}

static void start(pthread_t* threads, int count, void* (*function)(void*), const char* name) {
  for (long i = 0; i < count; ++i) {
    if (pthread_create(&threads[i], NULL, function, (void*)i) != 0) exit(1);
    char text[32];
    snprintf(text, sizeof text, "%s %ld", name, i + 1);
    pthread_setname_np(threads[i], text);
  }
}

int main(int argc, char** argv) {
  const long seconds = argc > 1 ? atol(argv[1]) : 10;
  pthread_t readers[kReaders], workers[kWorkers], flushers[kFlushers], team[kTeam];
  pthread_barrier_init(&step_end, NULL, kTeam);
  start(readers, kReaders, read_input, "reader");
  start(workers, kWorkers, work, "worker");
  start(flushers, kFlushers, flush, "flusher");
  start(team, kTeam, step, "team");
  rest_us(seconds * 1000000);
  stopping = 1;
  pthread_mutex_lock(&queue_lock);
  pthread_cond_broadcast(&queue_has_jobs);
  pthread_mutex_unlock(&queue_lock);
  for (int i = 0; i < kReaders; ++i) pthread_join(readers[i], NULL);
  for (int i = 0; i < kWorkers; ++i) pthread_join(workers[i], NULL);
  for (int i = 0; i < kFlushers; ++i) pthread_join(flushers[i], NULL);
  for (int i = 0; i < kTeam; ++i) pthread_join(team[i], NULL);
  return 0;
}
