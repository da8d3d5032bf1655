// A background thread reads commands from a pipe that nobody writes to; the main thread computes.
// planted: class=none

#include "planted.h"

static int ends[2];

static void* read_commands(void* nothing) {
  char command[64];
  while (read(ends[0], command, sizeof command) > 0) {
  }
  return nothing;
}

int main(void) {
  pthread_t reader;
  if (pipe(ends) != 0 || pthread_create(&reader, NULL, read_commands, NULL) != 0) return 1;
  COMPUTE_US(1200000);
  close(ends[1]);
  pthread_join(reader, NULL);
  return 0;
}
