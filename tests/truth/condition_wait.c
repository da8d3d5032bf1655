// One thread makes pieces of work, and needs four times as long for each as those who take them: they wait for it.

#include "truth.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;
static int pieces;
static int is_done;
enum { kConsumers = 3, kPieces = 600, kMakeUs = 2000, kTakeUs = 500 };

static void produce(void) {
  for (int i = 0; i < kPieces; ++i) {
    work_us(kMakeUs);
    pthread_mutex_lock(&mutex);
    ++pieces;
    pthread_cond_signal(&not_empty);  // the planted line
    pthread_mutex_unlock(&mutex);
  }
  pthread_mutex_lock(&mutex);
  is_done = 1;
  pthread_cond_broadcast(&not_empty);
  pthread_mutex_unlock(&mutex);
}

static void consume(void) {
  for (;;) {
    pthread_mutex_lock(&mutex);
    while (pieces == 0 && !is_done) {
      const long long before_ns = now_ns();
      pthread_cond_wait(&not_empty, &mutex);
      lost_since(before_ns);
    }
    const int is_end = pieces == 0;
    if (!is_end) --pieces;
    pthread_mutex_unlock(&mutex);
    if (is_end) return;
    work_us(kTakeUs);
  }
}

static void* run(void* number) {
  if ((long)number == 0) {
    produce();
  } else {
    consume();
  }
  return NULL;
}

int main(void) {
  run_threads(1 + kConsumers, run);
  return print_truth();
}
