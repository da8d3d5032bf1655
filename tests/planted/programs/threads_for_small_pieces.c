// Every small piece gets two new threads, which are joined before the next piece.
// planted: class=short-threads function=start_piece|process_pieces tolerance=none

#include "planted.h"

static void* process_half(void* nothing) {
  COMPUTE_US(15);
  return nothing;
}

static void start_piece(pthread_t* thread) {
  if (pthread_create(thread, NULL, process_half, NULL) != 0) exit(1);  // <- cause
}

static void process_pieces(int pieces) {
  for (int i = 0; i < pieces; ++i) {
    pthread_t halves[2];
    start_piece(&halves[0]);        // <- cause
    start_piece(&halves[1]);        // <- cause
    pthread_join(halves[0], NULL);  // <- cause
    pthread_join(halves[1], NULL);  // <- cause
  }
}

int main(void) {
  process_pieces(12000);
  return write_truth();
}
