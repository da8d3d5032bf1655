// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Accounts for each moment of each followed thread: running, queued for a CPU, or asleep in which kind of system call,
// and who ended that sleep. Sums are kept in memory that the session maps, so that reading them costs no system call.
//
// The structs below name the few fields that are read; libbpf finds their places in the running kernel (CO-RE).

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "kernel/schedule_slots.h"

typedef unsigned int u32;
typedef unsigned long long u64;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct inode {
  unsigned short i_mode;
};

struct file {
  struct inode* f_inode;
};

struct fdtable {
  unsigned int max_fds;
  struct file** fd;
};

struct files_struct {
  struct fdtable* fdt;
};

struct sched_entity {
  u64 sum_exec_runtime;
  u64 prev_sum_exec_runtime;
};

struct task_struct {
  unsigned int __state;
  unsigned int flags;
  int pid, tgid, on_cpu;
  struct sched_entity se;
  struct files_struct* files;
};

#if defined(__TARGET_ARCH_arm64)
struct user_pt_regs___kernel {
  u64 regs[31];
};
struct pt_regs___kernel {
  u64 regs[31];
  u64 orig_x0;
  int syscallno;
};
#else
struct pt_regs___kernel {
  u64 di;
  u64 orig_ax;
};
#endif

#pragma clang attribute pop

#define TASK_STOPPED_OR_TRACED 0x0cu  // include/linux/sched.h
#define TASK_DEAD 0x80u
#define EXIT_ZOMBIE_OR_DEAD 0x30u
#define PF_IDLE 0x2u
#define S_IFMT 0170000
#define S_IFIFO 0010000
#define S_IFSOCK 0140000
#define S_IFCHR 0020000
#define S_IFREG 0100000
#define S_IFBLK 0060000

// The watcher's map (process.bpf.c): thread groups that are followed.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 65536);
  __type(key, int);
  __type(value, char);
} followed SEC(".maps") __weak;

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, kMaxSlots);
  __type(key, u32);
  __type(value, struct thread_slot);
} slots SEC(".maps");

// Which slot a thread has.
struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, u32);
} slot_of SEC(".maps");

// Slots that the session has read after their threads' ends.
struct {
  __uint(type, BPF_MAP_TYPE_QUEUE);
  __uint(max_entries, kMaxSlots);
  __type(value, u32);
} free_slots SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct schedule_totals);
} totals SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct cpu_totals);
} cpus SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, kMaxWakers);
  __type(key, struct waker_key);
  __type(value, struct slot_sum);
} wakers SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, kLoneRingBytes);
} lone SEC(".maps");

const volatile struct schedule_machine machine SEC(".rodata.schedule") = {.cpus = 1};  // set before loading

static __always_inline struct thread_slot* slot_of_task(struct task_struct* task) {
  u32* index = bpf_task_storage_get(&slot_of, task, 0, 0);
  return index ? bpf_map_lookup_elem(&slots, index) : 0;
}

static __always_inline struct schedule_totals* all(void) {
  u32 zero = 0;
  return bpf_map_lookup_elem(&totals, &zero);
}

static __always_inline void leave_out(void) {
  struct schedule_totals* sum = all();
  if (sum) __sync_fetch_and_add(&sum->left_out, 1);
}

// Brings the sums of all up to now. Of two CPUs that do so at once each adds a part of the time.
static __always_inline void add_time(struct schedule_totals* sum, u64 now) {
  u64 since = __sync_lock_test_and_set(&sum->since_ns, now);
  if (now <= since || since == 0) return;
  u64 ns = now - since;
  long long active = sum->active;
  if (active <= 0) {
    __sync_fetch_and_add(&sum->no_thread_ns, ns);
    return;
  }
  if (active == 1) __sync_fetch_and_add(&sum->alone_ns, ns);
  u32 cpus = machine.cpus;
  if (active < cpus) __sync_fetch_and_add(&sum->idle_cpus_ns, ns * (u64)(cpus - (u32)active) / (u64)active);
}

// Hands over the stretch that ends now, if one thread alone was active. @param next thread that becomes active;
// 0: that thread itself is not active any more
static __always_inline void end_lone(struct schedule_totals* sum, int next, u64 now) {
  u64 since = __sync_lock_test_and_set(&sum->lone_since_ns, 0);
  u32 number = (u32)sum->active_numbers;
  if (since == 0 || now < since + kLeastLoneNs) return;
  struct lone_stretch* stretch = bpf_ringbuf_reserve(&lone, sizeof *stretch, 0);
  if (!stretch) {
    __sync_fetch_and_add(&sum->left_out, 1);
    return;
  }
  stretch->start_ns = since;
  stretch->end_ns = now;
  stretch->number = number;
  stretch->next = next;
  bpf_ringbuf_submit(stretch, BPF_RB_NO_WAKEUP);
}

static __always_inline void become_active(struct thread_slot* slot, int tid, u64 now) {
  struct schedule_totals* sum = all();
  if (!sum) return;
  add_time(sum, now);
  long long before = __sync_fetch_and_add(&sum->active, 1);
  if (before == 1) end_lone(sum, tid, now);
  __sync_fetch_and_add(&sum->active_numbers, slot->number);
  if (before == 0) sum->lone_since_ns = now;
  slot->alone_mark_ns = sum->alone_ns;
  slot->idle_cpus_mark_ns = sum->idle_cpus_ns;
}

static __always_inline void become_inactive(struct thread_slot* slot, u64 now) {
  struct schedule_totals* sum = all();
  if (!sum) return;
  add_time(sum, now);
  long long before = __sync_fetch_and_add(&sum->active, -1);
  if (before == 1) end_lone(sum, 0, now);
  __sync_fetch_and_add(&sum->active_numbers, -(long long)slot->number);
  if (before == 2) sum->lone_since_ns = now;
  slot->alone_ns += sum->alone_ns - slot->alone_mark_ns;
  slot->idle_cpus_ns += sum->idle_cpus_ns - slot->idle_cpus_mark_ns;
}

static __always_inline int is_sleep(u32 state) { return state >= kStateFutex && state < kStateEnd; }

static __always_inline void take_slot(struct task_struct* task, u64 now, u32 state) {
  if (bpf_task_storage_get(&slot_of, task, 0, 0)) return;
  struct schedule_totals* sum = all();
  if (!sum) return;
  u32 index;
  if (bpf_map_pop_elem(&free_slots, &index)) {
    index = __sync_fetch_and_add(&sum->slots, 1);
    if (index >= kMaxSlots) {
      __sync_fetch_and_add(&sum->slots, -1);
      leave_out();
      return;
    }
  }
  struct thread_slot* slot = bpf_map_lookup_elem(&slots, &index);
  if (!slot) return;
  if (!bpf_task_storage_get(&slot_of, task, &index, BPF_LOCAL_STORAGE_GET_F_CREATE)) {
    bpf_map_push_elem(&free_slots, &index, 0);
    leave_out();
    return;
  }
  slot->pid = BPF_CORE_READ(task, tgid);
  slot->number = index + 1;
  slot->start_ns = now;
  slot->since_ns = now;
  slot->state = state;
  int tid = BPF_CORE_READ(task, pid);
  if (!is_sleep(state)) become_active(slot, tid, now);
  slot->tid = tid;
}

static __always_inline void add(struct thread_slot* slot, u32 state, u64 now) {
  // The verifier of Linux 6.1 learns no range from a comparison that the compiler has merged with is_sleep()'s.
  barrier_var(state);
  if (state >= kStateEnd) return;
  slot->by_state[state].ns += now - slot->since_ns;
  ++slot->by_state[state].count;
}

static __always_inline u32 state_of_descriptor(struct task_struct* task, u64 number) {
  struct fdtable* table = BPF_CORE_READ(task, files, fdt);
  if (number >= BPF_CORE_READ(table, max_fds)) return kStateCall;
  struct file** files = BPF_CORE_READ(table, fd);
  struct file* file = 0;
  bpf_core_read(&file, sizeof file, files + number);
  switch (BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT) {
    case S_IFIFO: return kStatePipe;
    case S_IFSOCK: return kStateSocket;
    case S_IFCHR: return kStateDevice;
    case S_IFREG:
    case S_IFBLK: return kStateFile;
    default: return kStateEvent;
  }
}

// The system call that a thread is in; negative: it came to the kernel by an exception or an interrupt.
static __always_inline long call_of(struct pt_regs___kernel* registers) {
#if defined(__TARGET_ARCH_arm64)
  return BPF_CORE_READ(registers, syscallno);
#else
  return (int)BPF_CORE_READ(registers, orig_ax);
#endif
}

static __always_inline u64 first_argument_of(struct pt_regs___kernel* registers) {
#if defined(__TARGET_ARCH_arm64)
  return BPF_CORE_READ(registers, orig_x0);
#else
  return BPF_CORE_READ(registers, di);
#endif
}

// The sleep that the current thread begins, by its system call. A descriptor's type is looked up once in a while: its
// number may become another file's.
static __always_inline u32 state_of_sleep(struct thread_slot* slot, struct task_struct* task, u64 state, u64 now) {
  if (state & TASK_STOPPED_OR_TRACED) return kStateStopped;
  struct pt_regs___kernel* registers = (struct pt_regs___kernel*)bpf_task_pt_regs(task);
  long number = call_of(registers);
  if (number < 0) return kStateMemory;
  u32 index = (u32)number;
  barrier_var(index);  // without a sign, whose extension the verifier of Linux 6.1 does not follow
  if (index >= kMaxCalls) return kStateCall;
  u32 sleep = machine.state_of_call[index];
  if (sleep != kStateDescriptor) return sleep;
  u64 descriptor = first_argument_of(registers);
  struct descriptor_kind* known = &slot->descriptor;
  if (known->number == descriptor && now < known->until_ns) return known->state;
  known->number = descriptor;
  known->state = state_of_descriptor(task, descriptor);
  known->until_ns = now + kKnownDescriptorNs;
  return known->state;
}

// Without a look-up where the thread is woken by few others, as the two ends of a pipe are.
static __always_inline struct slot_sum* known_waker(struct thread_slot* slot, u32 state) {
#pragma unroll
  for (int i = 0; i < kSlotWakers; ++i) {
    struct slot_waker* known = &slot->wakers[i];
    if (known->waker == 0) {
      known->waker = slot->waker;
      known->state = state;
    }
    if (known->waker == slot->waker && known->state == state) return &known->sum;
  }
  return 0;
}

static __always_inline void add_waker(struct thread_slot* slot, u32 state, u64 ns) {
  struct slot_sum* known = known_waker(slot, state);
  if (known) {
    known->ns += ns;
    ++known->count;
    return;
  }
  struct waker_key key = {.tid = slot->tid, .waker = slot->waker, .state = state};
  struct slot_sum* sum = bpf_map_lookup_elem(&wakers, &key);
  if (sum) {  // no two CPUs end a sleep of one thread at once
    sum->ns += ns;
    ++sum->count;
    return;
  }
  struct slot_sum first = {.ns = ns, .count = 1};
  if (bpf_map_update_elem(&wakers, &key, &first, BPF_ANY)) leave_out();
}

static __always_inline void end_sleep(struct thread_slot* slot, u64 now) {
  u32 state = slot->state;
  add(slot, state, now);
  if (slot->waker) add_waker(slot, state, now - slot->since_ns);
  become_active(slot, slot->tid, now);
}

// The thread queues from now on for the CPU that it had. @param cpu its sums are up to date; 0: none
static __always_inline void begin_queue(struct thread_slot* slot, struct cpu_totals* cpu) {
  slot->queue_cpu = 0;
  if (!cpu) return;
  slot->queue_cpu = 1 + bpf_get_smp_processor_id();
  slot->queue_program_ns = cpu->ns[kCpuProgram];
  slot->queue_others_ns = cpu->ns[kCpuOthers];
}

// Splits the time in the queue by whom the CPU ran meanwhile. Where it queued for another CPU first, or nobody knows
// for which, the last one that this CPU ran counts for as long as it ran, and before that its predecessor.
// @param cpu its sums are up to date  @param since when what it ran last began, of the kind `last`
static __always_inline void end_queue(struct thread_slot* slot, struct cpu_totals* cpu, u32 last, u64 since, u64 now) {
  u64 left = now - slot->since_ns;
  u64 parts[kCpuKinds] = {};
  if (slot->queue_cpu == 1 + bpf_get_smp_processor_id()) {
    u64 program = cpu->ns[kCpuProgram] - slot->queue_program_ns;
    u64 others = cpu->ns[kCpuOthers] - slot->queue_others_ns;
    parts[kCpuProgram] = program < left ? program : left;
    left -= parts[kCpuProgram];
    parts[kCpuOthers] = others < left ? others : left;
    parts[kCpuIdle] = left - parts[kCpuOthers];
  } else {
    u64 ran = now > since ? now - since : 0;
    if (ran > left) ran = left;
    if (last < kCpuKinds) parts[last] = ran;
    if (cpu->before < kCpuKinds) parts[cpu->before] += left - ran;
  }
  slot->by_state[kStateQueuedProgram].ns += parts[kCpuProgram];
  slot->by_state[kStateQueuedOthers].ns += parts[kCpuOthers];
  slot->by_state[kStateQueuedWake].ns += parts[kCpuIdle];
  u32 most = parts[kCpuOthers] > parts[kCpuProgram] ? kCpuOthers : kCpuProgram;
  if (parts[kCpuIdle] > parts[most]) most = kCpuIdle;
  if (most < kCpuKinds) ++slot->by_state[kStateQueuedProgram + most].count;
}

static __always_inline void switch_out(struct thread_slot* slot, struct task_struct* task, struct cpu_totals* cpu,
                                       u64 state, u64 now) {
  if (is_sleep(slot->state)) become_active(slot, slot->tid, now);  // it was taken for asleep when it was found
  add(slot, slot->state, now);
  if (state == 0) {
    slot->state = kStateQueued;
    begin_queue(slot, cpu);
  } else if (state & (TASK_DEAD | EXIT_ZOMBIE_OR_DEAD)) {
    become_inactive(slot, now);
    slot->state = kStateDone;
  } else {
    slot->waker = 0;
    become_inactive(slot, now);
    slot->state = state_of_sleep(slot, task, state, now);
  }
  slot->since_ns = now;
}

// @param cpu, last, since as end_queue()
static __always_inline void switch_in(struct thread_slot* slot, struct cpu_totals* cpu, u32 last, u64 since, u64 now) {
  if (is_sleep(slot->state)) {
    end_sleep(slot, now);  // woken before its sleep was noted
  } else if (slot->state == kStateQueued && cpu) {
    end_queue(slot, cpu, last, since, now);
  }
  slot->state = kStateRunning;
  slot->since_ns = now;
}

// Some switches are not told (seen with Linux 6.18 on full CPUs, in the kernel's own trace, too): a thread that is
// switched out while it is queued was switched in unseen, as long ago as it has run since.
static __always_inline void switch_in_unseen(struct thread_slot* slot, struct task_struct* task, struct cpu_totals* cpu,
                                             u64 now) {
  u64 ran_ns = BPF_CORE_READ(task, se.sum_exec_runtime) - BPF_CORE_READ(task, se.prev_sum_exec_runtime);
  u64 least = slot->since_ns > cpu->since_ns ? slot->since_ns : cpu->since_ns;
  u64 then = ran_ns < now - least ? now - ran_ns : least;
  u32 kind = cpu->kind;
  if (kind < kCpuKinds) {
    if (cpu->since_ns) cpu->ns[kind] += then - cpu->since_ns;
    switch_in(slot, cpu, kind, cpu->since_ns, then);
  }
  cpu->since_ns = then;
}

static __always_inline u32 kind_of(struct thread_slot* slot, struct task_struct* task) {
  return slot ? kCpuProgram : task->flags & PF_IDLE ? kCpuIdle : kCpuOthers;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, _Bool preempt, struct task_struct* prev, struct task_struct* next, unsigned int prev_state) {
  u32 zero = 0;
  u64 now = bpf_ktime_get_ns();
  struct thread_slot* from = slot_of_task(prev);
  struct thread_slot* to = slot_of_task(next);
  u32 kind = kind_of(from, prev);
  struct cpu_totals* cpu = bpf_map_lookup_elem(&cpus, &zero);
  if (cpu && from && from->state == kStateQueued) switch_in_unseen(from, prev, cpu, now);
  u64 since = now;
  if (cpu && kind < kCpuKinds) {
    if (cpu->since_ns) {
      since = cpu->since_ns;
      cpu->ns[kind] += now - since;
    }
  }
  if (from) switch_out(from, prev, cpu, preempt ? 0 : prev_state, now);
  if (to) switch_in(to, cpu, kind, since, now);
  if (cpu) {
    cpu->before = kind;
    cpu->kind = kind_of(to, next);
    cpu->since_ns = now;
  }
  return 0;
}

// Whoever wakes a thread up is the current thread, by a system call. One that is not in any was interrupted by a timer
// or a device.
SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct* task) {
  struct thread_slot* slot = slot_of_task(task);
  if (!slot || !is_sleep(slot->state)) return 0;
  if (call_of((struct pt_regs___kernel*)bpf_task_pt_regs(bpf_get_current_task_btf())) >= 0)
    slot->waker = (int)bpf_get_current_pid_tgid();
  u64 now = bpf_ktime_get_ns();
  end_sleep(slot, now);
  slot->state = kStateQueued;
  slot->queue_cpu = 0;
  slot->since_ns = now;
  return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork_slot, struct task_struct* parent, struct task_struct* child) {
  int tgid = BPF_CORE_READ(parent, tgid);
  if (bpf_map_lookup_elem(&followed, &tgid)) take_slot(child, bpf_ktime_get_ns(), kStateQueued);
  return 0;
}

// A process that is followed from its exec on. Another thread than the first one has the first one's id from now on.
SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec_slot, struct task_struct* task) {
  struct thread_slot* slot = slot_of_task(task);
  if (slot) slot->tid = BPF_CORE_READ(task, pid);
  int tgid = BPF_CORE_READ(task, tgid);
  if (!slot && bpf_map_lookup_elem(&followed, &tgid)) take_slot(task, bpf_ktime_get_ns(), kStateRunning);
  return 0;
}

// Threads that are there already. Run once for each process that is followed from its middle on.
struct bpf_iter_meta;
struct bpf_iter__task {
  struct bpf_iter_meta* meta;
  struct task_struct* task;
};

SEC("iter/task")
int on_task(struct bpf_iter__task* context) {
  struct task_struct* task = context->task;
  if (!task) return 0;
  int tgid = BPF_CORE_READ(task, tgid);
  if (!bpf_map_lookup_elem(&followed, &tgid)) return 0;
  u32 state = BPF_CORE_READ(task, __state) ? kStateCall : kStateQueued;
  if (bpf_core_field_exists(task->on_cpu) && BPF_CORE_READ(task, on_cpu)) state = kStateRunning;
  take_slot(task, bpf_ktime_get_ns(), state);
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
