#pragma once
/// Plug-ins of attune: sensors that others write, as a shared object. C11, and C++11 or later.
///
/// A plug-in defines one function and returns a description of itself:
///
///   #include <attune/plugin.h>
///   ATTUNE_PLUGIN_EXPORT const struct attune_sensor_plugin* attune_plugin_sensor(void) { return &mine; }
///
/// examples/plugin-sensor is a template of a whole one; docs/plugins.md goes through it.
///
/// **Where it runs.** In a process of its own (`attune plugin-host`), which attune starts for it. A plug-in that
/// crashes or hangs costs its own series, for which the recording has a gap, and is started again some times.
///
/// **Threads.** All functions are called by one thread, one after the other.
///
/// **Pointers** that are handed over are valid during the call alone; attune copies what it keeps. The exceptions are
/// the description itself and the texts in it, which must stay as they are until the plug-in is unloaded.
///
/// **Versions.** Every struct begins with its own size, so that members can be added at its end; a plug-in sets it with
/// sizeof. `abi` is ATTUNE_PLUGIN_ABI. While that is 0 it can change with every version of attune; attune refuses
/// plug-ins of another one. Other kinds of plug-ins will have functions of other names beside this one.

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ATTUNE_PLUGIN_ABI 0
#define ATTUNE_PLUGIN_EXPORT __attribute__((visibility("default")))

/// The value of a signal that has none at the moment.
#define ATTUNE_ABSENT INT64_MIN

enum attune_kind {
  ATTUNE_COUNTER = 1, /* only grows; shown as a rate a second */
  ATTUNE_UP_DOWN = 2, /* grows and falls; shown as a level and a signed rate */
  ATTUNE_GAUGE = 3,   /* a level */
  ATTUNE_STATE = 4    /* one of a few codes */
};

/// What a signal belongs to.
enum attune_element {
  ATTUNE_MACHINE = 1,
  ATTUNE_BOARD = 2,
  ATTUNE_PACKAGE = 3,
  ATTUNE_NODE = 4,
  ATTUNE_CORE = 5,
  ATTUNE_CPU = 6,
  ATTUNE_DEVICE = 7
};

/// One value of every sample. Texts are UTF-8; NULL is "".
struct attune_signal {
  uint32_t size;    /* sizeof(struct attune_signal) */
  int32_t kind;     /* enum attune_kind */
  const char* name; /* "requests": letters, digits, _ and - */
  const char* unit; /* "requests", "bytes", "ns", "1" */
  const char* description;
  const char* mnemonic;     /* a short heading; NULL: the name */
  int32_t scale;            /* value = what sample() gives * 10^scale, in `unit` */
  int32_t element;          /* enum attune_element; 0: the machine */
  int64_t element_id;       /* the CPU's or node's number; ATTUNE_ABSENT where there is none */
  const char* element_name; /* "cpu3", "sda"; NULL for the machine */
  int64_t max_per_second;   /* of a counter, for percentages, in raw units; 0: not known */
};

/// What attune gives to open().
struct attune_sensor_setup {
  uint32_t size;
  void* context;        /* to be handed back to the functions below */
  const char* argument; /* what the user wrote behind NAME=; "" where there is nothing */
  /* Adds a value to every sample, in the order of the calls. Returns 0, or -1 where the signal is not in order (then
     open() should fail: attune says which signal it was and why). */
  int (*add_signal)(void* context, const struct attune_signal* signal);
  /* Says why open() is about to fail: "no card of ours in this machine". */
  void (*fail)(void* context, const char* message);
};

struct attune_sensor_plugin {
  uint32_t size;           /* sizeof(struct attune_sensor_plugin) */
  uint32_t abi;            /* ATTUNE_PLUGIN_ABI */
  const char* name;        /* must be the file's, without folder and ".so" */
  const char* description; /* one line */
  const char* source;      /* where the values come from */
  const char* cost;        /* of one sample, as measured: "3 us"; NULL: not measured */
  uint64_t default_interval_ns;
  /* Finds what it samples, and adds the signals. *state is handed to the other functions. Returns 0, or -1: not
     available here (see fail), then nothing else is called. */
  int (*open)(const struct attune_sensor_setup* setup, void** state);
  /* Fills `count` values, in the order in which the signals were added; ATTUNE_ABSENT where there is none. Returns 0,
     or -1: the source is gone at the moment (the recording gets a gap; it is asked again at the next tick). Has a
     second to answer. */
  int (*sample)(void* state, int64_t* values, uint32_t count);
  /* May be NULL. Called when attune has no more use for it, if there is time. */
  void (*close)(void* state);
};

/// The function that a plug-in defines.
ATTUNE_PLUGIN_EXPORT const struct attune_sensor_plugin* attune_plugin_sensor(void);

#ifdef __cplusplus
}
#endif
