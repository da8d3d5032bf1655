// An event loop calls poll with a time limit of 0 though it has nothing else to do.
// planted: class=busy-wait function=next_event

#include <poll.h>

#include "planted.h"

static int ends[2];

static int next_event(void) {
  struct pollfd event = {.fd = ends[0], .events = POLLIN};
  char byte = 0;
  const long long before_ns = cpu_ns();
  while (poll(&event, 1, 0) == 0) {  // <- cause
  }  // <- cause
  lost(cpu_ns() - before_ns);
  return read(ends[0], &byte, 1) == 1 && byte == 'x';
}

static void* run_source(void* nothing) {
  for (int i = 0; i < 60; ++i) {
    COMPUTE_US(20000);
    if (write(ends[1], "x", 1) != 1) exit(1);
  }
  return nothing;
}

int main(void) {
  pthread_t source;
  if (pipe(ends) != 0 || pthread_create(&source, NULL, run_source, NULL) != 0) return 1;
  for (int i = 0; i < 60; ++i) {
    if (!next_event()) return 1;
  }
  pthread_join(source, NULL);
  return write_truth();
}
