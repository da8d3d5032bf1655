#pragma once
/// Work of a task runtime: kinds of task (kernels), how many of them ran, what they cost, and the data that they hand
/// to each other. C11, and C++17 or later.
///
///   attune_work_t encode = attune_work("encode");                 // once
///   attune_work_data_t blocks = attune_work_fetches("encode", "blocks");
///   ...
///   attune_work_sums(&encode, instances, dispatch_ns, body_ns);   // now and then, as ten times a second
///   attune_work_bytes(blocks, bytes);
///   attune_work_run(threads, wall_ns);                            // for the forecast of what bounds the run
///
/// A worker that waits for work does so from attune_idle_begin() to attune_idle_end() (attune/probe.h), so that its
/// waiting is no loss.
///
/// The sums are of all of the process since its start. Under `attune run` each is a counter of the program; together
/// they are the graph on the page and in the report (docs/dataflow.md). attune's own dataflow graphs (attune/flow.h)
/// tell them by themselves. Threads, errors, cost and switches are those of attune/probe.h: a few counters.

#include <stdint.h>
#include <string.h>

#include "attune/probe.h"

/// A kernel. Zero: nothing was recorded when it was declared.
typedef struct attune_work_kernel {
  attune_name_t instances;
  attune_name_t dispatch_ns;
  attune_name_t body_ns;
  attune_name_t at_once;
} attune_work_t;

/// Data that a kernel reads from, or writes to, a field: a queue, a stream, an array.
typedef attune_name_t attune_work_data_t;

/// "work/KERNEL/WHAT", cut to what a name may have.
static inline attune_name_t attune_work_name_(const char* kernel, const char* what, const char* field) {
  char name[256];
  const char* const parts[] = {"work/", kernel, "/", what, field};
  size_t length = 0;
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; ++i) {
    size_t bytes = strlen(parts[i]);
    if (bytes > sizeof name - 1 - length) bytes = sizeof name - 1 - length;
    memcpy(name + length, parts[i], bytes);
    length += bytes;
  }
  name[length] = 0;
  return attune_name(name);
}

/// Declares a kernel. @param kernel at most 100 bytes, without '/'
static inline attune_work_t attune_work(const char* kernel) {
  attune_work_t work;
  work.instances = attune_work_name_(kernel, "instances", "");
  work.dispatch_ns = attune_work_name_(kernel, "dispatch_ns", "");
  work.body_ns = attune_work_name_(kernel, "body_ns", "");
  work.at_once = attune_work_name_(kernel, "at_once", "");
  return work;
}

/// Declares data that a kernel reads from a field, or writes to it. @param field at most 100 bytes, without '/'
static inline attune_work_data_t attune_work_fetches(const char* kernel, const char* field) {
  return attune_work_name_(kernel, "fetch/", field);
}
static inline attune_work_data_t attune_work_stores(const char* kernel, const char* field) {
  return attune_work_name_(kernel, "store/", field);
}

/// All of a kernel until now. @param instances that have ended  @param dispatch_ns what the runtime took for them:
/// finding, queueing, handing on  @param body_ns what they took themselves
static inline void attune_work_sums(const attune_work_t* work, int64_t instances, int64_t dispatch_ns,
                                    int64_t body_ns) {
  attune_counter(work->instances, instances);
  attune_counter(work->dispatch_ns, dispatch_ns);
  attune_counter(work->body_ns, body_ns);
}

/// Says how many instances of a kernel may run at once. @param most 1: one after the other; 0: any number
static inline void attune_work_at_once(const attune_work_t* work, int64_t most) { attune_counter(work->at_once, most); }

/// The runtime as a whole. @param threads that run instances  @param wall_ns time for which it ran until now
/// @cost looks up two names
static inline void attune_work_run(int64_t threads, int64_t wall_ns) {
  attune_counter(attune_work_name_("", "threads", ""), threads);
  attune_counter(attune_work_name_("", "wall_ns", ""), wall_ns);
}

/// All bytes until now.
static inline void attune_work_bytes(attune_work_data_t data, int64_t bytes) { attune_counter(data, bytes); }
