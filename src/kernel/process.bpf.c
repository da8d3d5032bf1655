// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Follows processes in the kernel: tracepoints of fork, exec, exit and rename, filtered by a map of the thread groups
// that are followed. Children of a followed process are followed from their first moment, so that nothing can be
// missed. Besides, calls of futex are counted where the kernel allows it.
//
// The structs below name the few fields that are read; libbpf finds their places in the running kernel (CO-RE). Fields
// are copied (BPF_CORE_READ): for each access through a pointer of the tracepoint, the kernel's verifier searches all
// types of the kernel several times, which takes most of the time of loading.

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "kernel/process_events.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
  int counter;
} atomic_t;

struct list_head {
  struct list_head* next;
};

struct signal_struct {
  atomic_t live;
  struct list_head thread_head;
  int group_exit_code;
  unsigned int flags;
  unsigned long long utime, stime, sum_sched_runtime;
  unsigned long nvcsw, nivcsw, min_flt, maj_flt, maxrss;
};

struct sched_entity {
  unsigned long long sum_exec_runtime;
};

struct mm_struct {
  unsigned long arg_start, arg_end;
};

struct task_struct {
  int pid, tgid, exit_code;
  struct task_struct* real_parent;
  struct task_struct* group_leader;
  struct signal_struct* signal;
  struct list_head thread_node;
  struct sched_entity se;
  struct mm_struct* mm;
  unsigned long long utime, stime;
  unsigned long nvcsw, nivcsw, min_flt, maj_flt;
  char comm[kKernelNameBytes];
};

struct linux_binprm {
  const char* filename;
};

#pragma clang attribute pop

#define SIGNAL_GROUP_EXIT 0x00000004u  // include/linux/sched/signal.h
#define MAX_THREADS 4096               // of one process that are summed at its end

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 65536);
  __type(key, int);
  __type(value, char);
} followed SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 2 * 1024 * 1024);
} events SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, int);
  __type(value, unsigned long long);
} lost SEC(".maps");

static __always_inline void count_lost(void) {
  int key = 0;
  unsigned long long* count = bpf_map_lookup_elem(&lost, &key);
  if (count) __sync_fetch_and_add(count, 1);
}

static __always_inline int is_followed(int tgid) { return bpf_map_lookup_elem(&followed, &tgid) != 0; }

static __always_inline void fill(struct kernel_event* event, unsigned int kind, struct task_struct* task) {
  event->kind = kind;
  event->pid = BPF_CORE_READ(task, tgid);
  event->tid = BPF_CORE_READ(task, pid);
  event->parent_pid = BPF_CORE_READ(task, real_parent, tgid);
  event->t_ns = bpf_ktime_get_ns();
  BPF_CORE_READ_STR_INTO(&event->name, task, comm);
}

static __always_inline int send(unsigned int kind, struct task_struct* task) {
  struct kernel_event* event = bpf_ringbuf_reserve(&events, sizeof *event, 0);
  if (!event) {
    count_lost();
    return 0;
  }
  fill(event, kind, task);
  bpf_ringbuf_submit(event, 0);
  return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct* parent, struct task_struct* child) {
  int parent_tgid = BPF_CORE_READ(parent, tgid);
  if (!is_followed(parent_tgid)) return 0;
  int tgid = BPF_CORE_READ(child, tgid);
  if (tgid == parent_tgid) return send(kKernelThreadStart, child);
  char one = 1;
  // Without room in the map neither this process nor its children can be followed.
  if (bpf_map_update_elem(&followed, &tgid, &one, BPF_ANY)) count_lost();
  return send(kKernelFork, child);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct* task, int old_pid, struct linux_binprm* binprm) {
  if (!is_followed(BPF_CORE_READ(task, tgid))) return 0;
  struct kernel_exec* exec = bpf_ringbuf_reserve(&events, sizeof *exec, 0);
  if (!exec) {
    count_lost();
    return 0;
  }
  fill(&exec->event, kKernelExec, task);
  exec->command_stored = 0;
  // The arguments were written to the new stack a moment ago, so their pages are there.
  unsigned long begin = BPF_CORE_READ(task, mm, arg_start);
  unsigned long size = BPF_CORE_READ(task, mm, arg_end) - begin;
  exec->command_bytes = size;
  unsigned long stored = size;
  if (stored > kKernelCommandBytes) stored = kKernelCommandBytes;
  if (stored > 0 && bpf_probe_read_user(exec->command, stored, (const void*)begin) == 0) {
    exec->command_stored = stored;
  } else {
    long length = bpf_probe_read_kernel_str(exec->command, sizeof exec->command, BPF_CORE_READ(binprm, filename));
    if (length > 0) exec->command_stored = exec->command_bytes = length;
  }
  bpf_ringbuf_submit(exec, 0);
  return 0;
}

static __always_inline void add_thread(struct kernel_usage* usage, struct task_struct* task) {
  usage->user_ns += BPF_CORE_READ(task, utime);
  usage->system_ns += BPF_CORE_READ(task, stime);
  usage->runtime_ns += BPF_CORE_READ(task, se.sum_exec_runtime);
  usage->minor_faults += BPF_CORE_READ(task, min_flt);
  usage->major_faults += BPF_CORE_READ(task, maj_flt);
  usage->voluntary_switches += BPF_CORE_READ(task, nvcsw);
  usage->involuntary_switches += BPF_CORE_READ(task, nivcsw);
}

struct walk {
  struct list_head* node;
  struct list_head* head;
  struct kernel_usage* usage;
};

static long add_next_thread(unsigned int index, void* context) {
  struct walk* walk = context;
  struct list_head* node = walk->node;
  if (node == walk->head || !node) return 1;
  unsigned long offset = bpf_core_field_offset(struct task_struct, thread_node);
  add_thread(walk->usage, (struct task_struct*)((char*)node - offset));
  walk->node = BPF_CORE_READ(node, next);
  return 0;
}

// The process's totals: threads that were released have added theirs to the signal struct, the others are in its list.
static __always_inline void sum_process(struct kernel_usage* usage, struct signal_struct* signal) {
  usage->user_ns = BPF_CORE_READ(signal, utime);
  usage->system_ns = BPF_CORE_READ(signal, stime);
  usage->runtime_ns = BPF_CORE_READ(signal, sum_sched_runtime);
  usage->minor_faults = BPF_CORE_READ(signal, min_flt);
  usage->major_faults = BPF_CORE_READ(signal, maj_flt);
  usage->voluntary_switches = BPF_CORE_READ(signal, nvcsw);
  usage->involuntary_switches = BPF_CORE_READ(signal, nivcsw);
  usage->max_rss_pages = BPF_CORE_READ(signal, maxrss);
  struct list_head* head = &signal->thread_head;
  struct walk walk = {.node = BPF_CORE_READ(head, next), .head = head, .usage = usage};
  bpf_loop(MAX_THREADS, add_next_thread, &walk, 0);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct* task) {
  int tgid = BPF_CORE_READ(task, tgid);
  if (!is_followed(tgid)) return 0;
  struct kernel_usage usage = {};
  struct signal_struct* signal = BPF_CORE_READ(task, signal);
  int is_end = BPF_CORE_READ(signal, live.counter) == 0;
  int status = 0;
  if (is_end) {
    bpf_map_delete_elem(&followed, &tgid);
    // As wait() does: how the group was ended, or else how its first thread ended.
    status = BPF_CORE_READ(signal, flags) & SIGNAL_GROUP_EXIT ? BPF_CORE_READ(signal, group_exit_code)
                                                              : BPF_CORE_READ(task, group_leader, exit_code);
    sum_process(&usage, signal);
  } else {
    add_thread(&usage, task);
  }
  struct kernel_exit* event = bpf_ringbuf_reserve(&events, sizeof *event, 0);
  if (!event) {
    count_lost();
    return 0;
  }
  fill(&event->event, is_end ? kKernelExit : kKernelThreadExit, task);
  event->wait_status = status;
  event->unused = 0;
  event->usage = usage;
  bpf_ringbuf_submit(event, 0);
  return 0;
}

SEC("tp_btf/task_rename")
int BPF_PROG(on_rename, struct task_struct* task, const char* name) {
  if (!is_followed(BPF_CORE_READ(task, tgid))) return 0;
  struct kernel_event* event = bpf_ringbuf_reserve(&events, sizeof *event, 0);
  if (!event) {
    count_lost();
    return 0;
  }
  fill(event, kKernelName, task);
  bpf_probe_read_kernel_str(event->name, sizeof event->name, name);
  bpf_ringbuf_submit(event, 0);
  return 0;
}

// Calls of futex by followed processes: of each CPU, so that no two count at the same place.
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, int);
  __type(value, unsigned long long);
} futex_calls SEC(".maps");

// Of the processor's table of system calls; set before loading.
const volatile long futex_number SEC(".rodata.process") = -1;

static __always_inline int count_futex(void) {
  if (!is_followed(bpf_get_current_pid_tgid() >> 32)) return 0;
  int key = 0;
  unsigned long long* count = bpf_map_lookup_elem(&futex_calls, &key);
  if (count) __sync_fetch_and_add(count, 1);  // another thread may be given the CPU in between
  return 0;
}

// Two ways to count, of which one is attached (process_bpf.cpp): at the entry of futex itself, or of every call.
SEC("fentry")
int on_futex(void* context) { return count_futex(); }

SEC("tp_btf/sys_enter")
int BPF_PROG(on_call, void* registers, long number) { return number == futex_number ? count_futex() : 0; }

// Lets through samples of followed processes alone; its event is one of a CPU, of whatever that runs.
SEC("perf_event")
int only_followed(void* context) { return is_followed(bpf_get_current_pid_tgid() >> 32); }

// Run by the session, for one address each time: all of /proc/kallsyms takes 50 ms to read.
SEC("syscall")
int name_function(struct function_name* asked) {
  char name[sizeof asked->name] = {};
  BPF_SNPRINTF(name, sizeof name, "%ps", (void*)asked->address);
  __builtin_memcpy(asked->name, name, sizeof name);
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
