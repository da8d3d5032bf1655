// The cases that read: calls of which the probe has to know whether they took long.

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "sync_target.h"

static int g_file = -1;

// A regular file, of which all is in the page cache.
static void OpenFile(const SyncSetup* setup) {
  char name[] = "/tmp/attune-bench-XXXXXX";
  g_file = mkstemp(name);
  if (g_file < 0) Fail("no file in /tmp");
  unlink(name);
  if (write(g_file, "x", 1) != 1) Fail("cannot write to the file");
  StartIdleThread(setup);
}

static void ReadFile(uint64_t operations) {
  char byte;
  for (uint64_t i = 0; i < operations; ++i) {
    if (pread(g_file, &byte, 1, 0) != 1) Fail("cannot read the file");
  }
}

// One that gives one each time, for longer than it is asked.
static void OpenEvents(const SyncSetup* setup) {
  g_file = eventfd(4000000000u, EFD_SEMAPHORE);
  if (g_file < 0) Fail("no eventfd");
  StartIdleThread(setup);
}

static void ReadEvent(uint64_t operations) {
  uint64_t event;
  for (uint64_t i = 0; i < operations; ++i) {
    if (read(g_file, &event, sizeof event) != sizeof event) Fail("cannot read the eventfd");
  }
}

const SyncCase kFileCases[] = {
    {"pread", OpenFile, ReadFile},
    {"eventfd", OpenEvents, ReadEvent},
    {NULL, NULL, NULL},
};
