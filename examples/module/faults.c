/* A monitoring module for attune, as a template: page faults of each thread for a second of its CPU time.
 *
 *   cc -O2 -shared -fPIC -fvisibility=hidden faults.c -o faults.so
 *   attune run --module ./faults.so -- ./solver
 *
 * (add -I with the folder of attune/module.h where that is not in /usr/include). docs/modules.md says more. */
#include <attune/module.h>
#include <stddef.h>

/* Looks whether it can work here, and says what it needs and makes. */
static int faults_open(const struct attune_module_setup* setup, void** state) {
  const struct attune_virtual_counter rate = {sizeof rate,  ATTUNE_OF_THREAD, ATTUNE_METRIC_NONE,
                                              "fault-rate", "faults/s",       "page faults a second of CPU time"};
  (void)state;
  return setup->add_counter(setup->context, "page-faults") == 0 && setup->add_virtual(setup->context, &rate) == 0 ? 0
                                                                                                                  : -1;
}

/* counts[] and values[] are in the order of these calls. */
static int faults_sample(void* state, const struct attune_module_thread* thread,
                         const struct attune_module_sample* sample, double* values) {
  (void)state, (void)thread;
  if (sample->cpu_ns <= 0) return -1;
  values[0] = sample->counts[0] * 1e9 / (double)sample->cpu_ns;
  return 0;
}

static const struct attune_module faults = {.size = sizeof faults,
                                            .abi = ATTUNE_MODULE_ABI,
                                            .name = "faults",
                                            .description = "page faults of each thread",
                                            .open = faults_open,
                                            .on_sample = faults_sample};

ATTUNE_MODULE_EXPORT const struct attune_module* attune_module_entry(void) { return &faults; }
