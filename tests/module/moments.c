/* A module that is given samples of all kinds: how many of each there were, and their page faults. */
#include <attune/module.h>

enum { kKinds = ATTUNE_SAMPLE_SELF };

static double sums[2 * kKinds];

static int open_it(const struct attune_module_setup* setup, void** state) {
  static const char* const names[2 * kKinds] = {"ticks",         "exits",       "migrations",  "switches",
                                                "self",          "tick-faults", "exit-faults", "migration-faults",
                                                "switch-faults", "self-faults"};
  struct attune_virtual_counter counter = {
      .size = sizeof counter, .scope = ATTUNE_OF_MACHINE, .unit = "1", .description = "a test"};
  int i;
  *state = sums;
  if (setup->add_counter(setup->context, "page-faults") != 0) return -1;
  for (i = 0; i < 2 * kKinds; ++i) {
    counter.name = names[i];
    setup->add_virtual(setup->context, &counter);
  }
  return 0;
}

static void on_migrate(void* state, const struct attune_module_thread* thread, int32_t from_cpu) {
  (void)state, (void)thread, (void)from_cpu;
}

static int on_sample(void* state, const struct attune_module_thread* thread, const struct attune_module_sample* sample,
                     double* values) {
  (void)state, (void)thread, (void)values;
  sums[sample->kind - 1] += 1;
  sums[kKinds + sample->kind - 1] += sample->counts[0];
  return 0;
}

static int refresh(void* state, int64_t t_ns, double* values) {
  int i;
  (void)state, (void)t_ns;
  for (i = 0; i < 2 * kKinds; ++i) values[i] = sums[i];
  return 0;
}

static const struct attune_module module = {.size = sizeof module,
                                            .abi = ATTUNE_MODULE_ABI,
                                            .name = "moments",
                                            .description = "counts samples by kind",
                                            .interval_ns = 20000000,
                                            .open = open_it,
                                            .on_migrate = on_migrate,
                                            .on_sample = on_sample,
                                            .refresh = refresh,
                                            .samples = ATTUNE_SAMPLES_OF_SWITCHES | ATTUNE_SAMPLES_OF_ITSELF};

ATTUNE_MODULE_EXPORT const struct attune_module* attune_module_entry(void) { return &module; }
