/* A plug-in that does what its argument says: "crash", "hang", "exit", "crash-in-open", "hang-in-open", "scribble",
 * "gone", "bad-signal", "refuse", "changes", "waits=FILE" (its open() waits until there is that file), "lists=FILE"
 * (its open() adds its process to that file, and waits). It behaves for some samples first where it can. */

#include <attune/plugin.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char* mode;
static int samples;

static void hang(void) {
  for (;;) pause();
}

static int add(const struct attune_sensor_setup* setup, const char* name) {
  struct attune_signal signal = {.size = sizeof signal};
  signal.kind = ATTUNE_GAUGE;
  signal.name = name;
  signal.unit = "1";
  signal.description = "counts samples";
  return setup->add_signal(setup->context, &signal);
}

static int bad_open(const struct attune_sensor_setup* setup, void** state) {
  (void)state;
  mode = strdup(setup->argument);
  if (strcmp(mode, "crash-in-open") == 0) raise(SIGSEGV);
  if (strcmp(mode, "hang-in-open") == 0) hang();
  if (strncmp(mode, "waits=", 6) == 0) {
    const struct timespec pause = {0, 1000000};
    while (access(mode + 6, F_OK) != 0) nanosleep(&pause, 0);
  }
  if (strncmp(mode, "lists=", 6) == 0) {
    dprintf(open(mode + 6, O_CREAT | O_APPEND | O_WRONLY, 0600), "%d\n", (int)getpid());
    hang();
  }
  if (strcmp(mode, "refuse") == 0) {
    setup->fail(setup->context, "no card of ours in this machine");
    return -1;
  }
  if (strcmp(mode, "bad-signal") == 0) return add(setup, "has spaces");
  /* A file tells whether this is the first process. */
  if (strncmp(mode, "changes=", 8) == 0) {
    const int first = open(mode + 8, O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0;
    return add(setup, first ? "before" : "after");
  }
  return add(setup, "samples");
}

static int bad_sample(void* state, int64_t* values, uint32_t count) {
  (void)state;
  ++samples;
  values[0] = samples;
  if (samples <= 5) return 0;
  if (strcmp(mode, "crash") == 0 || strncmp(mode, "changes=", 8) == 0) raise(SIGSEGV);
  if (strcmp(mode, "hang") == 0) hang();
  if (strcmp(mode, "exit") == 0) exit(3);
  if (strcmp(mode, "gone") == 0) return samples % 2 == 0 ? -1 : 0;
  if (strcmp(mode, "scribble") == 0) memset((char*)values - 16, samples, 16 + 8 * (size_t)count);
  return 0;
}

static const struct attune_sensor_plugin plugin = {
    sizeof plugin, ATTUNE_PLUGIN_ABI, "bad_plugin", "misbehaves", "nothing", 0, 1000000, bad_open, bad_sample, 0};

ATTUNE_PLUGIN_EXPORT const struct attune_sensor_plugin* attune_plugin_sensor(void) { return &plugin; }
