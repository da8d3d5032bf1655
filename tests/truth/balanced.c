// Programs that are as they should be: nothing is to be found in them.
// Usage: balanced sum|forkjoin|queue|pipeline|pool|idlepool|readers|single|sleepers

#include "truth.h"

enum { kThreads = 2 };

// Each thread adds up its half.
static double results[kThreads][16];
static void* sum(void* number) {
  double result = 0;
  for (long i = (long)number; i < 300000000; i += kThreads) result += (double)i;
  results[(long)number][0] = result;
  return NULL;
}

// Even work between barriers.
static pthread_barrier_t barrier;
static void* fork_join(void* nothing) {
  for (int round = 0; round < 20; ++round) {
    work_us(30000);
    pthread_barrier_wait(&barrier);
  }
  return nothing;
}

// A queue with room for many: `kStages` threads, each hands on to the next one.
enum { kRoom = 64, kItems = 4000, kStages = 2, kItemUs = 100 };
struct Queue {
  pthread_mutex_t mutex;
  pthread_cond_t not_empty, not_full;
  int count;
};
static struct Queue queues[kStages];

static void put(struct Queue* queue) {
  pthread_mutex_lock(&queue->mutex);
  while (queue->count == kRoom) pthread_cond_wait(&queue->not_full, &queue->mutex);
  ++queue->count;
  pthread_cond_signal(&queue->not_empty);
  pthread_mutex_unlock(&queue->mutex);
}

static void take(struct Queue* queue) {
  pthread_mutex_lock(&queue->mutex);
  while (queue->count == 0) pthread_cond_wait(&queue->not_empty, &queue->mutex);
  --queue->count;
  pthread_cond_signal(&queue->not_full);
  pthread_mutex_unlock(&queue->mutex);
}

static int stages;
static void* stage(void* number) {
  const long i = (long)number;
  for (int item = 0; item < kItems; ++item) {
    if (i > 0) take(&queues[i - 1]);
    work_us(kItemUs);
    if (i + 1 < stages) put(&queues[i]);
  }
  return NULL;
}

// Workers that take their work from a counter under a lock.
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int next_task;
enum { kIdleWorkers = 3, kIdleTasks = 250 };
static void* worker(void* nothing) {
  for (;;) {
    pthread_mutex_lock(&mutex);
    const int task = next_task++;
    pthread_mutex_unlock(&mutex);
    if (task >= 2500) return nothing;
    work_us(400);
  }
}

// Workers that wait for work most of the time, as there is little: the one who hands it out waits for it itself.
static void* idle_worker(void* nothing) {
  for (;;) {
    take(&queues[0]);
    pthread_mutex_lock(&mutex);
    const int task = next_task++;
    pthread_mutex_unlock(&mutex);
    if (task >= kIdleTasks) return nothing;
    work_us(1000);
  }
}

static void* hand_out(void* nothing) {
  for (int i = 0; i < kIdleTasks + kIdleWorkers; ++i) {
    put(&queues[0]);
    rest_us(4000);
  }
  return nothing;
}

static void* worker_or_master(void* number) { return (long)number == 0 ? hand_out(NULL) : idle_worker(NULL); }

// What is read all the time and written now and then.
static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static long table;
static void* reader(void* number) {
  long sum = 0;
  for (int i = 0; i < 2000; ++i) {
    pthread_rwlock_rdlock(&table_lock);
    sum += table;
    pthread_rwlock_unlock(&table_lock);
    work_us(200);
    if (i % 100 != 0) continue;
    pthread_rwlock_wrlock(&table_lock);
    table += (long)number;
    pthread_rwlock_unlock(&table_lock);
  }
  results[(long)number][0] = (double)sum;
  return NULL;
}

// They sleep on purpose, one by the clock, one by a condition that nobody signals.
static void* sleeper(void* number) {
  for (int i = 0; i < 20; ++i) {
    if ((long)number == 0) {
      rest_us(25000);
      continue;
    }
    static pthread_mutex_t alone = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 25000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&alone);
    pthread_cond_timedwait(&never, &alone, &until);
    pthread_mutex_unlock(&alone);
  }
  return NULL;
}

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "";
  pthread_barrier_init(&barrier, NULL, kThreads);
  for (int i = 0; i < kStages; ++i) {
    pthread_mutex_init(&queues[i].mutex, NULL);
    pthread_cond_init(&queues[i].not_empty, NULL);
    pthread_cond_init(&queues[i].not_full, NULL);
  }
  if (strcmp(name, "sum") == 0)
    run_threads(kThreads, sum);
  else if (strcmp(name, "forkjoin") == 0)
    run_threads(kThreads, fork_join);
  else if (strcmp(name, "queue") == 0)
    run_threads(stages = 2, stage);
  else if (strcmp(name, "pipeline") == 0)
    run_threads(stages = 3, stage);
  else if (strcmp(name, "pool") == 0)
    run_threads(kThreads, worker);
  else if (strcmp(name, "idlepool") == 0)
    run_threads(1 + kIdleWorkers, worker_or_master);
  else if (strcmp(name, "readers") == 0)
    run_threads(kThreads, reader);
  else if (strcmp(name, "single") == 0)
    work_us(500000);
  else if (strcmp(name, "sleepers") == 0)
    run_threads(kThreads, sleeper);
  else
    return 1;
  return print_truth();
}
