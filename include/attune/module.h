/// The interface of monitoring modules: they turn what threads counted into virtual counters, for people, alarms and
/// schedulers (docs/modules.md). C11, and C++11 or later. Modules that attune ships use the same interface.
///
/// A module defines one function, which returns its description:
///
///   #include <attune/module.h>
///   ATTUNE_MODULE_EXPORT const struct attune_module* attune_module_entry(void) { return &mine; }
///
/// **Process.** Each module runs in a process of its own (`attune plugin-host --module`). One that crashes or does not
/// answer is ended and started again a few times; the observed program and everything else go on.
///
/// **Threads.** All functions are called by one thread, one after the other, each within a second.
///
/// **Time.** Notifications come in batches, at most 100 ms after what they tell of, in its order for each thread.
///
/// **Pointers** in arguments are valid during the call only. The description and the texts in it must not change.
///
/// **Versions.** Every struct begins with its own size, so that members can be added at its end. `abi` is
/// ATTUNE_MODULE_ABI; attune refuses modules with another value while that is 0.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ATTUNE_MODULE_ABI 0
#define ATTUNE_MODULE_EXPORT __attribute__((visibility("default")))

enum attune_module_limits {
  ATTUNE_MODULE_COUNTERS = 16, /* most counters that a module can ask for */
  ATTUNE_MODULE_VIRTUALS = 64, /* most virtual counters of a module */
  ATTUNE_MODULE_CORE_TYPES = 4
};

/// Metrics that schedulers ask for by number, whichever module has them.
enum attune_metric_key {
  ATTUNE_METRIC_NONE = 0,
  ATTUNE_METRIC_SPEEDUP_FACTOR = 1, /* speed on the most capable cores / speed on the least capable ones */
  ATTUNE_METRIC_IPC = 2,            /* instructions a cycle */
  ATTUNE_METRIC_LLC_MPKI = 3,       /* misses of the last cache, of 1000 instructions */
  ATTUNE_METRIC_LLC_RPKI = 4,       /* requests to the last cache, of 1000 instructions */
  ATTUNE_METRIC_ENERGY = 5,         /* joules */
  ATTUNE_METRIC_POWER = 6           /* watts */
};

enum attune_virtual_scope {
  ATTUNE_OF_THREAD = 1, /* a value with each sample of a thread */
  ATTUNE_OF_MACHINE = 2 /* a value with each refresh() */
};

struct attune_virtual_counter {
  uint32_t size;           /* sizeof(struct attune_virtual_counter) */
  int32_t scope;           /* enum attune_virtual_scope */
  int32_t metric;          /* enum attune_metric_key */
  const char* name;        /* "ipc": letters, digits, _ and - */
  const char* unit;        /* "W", "bytes", "1" */
  const char* description; /* one line */
};

/// Argument of open().
struct attune_module_setup {
  uint32_t size;
  void* context;                                    /* first argument of the functions below */
  const char* argument;                             /* the user's text after NAME=; "": none */
  const char* root;                                 /* in front of /sys, /proc and /dev; "": this machine's own */
  uint32_t core_types;                              /* kinds of cores, the most capable first; at least 1 */
  uint32_t core_capacity[ATTUNE_MODULE_CORE_TYPES]; /* of 1024 */
  /* Asks for a counter of each thread, by names as `attune counters -e` takes them, of which the first that the machine
     has is counted: "LLC-load-misses|cache-misses". Returns its place in samples, or -1: the machine has none (the
     module may do without), or there are too many. */
  int (*add_counter)(void* context, const char* names);
  /* Returns its place among the values, or -1: it is invalid, or one too many (then open() should fail). */
  int (*add_virtual)(void* context, const struct attune_virtual_counter* counter);
  /* Sets the reason for which open() is about to fail: "this processor tells no energy". */
  void (*fail)(void* context, const char* reason);
};

struct attune_module_thread {
  uint32_t size;
  int32_t pid;
  int32_t tid;
  int32_t cpu;       /* that it is on, or was on last; -1: not known */
  int32_t core_type; /* of that CPU: 0 is the most capable */
  int64_t t_ns;      /* when: CLOCK_MONOTONIC */
  const char* name;
};

enum attune_sample_kind {
  ATTUNE_SAMPLE_TICK = 1,      /* a time has passed; it lives */
  ATTUNE_SAMPLE_EXIT = 2,      /* the thread has ended */
  ATTUNE_SAMPLE_MIGRATION = 3, /* it moved to the CPU of `thread`; the counts are of `core_type_before` */
  ATTUNE_SAMPLE_SWITCH = 4,    /* it left its CPU */
  ATTUNE_SAMPLE_SELF = 5,      /* it took a sample of itself: attune_counters_sample() of attune/counters.h */
};

/// Samples that only a module which asks for them is given: bits of attune_module.samples.
enum attune_wanted_samples { ATTUNE_SAMPLES_OF_SWITCHES = 1, ATTUNE_SAMPLES_OF_ITSELF = 2 };

/// Counts of a thread since its sample before.
struct attune_module_sample {
  uint32_t size;
  int32_t kind;             /* enum attune_sample_kind */
  int64_t interval_ns;      /* time since its sample before, or its start */
  int64_t cpu_ns;           /* for which it ran in it; -1: not known */
  int32_t core_type_before; /* of the core that it ran on */
  uint32_t counters;
  const double* counts; /* [counters], in the order of add_counter(); NaN: not counted */
};

/// Functions may be NULL, except open. An int result is 0, or -1: it failed.
struct attune_module {
  uint32_t size;           /* sizeof(struct attune_module) */
  uint32_t abi;            /* ATTUNE_MODULE_ABI */
  const char* name;        /* must be the file's, without folder and ".so" */
  const char* description; /* one line */
  uint64_t interval_ns;    /* between two ticks; 0: 100 ms */
  /* Looks whether it can work here, and asks for counters. *state is passed to the other functions. */
  int (*open)(const struct attune_module_setup* setup, void** state);
  /* The notifications begin, and end. */
  int (*enable)(void* state);
  void (*disable)(void* state);
  /* Configuration while it runs. */
  int (*configure)(void* state, const char* key, const char* value);
  /* Writes the value of a key, or with "" all as lines KEY=VALUE. */
  int (*read_configuration)(void* state, const char* key, char* text, uint32_t bytes);

  void (*on_fork)(void* state, const struct attune_module_thread* thread); /* it has started */
  void (*on_exec)(void* state, const struct attune_module_thread* thread); /* it is another program now */
  void (*on_exit)(void* state, const struct attune_module_thread* thread);
  void (*on_free)(void* state, const struct attune_module_thread* thread); /* nothing comes of it any more */
  void (*on_migrate)(void* state, const struct attune_module_thread* thread, int32_t from_cpu);
  void (*on_switch_in)(void* state, const struct attune_module_thread* thread);
  void (*on_switch_out)(void* state, const struct attune_module_thread* thread);
  /* @param values [virtual counters of threads and of the machine], all NaN: those that are set are recorded */
  int (*on_sample)(void* state, const struct attune_module_thread* thread, const struct attune_module_sample* sample,
                   double* values);
  void (*on_tick)(void* state, int64_t t_ns);
  /* The present value of a metric (enum attune_metric_key) of a thread. Returns -1: it has none. */
  int (*metric)(void* state, int32_t tid, int32_t key, double* value);

  /* Measurement of the whole machine: begin, end, and at each tick the values as in on_sample(). */
  int (*start)(void* state);
  void (*stop)(void* state);
  int (*refresh)(void* state, int64_t t_ns, double* values);
  /* Text for people of what it knows of a CPU; -1: of all. */
  int (*dump)(void* state, int32_t cpu, char* text, uint32_t bytes);

  void (*close)(void* state);

  uint32_t samples; /* enum attune_wanted_samples, besides those of ticks, ends and migrations */
};

/// The function that a module defines.
ATTUNE_MODULE_EXPORT const struct attune_module* attune_module_entry(void);

#ifdef __cplusplus
}
#endif
