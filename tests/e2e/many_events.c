/* Emits instants at a rate. many_events SECONDS EVENTS_A_SECOND: prints how many. */
#include <attune/probe.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const double begin = Now(), seconds = atof(argv[1]), rate = atof(argv[2]);
  long long emitted = 0;
  for (double now = 0; now < seconds; now = Now() - begin) {
    for (const double due = now * rate; (double)emitted < due;) {
      ATTUNE_INSTANT("event");
      ++emitted;
    }
    const struct timespec pause = {0, 200000};
    nanosleep(&pause, NULL);
  }
  printf("%lld events\n", emitted);
  return 0;
}
