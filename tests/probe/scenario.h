#pragma once
// What programs that know nothing of attune share: saying what calls answered, and meeting a thread in its sleep.

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static inline const char* name_of(int error) { return error == 0 ? "0" : strerrorname_np(error); }

/// What a call that reports by errno answered. Valid until the next call, of any thread.
static inline const char* said(long result) {
  static char text[64];
  snprintf(text, sizeof text, "%ld %s", result, result < 0 ? name_of(errno) : "-");
  return text;
}

static pid_t sleeper;  // the thread that is about to sleep; 0: none

static inline void about_to_sleep(void) { __atomic_store_n(&sleeper, gettid(), __ATOMIC_RELEASE); }

/// Until that thread sleeps, for which there is but one place in it, and has done so for long on every clock.
static inline void wait_until_asleep(void) {
  pid_t tid;
  while ((tid = __atomic_load_n(&sleeper, __ATOMIC_ACQUIRE)) == 0) sched_yield();
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
  for (char state = 0; state != 'S';) {
    FILE* file = fopen(path, "r");
    if (file == NULL || fscanf(file, "%*d (%*[^)]) %c", &state) != 1) exit(4);
    fclose(file);
  }
  usleep(1000);
  __atomic_store_n(&sleeper, 0, __ATOMIC_RELEASE);
}
