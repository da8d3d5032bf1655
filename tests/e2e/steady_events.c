/* Emits numbered instants at a steady pace and says, outside of attune, how many it has committed so far.
 *
 *   steady_events COUNTER_FILE SECONDS
 *
 * The counter is an int64 in COUNTER_FILE: it is raised after the event of that number is in the ring, so that a killed
 * program leaves behind how many events the recording must hold. Prints "done N" and exits with 0. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "attune/probe.h"

static double Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
  if (fd < 0 || ftruncate(fd, sizeof(int64_t)) != 0) return 1;
  volatile int64_t* committed = mmap(NULL, sizeof *committed, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (committed == MAP_FAILED) return 1;
  const double end = Now() + atof(argv[2]);
  int64_t number = 0;
  while (Now() < end) {
    /* Bursts with pauses: far from filling a ring between two reads, often in the middle of one when a kill comes. */
    for (int i = 0; i < 50; ++i) {
      ATTUNE_INSTANT_VALUE("number", ++number);
      *committed = number;
    }
    const struct timespec pause = {0, 2000000};
    nanosleep(&pause, NULL);
  }
  printf("done %lld\n", (long long)number);
  return 0;
}
