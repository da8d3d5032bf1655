// A master deals out pieces to two workers that are always busy; the master waits most of its time, as it should.
// planted: class=none

#include "planted.h"

enum { kPieces = 240, kRoom = 8 };
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_piece = PTHREAD_COND_INITIALIZER, has_room = PTHREAD_COND_INITIALIZER;
static int pieces, is_end;

static void put_piece(void) {
  pthread_mutex_lock(&queue_lock);
  while (pieces == kRoom) pthread_cond_wait(&has_room, &queue_lock);
  ++pieces;
  pthread_cond_signal(&has_piece);
  pthread_mutex_unlock(&queue_lock);
}

static int take_piece(void) {
  pthread_mutex_lock(&queue_lock);
  while (pieces == 0 && !is_end) pthread_cond_wait(&has_piece, &queue_lock);
  const int has = pieces > 0;
  pieces -= has;
  pthread_cond_signal(&has_room);
  pthread_mutex_unlock(&queue_lock);
  return has;
}

static void* run_worker(void* nothing) {
  while (take_piece()) COMPUTE_US(10000);
  return nothing;
}

int main(void) {
  pthread_t workers[2];
  for (int i = 0; i < 2; ++i) {
    if (pthread_create(&workers[i], NULL, run_worker, NULL) != 0) return 1;
  }
  for (int i = 0; i < kPieces; ++i) put_piece();
  pthread_mutex_lock(&queue_lock);
  is_end = 1;
  pthread_cond_broadcast(&has_piece);
  pthread_mutex_unlock(&queue_lock);
  for (int i = 0; i < 2; ++i) pthread_join(workers[i], NULL);
  return 0;
}
