/* A module that does what its argument says: works, crashes, hangs, lies. */
#include <attune/module.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kVirtuals = 16 };
enum { kForks = kVirtuals, kExecs, kExits, kFrees, kMigrations, kSwitches, kTicks, kAll };

static const char* const kMachineNames[] = {"forks", "execs", "exits", "frees", "migrations", "switches", "ticks"};

struct bad {
  char argument[32];
  char setting[32];
  double counts[kAll];
};

static int is(const struct bad* bad, const char* what) { return strcmp(bad->argument, what) == 0; }
static void hang(void) {
  for (;;) pause();
}

static int bad_open(const struct attune_module_setup* setup, void** state) {
  struct bad* bad = calloc(1, sizeof *bad);
  struct attune_virtual_counter counter = {.size = sizeof counter, .unit = "1", .description = "a test"};
  char name[32];
  int i;
  *state = bad;
  snprintf(bad->argument, sizeof bad->argument, "%s", setup->argument);
  if (is(bad, "crash-open")) abort();
  if (is(bad, "hang-open")) hang();
  if (is(bad, "fail-open")) {
    setup->fail(setup->context, "there is none of it here");
    return -1;
  }
  setup->add_counter(setup->context, "no-such-event|page-faults");
  counter.scope = ATTUNE_OF_THREAD;
  for (i = 0; i < kVirtuals; ++i) {
    snprintf(name, sizeof name, is(bad, "wrong-name") ? "a b%d" : "value%d", i);
    counter.name = name;
    counter.metric = i == 1 ? ATTUNE_METRIC_IPC : ATTUNE_METRIC_NONE;
    setup->add_virtual(setup->context, &counter);
  }
  counter.scope = ATTUNE_OF_MACHINE;
  counter.metric = ATTUNE_METRIC_NONE;
  for (i = kForks; i < kAll; ++i) {
    counter.name = kMachineNames[i - kForks];
    setup->add_virtual(setup->context, &counter);
  }
  return 0;
}

static int bad_enable(void* state) { return is(state, "fail-enable") ? -1 : 0; }

static int bad_configure(void* state, const char* key, const char* value) {
  struct bad* bad = state;
  if (strcmp(key, "crash") == 0) raise(SIGSEGV);
  if (strcmp(key, "setting") != 0) return -1;
  snprintf(bad->setting, sizeof bad->setting, "%s", value);
  return 0;
}

static int bad_read(void* state, const char* key, char* text, uint32_t bytes) {
  struct bad* bad = state;
  if (key[0] != '\0' && strcmp(key, "setting") != 0) return -1;
  snprintf(text, bytes, key[0] == '\0' ? "setting=%s\n" : "%s", bad->setting);
  return 0;
}

#define COUNT(name, which)                                                   \
  static void name(void* state, const struct attune_module_thread* thread) { \
    (void)thread;                                                            \
    ++((struct bad*)state)->counts[which];                                   \
  }
COUNT(on_fork, kForks)
COUNT(on_exec, kExecs)
COUNT(on_end, kExits)
COUNT(on_free, kFrees)
COUNT(on_switch, kSwitches)
static void on_migrate(void* state, const struct attune_module_thread* thread, int32_t from_cpu) {
  if (from_cpu != thread->cpu) ++((struct bad*)state)->counts[kMigrations];
}

static int bad_sample(void* state, const struct attune_module_thread* thread, const struct attune_module_sample* sample,
                      double* values) {
  const struct bad* bad = state;
  int i;
  if (is(bad, "crash-sample")) raise(SIGSEGV);
  if (is(bad, "hang-sample")) hang();
  if (is(bad, "lie")) {
    values[0] = INFINITY;
    values[1] = 1e300;
    values[kForks] = 3; /* a value of the machine, said of a thread */
    return 0;
  }
  for (i = 0; i < kVirtuals; ++i) values[i] = i + sample->counts[0];
  values[2] = thread->core_type;
  return 0;
}

static void on_tick(void* state, int64_t t_ns) {
  (void)t_ns;
  ++((struct bad*)state)->counts[kTicks];
}

static int refresh(void* state, int64_t t_ns, double* values) {
  struct bad* bad = state;
  int i;
  (void)t_ns;
  for (i = kForks; i < kAll; ++i) values[i] = bad->counts[i];
  return 0;
}

static int metric(void* state, int32_t tid, int32_t key, double* value) {
  (void)state, (void)key;
  *value = tid + 0.5;
  return tid == 1 ? -1 : 0;
}

static int dump(void* state, int32_t cpu, char* text, uint32_t bytes) {
  (void)state;
  snprintf(text, bytes, "cpu %d\nknows nothing\n", cpu);
  return 0;
}

static void bad_close(void* state) {
  if (is(state, "hang-close")) hang();
  free(state);
}

/* A build with MIGRATIONS_ALONE is told of nothing else that happens. */
#ifdef MIGRATIONS_ALONE
#define OTHER(callback) (0 ? (callback) : NULL)
#else
#define OTHER(callback) callback
#endif

static const struct attune_module module = {.size = sizeof module,
                                            .abi = ATTUNE_MODULE_ABI,
                                            .name = BAD_MODULE_NAME,
                                            .description = "does what its argument says",
                                            .interval_ns = 20000000,
                                            .open = bad_open,
                                            .enable = bad_enable,
                                            .configure = bad_configure,
                                            .read_configuration = bad_read,
                                            .on_fork = OTHER(on_fork),
                                            .on_exec = OTHER(on_exec),
                                            .on_exit = OTHER(on_end),
                                            .on_free = OTHER(on_free),
                                            .on_migrate = on_migrate,
                                            .on_switch_in = OTHER(on_switch),
                                            .on_switch_out = OTHER(on_switch),
                                            .on_sample = bad_sample,
                                            .on_tick = on_tick,
                                            .metric = metric,
                                            .refresh = refresh,
                                            .dump = dump,
                                            .close = bad_close};

ATTUNE_MODULE_EXPORT const struct attune_module* attune_module_entry(void) { return &module; }
