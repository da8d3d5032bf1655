// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Counts events of each thread of a program and of all that it starts: at each switch the growth of its CPU's counters
// is added to the thread that had the CPU. A row of each thread's sums is handed over at its end, however briefly it
// lived, and no thread needs a descriptor.
//
// Some events of the scheduler are not told (seen with Linux 6.18 on full CPUs, one in a thousand, in the kernel's own
// trace, too). So a thread's end is told twice, and a switch that was not is seen at the next one.
//
// The structs below name the few fields that are read; libbpf finds their places in the running kernel (CO-RE).

#include <linux/bpf.h>
#include <stddef.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "kernel/thread_counts.h"

typedef unsigned int u32;
typedef unsigned long long u64;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sched_entity {
  u64 sum_exec_runtime;
  u64 prev_sum_exec_runtime;
  u64 nr_migrations;
};

struct thread_info {
  u32 cpu;
};

struct task_struct {
  struct thread_info thread_info;
  int pid, tgid;
  unsigned long nvcsw, nivcsw, min_flt, maj_flt;
  struct sched_entity se;
  char comm[kThreadNameBytes];
};

#pragma clang attribute pop

// A thread that has sums is followed.
struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct thread_sums);
} sums_of SEC(".maps");

// Descriptors of perf, by counter and CPU.
struct {
  __uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
  __uint(key_size, sizeof(u32));
  __uint(value_size, sizeof(u32));
} events SEC(".maps");

// A CPU when it switched or its counters were read last.
struct cpu_counts {
  u64 read_ns;
  int tid; /* that it runs */
  int is_known;
  int is_read; /* just now: a sample may come in between */
  struct thread_count counts[kMaxThreadCounters];
};
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct cpu_counts);
} last SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, kThreadRowsBytes);
} rows SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct thread_totals);
} thread_totals SEC(".maps");

// Process whose threads find_threads() begins to follow.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, int);
} process_to_find SEC(".maps");

const volatile struct thread_machine thread_machine SEC(".rodata.threads") = {.cpus = 1};  // set before loading

static __always_inline void count_one(u64* of) { __sync_fetch_and_add(of, 1); }

static __always_inline struct thread_totals* all(void) {
  u32 zero = 0;
  return bpf_map_lookup_elem(&thread_totals, &zero);
}

static __always_inline void accounted(struct task_struct* task, struct thread_accounted* to) {
  to->cpu_ns = BPF_CORE_READ(task, se.sum_exec_runtime);
  to->switches = BPF_CORE_READ(task, nvcsw) + BPF_CORE_READ(task, nivcsw);
  to->migrations = BPF_CORE_READ(task, se.nr_migrations);
  to->minor_faults = BPF_CORE_READ(task, min_flt);
  to->major_faults = BPF_CORE_READ(task, maj_flt);
}

enum { kWhole = 1024 };

static __always_inline struct cpu_counts* this_cpu(void) {
  u32 zero = 0;
  return bpf_map_lookup_elem(&last, &zero);
}

// Brings the counters of this CPU up to now. @param to whom their growth belongs; 0: nobody
// @param share of the growth that is its own, of kWhole
// A reading that is preempted is finished by the switch, for the same thread.
static __always_inline void read_counters(struct cpu_counts* before, struct thread_sums* to, u64 share, u64 now_ns) {
  before->read_ns = now_ns;
  before->is_read = 1;
  u32 cpu = bpf_get_smp_processor_id();
  for (u32 i = 0; i < kMaxThreadCounters && i < thread_machine.counters; ++i) {
    struct bpf_perf_event_value now;
    if (bpf_perf_event_read_value(&events, (u64)i * thread_machine.cpus + cpu, &now, sizeof now)) continue;
    if (before->read_ns != now_ns) return;
    struct thread_count* count = &before->counts[i];
    if (to) {
      to->counts[i].value += (now.counter - count->value) * share / kWhole;
      to->counts[i].enabled_ns += (now.enabled - count->enabled_ns) * share / kWhole;
      to->counts[i].running_ns += (now.running - count->running_ns) * share / kWhole;
    }
    count->value = now.counter;
    count->enabled_ns = now.enabled;
    count->running_ns = now.running;
  }
  before->is_read = 0;
}

static __always_inline struct thread_sums* begin(struct task_struct* task) {
  struct thread_totals* totals = all();
  struct thread_sums* sums = bpf_task_storage_get(&sums_of, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
  if (totals) count_one(sums ? &totals->started : &totals->missed);
  if (!sums) return sums;
  sums->start_ns = bpf_ktime_get_ns();
  sums->tid = BPF_CORE_READ(task, pid);
  return sums;
}

static __always_inline void fill(struct thread_row* row, struct task_struct* task, struct thread_sums* sums, u32 kind) {
  row->pid = BPF_CORE_READ(task, tgid);
  row->tid = sums->tid;
  row->last_tid = sums->end_ns ? sums->last_tid : BPF_CORE_READ(task, pid);
  row->kind = kind;
  row->ran_on = BPF_CORE_READ(task, thread_info.cpu);
  bpf_probe_read_kernel_str(row->name, sizeof row->name, task->comm);
  row->start_ns = sums->start_ns;
  row->end_ns = sums->end_ns ? sums->end_ns : bpf_ktime_get_ns();
  accounted(task, &row->accounted);
  row->accounted.cpu_ns -= sums->before.cpu_ns;
  row->accounted.switches -= sums->before.switches;
  row->accounted.migrations -= sums->before.migrations;
  row->accounted.minor_faults -= sums->before.minor_faults;
  row->accounted.major_faults -= sums->before.major_faults;
}

// @param cpu that it is of  @param with_counts of the CPUs' counters
static __always_inline void tell(struct task_struct* task, struct thread_sums* sums, u32 kind, int cpu,
                                 int with_counts) {
  struct thread_row* row;
  if (thread_machine.counters == 0 || !with_counts) {
    row = bpf_ringbuf_reserve(&rows, offsetof(struct thread_row, counts), 0);
    if (row) {
      fill(row, task, sums, kind);
      row->counters = 0;
    }
  } else {
    row = bpf_ringbuf_reserve(&rows, sizeof *row, 0);
    if (row) {
      fill(row, task, sums, kind);
      row->counters = thread_machine.counters;
      __builtin_memcpy(row->counts, sums->counts, sizeof row->counts);
    }
  }
  if (row) {
    row->cpu = cpu;
    bpf_ringbuf_submit(row, BPF_RB_NO_WAKEUP);
    return;
  }
  struct thread_totals* totals = all();
  if (totals) count_one(&totals->lost);
}

static __always_inline void hand_over(struct task_struct* task, struct thread_sums* sums, u32 kind) {
  tell(task, sums, kind, BPF_CORE_READ(task, thread_info.cpu), 1);
}

// The growth belongs to the current thread. @param to its sums; 0: it does not count
static __always_inline void count_current(struct thread_sums* to) {
  struct cpu_counts* cpu = this_cpu();
  if (thread_machine.counters > 0 && cpu) read_counters(cpu, to, kWhole, bpf_ktime_get_ns());
}

// Its part of the time since the counters were read, by the time for which the kernel says that it ran.
static __always_inline u64 share_of(struct task_struct* task, u64 since_ns, u64 now_ns) {
  u64 ran_ns = BPF_CORE_READ(task, se.sum_exec_runtime) - BPF_CORE_READ(task, se.prev_sum_exec_runtime);
  u64 ns = now_ns - since_ns;
  return ran_ns < ns ? ran_ns * kWhole / ns : kWhole;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(count_switch, _Bool preempt, struct task_struct* prev, struct task_struct* next) {
  struct cpu_counts* cpu = this_cpu();
  if (!cpu) return 0;
  int was_told = cpu->is_known && cpu->tid == prev->pid;
  cpu->tid = next->pid;
  cpu->is_known = 1;
  struct thread_sums* from = bpf_task_storage_get(&sums_of, prev, 0, 0);
  if (!from && !bpf_task_storage_get(&sums_of, next, 0, 0)) return 0;
  if (from && from->waits_for_exec) from = 0;
  u64 now = bpf_ktime_get_ns();
  read_counters(cpu, from, was_told || !from ? kWhole : share_of(prev, cpu->read_ns, now), now);
  return 0;
}

// Attached after count_switch, and so run after it.
SEC("tp_btf/sched_switch")
int tell_switch(u64* context) {
  struct task_struct* prev = (struct task_struct*)context[1];
  struct task_struct* next = (struct task_struct*)context[2];
  int cpu = bpf_get_smp_processor_id();
  struct thread_sums* sums = bpf_task_storage_get(&sums_of, prev, 0, 0);
  if (sums && !sums->waits_for_exec) tell(prev, sums, kRowSwitchedOut, cpu, thread_machine.tells & kTellSwitchCounts);
  sums = bpf_task_storage_get(&sums_of, next, 0, 0);
  if (sums && !sums->waits_for_exec) tell(next, sums, kRowSwitchedIn, cpu, 0);
  return 0;
}

SEC("tp_btf/sched_migrate_task")
int BPF_PROG(tell_migration, struct task_struct* task, int cpu) {
  struct thread_sums* sums = bpf_task_storage_get(&sums_of, task, 0, 0);
  if (sums && !sums->waits_for_exec && !sums->end_ns) tell(task, sums, kRowMigrated, cpu, 1);
  return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(count_fork, struct task_struct* parent, struct task_struct* child) {
  struct thread_sums* of_parent = bpf_task_storage_get(&sums_of, parent, 0, 0);
  if (!of_parent || of_parent->waits_for_exec) return 0;
  struct thread_sums* sums = begin(child);
  if (sums && thread_machine.tells & kTellStarts) tell(child, sums, kRowStarted, bpf_get_smp_processor_id(), 0);
  return 0;
}

// The CPU time of before is that of when the child last gave its CPU away, to wait until it is let go.
SEC("tp_btf/sched_process_exec")
int BPF_PROG(count_exec, struct task_struct* task) {
  struct thread_sums* sums = bpf_task_storage_get(&sums_of, task, 0, 0);
  if (!sums) return 0;
  struct cpu_counts* cpu = this_cpu();
  if (cpu) cpu->tid = BPF_CORE_READ(task, pid);
  if (sums->waits_for_exec) {
    count_current(0);
    begin(task);
    accounted(task, &sums->before);
    sums->waits_for_exec = 0;
  }
  if (thread_machine.tells & kTellStarts) tell(task, sums, kRowExec, bpf_get_smp_processor_id(), 0);
  return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(count_exit, struct task_struct* task) {
  struct thread_sums* sums = bpf_task_storage_get(&sums_of, task, 0, 0);
  if (!sums || sums->waits_for_exec) return 0;
  count_current(sums);
  sums->last_tid = BPF_CORE_READ(task, pid);
  sums->end_ns = bpf_ktime_get_ns();
  hand_over(task, sums, kRowExiting);
  struct thread_totals* totals = all();
  if (totals) count_one(&totals->exiting);
  return 0;
}

// Once it was waited for and nobody can look at it any more: all that the kernel accounts of it is there, and what its
// end took.
SEC("tp_btf/sched_process_free")
int BPF_PROG(count_free, struct task_struct* task) {
  struct thread_sums* sums = bpf_task_storage_get(&sums_of, task, 0, 0);
  if (!sums || sums->waits_for_exec) return 0;
  hand_over(task, sums, kRowFreed);
  struct thread_totals* totals = all();
  if (totals) count_one(&totals->freed);
  return 0;
}

// Run on each CPU: the thread that has it gets what was counted so far.
SEC("raw_tp/sched_switch")
int count_now(void* context) {
  struct thread_sums* sums = bpf_task_storage_get(&sums_of, bpf_get_current_task_btf(), 0, 0);
  if (sums && !sums->waits_for_exec) count_current(sums);
  return 0;
}

// Counts of a row that comes in the middle of a reading are those of the reading before.
static __always_inline void sample(u32 kind) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct thread_sums* sums = bpf_task_storage_get(&sums_of, task, 0, 0);
  if (!sums || sums->waits_for_exec || sums->end_ns) return;
  struct cpu_counts* cpu = this_cpu();
  if (cpu && !cpu->is_read) count_current(sums);
  hand_over(task, sums, kind);
}

// Run by an event of perf each time that it has occurred as often as asked for.
SEC("perf_event")
int count_sample(void* context) {
  sample(kRowSampled);
  return 0;
}

// Run where a function of the program begins.
SEC("uprobe")
int count_self(void* context) {
  sample(kRowSelf);
  return 0;
}

struct bpf_iter_meta;
struct bpf_iter__task {
  struct bpf_iter_meta* meta;
  struct task_struct* task;
};

// Hands over a row of each followed thread that lives.
SEC("iter/task")
int read_living(struct bpf_iter__task* context) {
  struct task_struct* task = context->task;
  if (!task) return 0;
  struct thread_sums* sums = bpf_task_storage_get(&sums_of, task, 0, 0);
  if (sums && !sums->waits_for_exec && !sums->end_ns) hand_over(task, sums, kRowLiving);
  return 0;
}

// Begins to follow the threads of a process.
SEC("iter/task")
int find_threads(struct bpf_iter__task* context) {
  struct task_struct* task = context->task;
  u32 zero = 0;
  int* process = bpf_map_lookup_elem(&process_to_find, &zero);
  if (!task || !process || BPF_CORE_READ(task, tgid) != *process) return 0;
  if (bpf_task_storage_get(&sums_of, task, 0, 0)) return 0;
  struct thread_sums* sums = begin(task);
  if (sums) accounted(task, &sums->before);
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
