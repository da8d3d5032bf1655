// Three players compute, each only when it is its turn; the one before wakes all.
// planted: class=serialisation function=end_turn

#include "planted.h"

enum { kPlayers = 3 };
static pthread_mutex_t board_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_changed = PTHREAD_COND_INITIALIZER;
static long turn;

static void wait_for_turn(long player) {
  pthread_mutex_lock(&board_lock);
  while (turn % kPlayers != player) {
    const long long before_ns = now_ns();
    pthread_cond_wait(&turn_changed, &board_lock);
    lost_since(before_ns);
  }
  pthread_mutex_unlock(&board_lock);
}

static void end_turn(void) {
  pthread_mutex_lock(&board_lock);
  ++turn;
  pthread_cond_broadcast(&turn_changed);  // <- cause
  pthread_mutex_unlock(&board_lock);
}

static void* run_player(void* player) {
  for (int i = 0; i < 130; ++i) {
    wait_for_turn((long)player);
    COMPUTE_US(3500);
    end_turn();
  }
  return NULL;
}

int main(void) {
  run_threads(kPlayers, run_player);
  return write_truth();
}
