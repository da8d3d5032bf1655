#pragma once
/// The interface of plug-ins: sensors and sinks in a shared object. C11, and C++11 or later.
///
/// A plug-in defines one function, which returns its description:
///
///   #include <attune/plugin.h>
///   ATTUNE_PLUGIN_EXPORT const struct attune_sensor_plugin* attune_plugin_sensor(void) { return &mine; }
///   ATTUNE_PLUGIN_EXPORT const struct attune_sink_plugin* attune_plugin_sink(void) { return &mine; }
///
/// A sensor delivers values to attune (examples/plugin-sensor, docs/plugins.md); a sink receives the data of a session,
/// to send it elsewhere (examples/plugin-sink, docs/sinks.md).
///
/// **Process.** attune runs each plug-in in its own process (`attune plugin-host`). If a plug-in crashes or hangs, only
/// its own series have a gap (or only its sink loses data), and attune starts it again a few times.
///
/// **Threads.** All functions are called by one thread, one after the other. A sink may have threads of its own.
///
/// **Pointers** in arguments are valid during the call only; attune copies the data that it keeps. Exceptions are
/// the description itself and the texts in it, which must not change until the plug-in is unloaded.
///
/// **Versions.** Every struct begins with its own size, so that members can be added at its end; a plug-in sets it with
/// sizeof. `abi` is ATTUNE_PLUGIN_ABI. While that is 0, it can change with every version of attune; attune refuses
/// plug-ins with another value. attune sets `size` of the structs that it passes: members behind it do not exist.

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ATTUNE_PLUGIN_ABI 0
#define ATTUNE_PLUGIN_EXPORT __attribute__((visibility("default")))

/// An absent value.
#define ATTUNE_ABSENT INT64_MIN

enum attune_kind {
  ATTUNE_COUNTER = 1, /* only grows; shown as a rate a second */
  ATTUNE_UP_DOWN = 2, /* grows and falls; shown as a level and a signed rate */
  ATTUNE_GAUGE = 3,   /* a level */
  ATTUNE_STATE = 4    /* one of a few codes */
};

/// Kinds of elements. Signals of plug-in sensors belong to elements up to ATTUNE_DEVICE; sinks receive all of these.
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
  int32_t scale;            /* value = number from sample() * 10^scale, in `unit` */
  int32_t element;          /* enum attune_element; 0: the machine */
  int64_t element_id;       /* the CPU's or node's number; ATTUNE_ABSENT: none */
  const char* element_name; /* "cpu3", "sda"; NULL for the machine */
  int64_t max_per_second;   /* counters: for percentages, in raw units; 0: not known */
};

/// Argument of a sensor's open().
struct attune_sensor_setup {
  uint32_t size;
  void* context;        /* first argument of the functions below */
  const char* argument; /* the user's text after NAME=; "": none */
  /* Adds a signal; the order of the calls is that of the values in sample(). Returns 0, or -1 if the signal is invalid
     (then open() should fail: attune reports the signal and the reason). */
  int (*add_signal)(void* context, const struct attune_signal* signal);
  /* Sets the reason for which open() is about to fail: "no such card in this machine". */
  void (*fail)(void* context, const char* message);
};

struct attune_sensor_plugin {
  uint32_t size;           /* sizeof(struct attune_sensor_plugin) */
  uint32_t abi;            /* ATTUNE_PLUGIN_ABI */
  const char* name;        /* must be the file's, without folder and ".so" */
  const char* description; /* one line */
  const char* source;      /* source of the values */
  const char* cost;        /* cost of one sample, as measured: "3 us"; NULL: not measured */
  uint64_t default_interval_ns;
  /* Finds the source and adds the signals. *state is passed to the other functions. Returns 0, or -1: not available
     here (see fail); then no other function is called. */
  int (*open)(const struct attune_sensor_setup* setup, void** state);
  /* Fills `count` values, in the order of the signals; ATTUNE_ABSENT for missing ones. Returns 0, or -1: the source is
     gone at the moment (the recording gets a gap; the next tick calls again). Must return within a second. */
  int (*sample)(void* state, int64_t* values, uint32_t count);
  /* May be NULL. Called at the end, if there is time. */
  void (*close)(void* state);
};

/// The function that a plug-in defines to be a sensor.
ATTUNE_PLUGIN_EXPORT const struct attune_sensor_plugin* attune_plugin_sensor(void);

/* ---- Sinks ----
 *
 * Times are nanoseconds: t_ns of CLOCK_MONOTONIC, which orders events of one host; real_ns of Unix time, or
 * ATTUNE_ABSENT if the recording does not know it. Texts are UTF-8 on one line and never NULL.
 *
 * An element comes before its series, a series before its samples. A restarted or late sink receives all elements,
 * series and processes again: a repeated one replaces the earlier one. */

/// Argument of a sink's open().
struct attune_sink_setup {
  uint32_t size;
  void* context;        /* first argument of the functions below, which are valid during open() only */
  const char* argument; /* the user's text after NAME=; "": none. Relative paths are valid: the process runs in the
                           folder in which attune was started */
  /* A value of the recording's table info ("host", "program", "user", ...: docs/sinks.md); NULL: absent. */
  const char* (*find_info)(void* context, const char* key);
  /* Sets the reason for which open() is about to fail. */
  void (*fail)(void* context, const char* message);
};

/// A tag of an element: "cpu" and "cpu3".
struct attune_sink_tag {
  const char* key;
  const char* value;
};

struct attune_sink_element {
  uint32_t size;
  uint32_t id;      /* from 1; of this recording */
  uint32_t parent;  /* 0: none */
  int32_t kind;     /* enum attune_element */
  int64_t os_id;    /* CPU, node, process or thread number; ATTUNE_ABSENT: none */
  int64_t start_ns; /* CLOCK_MONOTONIC; ATTUNE_ABSENT: not known */
  int64_t end_ns;   /* ATTUNE_ABSENT: it still exists */
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
  int32_t scale;          /* value = int64 of the samples * 10^scale, in `unit` */
  int64_t max_per_second; /* counters: in raw units; ATTUNE_ABSENT: there is no limit */
  const char* sensor;     /* "vmstat" */
  const char* signal;     /* "pgfault" */
  const char* unit;
};

/// Rows of one latch group: the values of a row were read together.
struct attune_sink_samples {
  uint32_t size;
  uint32_t stream;       /* the latch group's number */
  int64_t interval_ns;   /* 0: irregular */
  uint64_t missing_rows; /* rows of the stream lost on the way to this sink since its previous samples */
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
  int64_t real_ns;    /* Unix time of t0_ns */
  int64_t count;      /* rows lost */
  const char* reason; /* "missed", "paused", "dropped", "vanished", "disk full", "damaged", "rolled" */
  const char* sensor; /* sensor of the stream; "": none */
};

enum attune_process_event { ATTUNE_PROCESS_START = 1, ATTUNE_PROCESS_EXIT = 2 };

struct attune_sink_process {
  uint32_t size;
  int32_t event;   /* enum attune_process_event */
  uint32_t id;     /* its element */
  uint32_t parent; /* 0: not known */
  int64_t pid;
  int64_t t_ns; /* time of the event */
  int64_t real_ns;
  int64_t exit_code;   /* this and the next numbers: of an exit; ATTUNE_ABSENT: not known */
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
  int32_t scale;    /* scale of value and threshold */
  int64_t id;       /* the same for raising and clearing */
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

/// Result of flush(). attune sets all members but size to 0 before.
struct attune_sink_status {
  uint32_t size;
  uint64_t pending_values; /* values that samples() took and that are not delivered yet */
  uint64_t dropped_values; /* values that samples() took and the sink dropped, since open() */
  const char* message;     /* the current problem; NULL: none. Must stay valid until the next call of the sink */
};

/// Functions may be NULL, except open and samples. Each must return within ten seconds; wait for a network on a thread
/// of the sink's own. An int result is 0, or -1: the data of the call is lost (attune counts it).
struct attune_sink_plugin {
  uint32_t size;           /* sizeof(struct attune_sink_plugin) */
  uint32_t abi;            /* ATTUNE_PLUGIN_ABI */
  const char* name;        /* must be the file's, without folder and ".so" */
  const char* description; /* one line */
  const char* argument;    /* description of the text after NAME=: "FILE or http://..." */
  /* Prepares the sink. Returns 0, or -1: the argument is invalid (see fail). If a server does not answer yet, open()
     must succeed and the sink try again later. *state is passed to the other functions. Must return within five
     seconds. */
  int (*open)(const struct attune_sink_setup* setup, void** state);
  int (*element)(void* state, const struct attune_sink_element* element);
  int (*series)(void* state, const struct attune_sink_series* series);
  int (*samples)(void* state, const struct attune_sink_samples* samples);
  int (*label)(void* state, const struct attune_sink_label* label);
  int (*gap)(void* state, const struct attune_sink_gap* gap);
  int (*process)(void* state, const struct attune_sink_process* process);
  int (*alarm)(void* state, const struct attune_sink_alarm* alarm);
  /* Called about every second, and at the end: sends everything received so far. May wait for at most `limit_ns` (0:
     not at all). */
  void (*flush)(void* state, int64_t limit_ns, struct attune_sink_status* status);
  void (*close)(void* state);
};

/// The function that a plug-in defines to be a sink.
ATTUNE_PLUGIN_EXPORT const struct attune_sink_plugin* attune_plugin_sink(void);

#ifdef __cplusplus
}
#endif
