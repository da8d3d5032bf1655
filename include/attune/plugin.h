#pragma once
/// Plug-ins of attune: sensors and sinks that others write, as a shared object. C11, and C++11 or later.
///
/// A plug-in defines one function and returns a description of itself:
///
///   #include <attune/plugin.h>
///   ATTUNE_PLUGIN_EXPORT const struct attune_sensor_plugin* attune_plugin_sensor(void) { return &mine; }
///   ATTUNE_PLUGIN_EXPORT const struct attune_sink_plugin* attune_plugin_sink(void) { return &mine; }
///
/// A sensor delivers values to attune (examples/plugin-sensor, docs/plugins.md); a sink is given what attune observes,
/// to take it elsewhere (examples/plugin-sink, docs/sinks.md).
///
/// **Where it runs.** In a process of its own (`attune plugin-host`), which attune starts for it. A plug-in that
/// crashes or hangs costs its own series, for which the recording has a gap (or what its sink was to be given), and is
/// started again some times.
///
/// **Threads.** All functions are called by one thread, one after the other. A sink may have threads of its own.
///
/// **Pointers** that are handed over are valid during the call alone; attune copies what it keeps. The exceptions are
/// the description itself and the texts in it, which must stay as they are until the plug-in is unloaded.
///
/// **Versions.** Every struct begins with its own size, so that members can be added at its end; a plug-in sets it with
/// sizeof. `abi` is ATTUNE_PLUGIN_ABI. While that is 0 it can change with every version of attune; attune refuses
/// plug-ins of another one. attune sets the sizes of what it hands over: a member behind that size is not there.

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

/// What a signal belongs to. Plug-in sensors have elements down to ATTUNE_DEVICE; sinks see all of these.
enum attune_element {
  ATTUNE_MACHINE = 1,
  ATTUNE_BOARD = 2,
  ATTUNE_PACKAGE = 3,
  ATTUNE_NODE = 4,
  ATTUNE_CORE = 5,
  ATTUNE_CPU = 6,
  ATTUNE_DEVICE = 7,
  ATTUNE_PROCESS = 8,
  ATTUNE_THREAD = 9,
  ATTUNE_RANK = 10,
  ATTUNE_LOCK = 11,
  ATTUNE_CHANNEL = 12,
  ATTUNE_SITE = 13,
  ATTUNE_REGION = 14,
  ATTUNE_INSTANT = 15,
  ATTUNE_PROGRAM_COUNTER = 16,
  ATTUNE_COMMUNICATOR = 17,
  ATTUNE_FUNCTION = 18
};

/* ---- Sensors ---- */

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

/// The function that a plug-in defines to be a sensor.
ATTUNE_PLUGIN_EXPORT const struct attune_sensor_plugin* attune_plugin_sensor(void);

/* ---- Sinks ----
 *
 * Times are nanoseconds: t_ns of CLOCK_MONOTONIC, which orders what happened on one host; real_ns of Unix time, or
 * ATTUNE_ABSENT where a recording does not know it. Texts are UTF-8 on one line and never NULL.
 *
 * An element comes before the series of it, a series before its samples. A sink that is started again, or late, is told
 * the elements, series and processes that there are once more: what is told twice replaces what was told before. */

/// What attune gives to a sink's open().
struct attune_sink_setup {
  uint32_t size;
  void* context;        /* to be handed back to the functions below; they are there during open() alone */
  const char* argument; /* what the user wrote behind NAME=; "" where there is nothing. Relative paths are right: the
                           process runs where attune was started */
  /* What the recording says of itself ("host", "program", "user", ...: docs/sinks.md); NULL: it does not say. */
  const char* (*find_info)(void* context, const char* key);
  /* Says why open() is about to fail. */
  void (*fail)(void* context, const char* message);
};

/// Where an element is, as a key and its value: "cpu" and "cpu3".
struct attune_sink_tag {
  const char* key;
  const char* value;
};

struct attune_sink_element {
  uint32_t size;
  uint32_t id;      /* from 1; of this recording */
  uint32_t parent;  /* 0: none */
  int32_t kind;     /* enum attune_element */
  int64_t os_id;    /* CPU, node, process or thread number; ATTUNE_ABSENT where there is none */
  int64_t start_ns; /* of CLOCK_MONOTONIC; ATTUNE_ABSENT: not known */
  int64_t end_ns;   /* ATTUNE_ABSENT: it is still there */
  const char* host;
  const char* name;                   /* "cpu3", "sda", "xz" */
  const char* path;                   /* names from the host to the element: "host/xz/xz:worker" */
  const struct attune_sink_tag* tags; /* by key: "host", and kind and name of the element and of those that it is in,
                                         but not of the machine; of processes and threads also "pid" and "tid" */
  uint32_t tag_count;
};

struct attune_sink_series {
  uint32_t size;
  uint32_t id;            /* from 1 */
  uint32_t element;       /* an attune_sink_element's id */
  int32_t kind;           /* enum attune_kind */
  int32_t scale;          /* value = the int64 that comes * 10^scale, in `unit` */
  int64_t max_per_second; /* of a counter, in raw units; ATTUNE_ABSENT: there is no limit */
  const char* sensor;     /* "vmstat" */
  const char* signal;     /* "pgfault" */
  const char* unit;
};

/// Rows of one latch group: the values of a row were read together.
struct attune_sink_samples {
  uint32_t size;
  uint32_t stream;       /* the latch group's number */
  int64_t interval_ns;   /* 0: irregular */
  uint64_t missing_rows; /* rows lost on the way to this sink since the samples of the stream before */
  uint32_t column_count;
  uint32_t row_count;
  const uint32_t* series; /* [column_count]: an attune_sink_series' id each */
  const int64_t* t_ns;    /* [row_count] */
  const int64_t* real_ns; /* [row_count] */
  const int64_t* values;  /* [row_count * column_count], row by row; ATTUNE_ABSENT: no value */
};

struct attune_sink_label {
  uint32_t size;
  int64_t t_ns;
  int64_t real_ns;
  const char* text;
};

/// A time for which attune itself has no samples or events.
struct attune_sink_gap {
  uint32_t size;
  uint32_t stream; /* 0: not of one latch group */
  int64_t t0_ns;
  int64_t t1_ns;
  int64_t real_ns;    /* of t0_ns */
  int64_t count;      /* rows lost */
  const char* reason; /* "missed", "paused", "dropped", "vanished", "disk full", "damaged", "rolled" */
  const char* sensor; /* of the stream; "" where it has none */
};

enum attune_process_event { ATTUNE_PROCESS_START = 1, ATTUNE_PROCESS_EXIT = 2 };

struct attune_sink_process {
  uint32_t size;
  int32_t event;   /* enum attune_process_event */
  uint32_t id;     /* its element */
  uint32_t parent; /* 0: not known */
  int64_t pid;
  int64_t t_ns; /* of the event */
  int64_t real_ns;
  int64_t exit_code;   /* these are of an exit, and ATTUNE_ABSENT where they are not known */
  int64_t exit_signal; /* 0: it exited by itself */
  int64_t user_ns;
  int64_t system_ns;
  int64_t max_rss_bytes;
  const char* host;
  const char* command;
};

struct attune_sink_alarm {
  uint32_t size;
  int32_t raised;   /* 1: raised, 0: cleared */
  int32_t severity; /* 1: a warning, 2: critical */
  int32_t scale;    /* of value and threshold */
  int64_t id;       /* the same when it is cleared */
  int64_t t_ns;
  int64_t real_ns;
  int64_t value;
  int64_t threshold;
  uint32_t element;
  uint32_t series;
  const char* alarm; /* "memory.thrashing" */
  const char* unit;
  const char* text;
  const char* advice;
};

/// What a sink says of itself in flush(). attune sets all to 0 before.
struct attune_sink_status {
  uint32_t size;
  uint64_t pending_values; /* values that samples() took, and that are not where they shall be yet */
  uint64_t dropped_values; /* values that samples() took and the sink gave up, since open() */
  const char* message;     /* what is wrong at the moment; NULL: nothing. Until the next call of the sink */
};

/// Functions may be NULL, but for open and samples. Each has ten seconds; a sink that waits for a network does that on
/// a thread of its own. Those that return something return 0, or -1: what was handed over is lost (attune counts it).
struct attune_sink_plugin {
  uint32_t size;           /* sizeof(struct attune_sink_plugin) */
  uint32_t abi;            /* ATTUNE_PLUGIN_ABI */
  const char* name;        /* must be the file's, without folder and ".so" */
  const char* description; /* one line */
  const char* argument;    /* what stands behind NAME=, for people: "FILE or http://..." */
  /* Makes ready, or says that the argument makes no sense (see fail) and returns -1. Where a server does not answer yet
     it shall succeed and try again later. *state is handed to the other functions. Has five seconds. */
  int (*open)(const struct attune_sink_setup* setup, void** state);
  int (*element)(void* state, const struct attune_sink_element* element);
  int (*series)(void* state, const struct attune_sink_series* series);
  int (*samples)(void* state, const struct attune_sink_samples* samples);
  int (*label)(void* state, const struct attune_sink_label* label);
  int (*gap)(void* state, const struct attune_sink_gap* gap);
  int (*process)(void* state, const struct attune_sink_process* process);
  int (*alarm)(void* state, const struct attune_sink_alarm* alarm);
  /* About every second, and at the end: everything that was handed over shall be on its way. It may wait for at most
     `limit_ns` (0: not at all). */
  void (*flush)(void* state, int64_t limit_ns, struct attune_sink_status* status);
  void (*close)(void* state);
};

/// The function that a plug-in defines to be a sink.
ATTUNE_PLUGIN_EXPORT const struct attune_sink_plugin* attune_plugin_sink(void);

#ifdef __cplusplus
}
#endif
