/* What schedule.bpf.c keeps of each thread, in memory that the session maps: plain C for both. */
#pragma once

/* What a thread does; up to kStateEnd the numbers of model::TimeState. */
enum {
  kStateNone = 0,
  kStateRunning,
  kStateQueuedProgram, /* while a followed thread had the CPU that it waited for */
  kStateQueuedOthers,
  kStateQueuedWake, /* while that CPU was idle */
  kStateFutex,      /* the first of the kinds of sleep */
  kStateSleep,
  kStatePoll,
  kStatePipe,
  kStateSocket,
  kStateDevice,
  kStateFile,
  kStateEvent,
  kStateChild,
  kStateSignal,
  kStateMemory,
  kStateStopped,
  kStateCall,
  kStateEnd,
  kStateDescriptor, /* of a system call: the kind of its descriptor is to be looked up */
  kStateQueued,     /* of a slot: behind whom is known when it gets a CPU */
  kStateDone        /* of a slot: the thread has ended */
};

enum { kMaxSlots = 16384, kMaxWakers = 16384, kMaxCalls = 512 };

/* Shorter stretches in which one thread alone was active are in its sum only: a program may have many. */
enum { kLeastLoneNs = 50000, kLoneRingBytes = 2 * 1024 * 1024 };

struct slot_sum {
  unsigned long long ns;
  unsigned long long count; /* times that the state ended */
};

/* How long the type of a descriptor is taken for known: within it, another file with its number counts as the old one.
 */
enum { kKnownDescriptorNs = 10000000 };

struct descriptor_kind {
  unsigned long long number;
  unsigned long long until_ns;
  unsigned int state; /* a sleep on it */
  unsigned int unused;
};

/* Sleeps of a slot's thread that one other thread ended; kept for the first few of those, the others are in a map. */
struct slot_waker {
  int waker; /* 0: none yet */
  unsigned int state;
  struct slot_sum sum;
};
enum { kSlotWakers = 4 };

/* Sums since the thread is followed, without its present state. Each number is written by one CPU at a time. */
struct thread_slot {
  int tid; /* 0: free */
  int pid;
  unsigned int state;
  int waker;                        /* thread that ended its last sleep; 0: a timer or device */
  unsigned int number;              /* of the slot, from 1 */
  unsigned int queue_cpu;           /* 1 + the CPU for which it began to queue; 0: not known */
  unsigned long long start_ns;      /* all times: CLOCK_MONOTONIC */
  unsigned long long since_ns;      /* of the state */
  unsigned long long alone_ns;      /* active (running or queued) while no other followed thread was */
  unsigned long long idle_cpus_ns;  /* integral of (CPUs - active threads) / active threads while it was active */
  unsigned long long alone_mark_ns; /* of the same sum of all, when it became active */
  unsigned long long idle_cpus_mark_ns;
  struct slot_sum by_state[kStateEnd];
  struct slot_waker wakers[kSlotWakers];
  struct descriptor_kind descriptor; /* that it slept on last */
  /* What that CPU had run for this program and for others then. */
  unsigned long long queue_program_ns;
  unsigned long long queue_others_ns;
};

/* Sleeps of one thread that another one ended. */
struct waker_key {
  int tid;
  int waker;
  unsigned int state;
};

/* Of all followed threads. */
struct schedule_totals {
  unsigned long long since_ns; /* of what follows */
  unsigned long long alone_ns;
  unsigned long long idle_cpus_ns;
  unsigned long long no_thread_ns;  /* none was active */
  long long active;                 /* now */
  long long active_numbers;         /* of their slots, added up: the number of the only one */
  unsigned long long lone_since_ns; /* one thread alone is active since then; 0: none or several are */
  unsigned long long slots;         /* that were ever used */
  unsigned long long left_out;      /* threads that found no slot, sleeps that found no room */
};

/* A stretch in which one followed thread alone was active. */
struct lone_stretch {
  unsigned long long start_ns;
  unsigned long long end_ns;
  unsigned int number; /* of its slot */
  int next;            /* thread that became active then; 0: the thread itself became inactive */
};

/* Whom a CPU runs. */
enum { kCpuProgram = 0, kCpuOthers, kCpuIdle, kCpuKinds };

/* Of one CPU. */
struct cpu_totals {
  unsigned long long since_ns; /* of `kind`; 0: no switch was seen yet */
  unsigned int kind;
  unsigned int before;              /* the kind before it */
  unsigned long long ns[kCpuKinds]; /* without that */
};

/* What the programs are told before they are loaded. */
struct schedule_machine {
  unsigned int cpus;                      /* that are online */
  unsigned char state_of_call[kMaxCalls]; /* by the number of a system call: the sleep that it means */
};
