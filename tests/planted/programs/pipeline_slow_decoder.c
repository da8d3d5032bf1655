// A decoder feeds three filters by a queue, and needs longer for a frame than all of them together.
// planted: class=condition-wait function=decode_frames

#include "planted.h"

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_frame = PTHREAD_COND_INITIALIZER;
static int frames, is_end;

static void decode_frames(int count) {
  for (int i = 0; i < count; ++i) {
    COMPUTE_US(4000);
    pthread_mutex_lock(&queue_lock);
    ++frames;
    pthread_cond_signal(&has_frame);  // <- cause
    pthread_mutex_unlock(&queue_lock);
  }
  pthread_mutex_lock(&queue_lock);
  is_end = 1;
  pthread_cond_broadcast(&has_frame);
  pthread_mutex_unlock(&queue_lock);
}

static int take_frame(void) {
  pthread_mutex_lock(&queue_lock);
  while (frames == 0 && !is_end) {
    const long long before_ns = now_ns();
    pthread_cond_wait(&has_frame, &queue_lock);
    lost_since(before_ns);
  }
  const int has = frames > 0;
  frames -= has;
  pthread_mutex_unlock(&queue_lock);
  return has;
}

static void filter_frames(void) {
  while (take_frame()) COMPUTE_US(1000);
}

static void* run_stage(void* number) {
  if ((long)number == 0) {
    decode_frames(300);
  } else {
    filter_frames();
  }
  return NULL;
}

int main(void) {
  run_threads(4, run_stage);
  return write_truth();
}
