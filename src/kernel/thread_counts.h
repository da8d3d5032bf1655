/* Sums that thread_counts.bpf.c keeps of each thread, and rows that it hands over: plain C for both. */
#pragma once

enum { kMaxThreadCounters = 16, kThreadNameBytes = 16, kThreadRowsBytes = 8 * 1024 * 1024 };

/* An event's count, and for how long it was to be counted and was: it may share a counter of its CPU with others. */
struct thread_count {
  unsigned long long value;
  unsigned long long enabled_ns;
  unsigned long long running_ns;
};

/* Totals that the kernel accounts of each thread anyway. */
struct thread_accounted {
  unsigned long long cpu_ns;
  unsigned long long switches;
  unsigned long long migrations;
  unsigned long long minor_faults;
  unsigned long long major_faults;
};

/* Sums of a followed thread, since it is followed. */
struct thread_sums {
  unsigned long long start_ns; /* all times: CLOCK_MONOTONIC */
  unsigned long long end_ns;   /* 0: it lives */
  unsigned int waits_for_exec; /* what it does before its exec does not count */
  int tid;                     /* when it was begun to be followed: exec exchanges it with the first thread's */
  int last_tid;                /* when it ended */
  unsigned int unused;
  struct thread_accounted before; /* what was accounted when it was begun to be followed */
  struct thread_count counts[kMaxThreadCounters];
};

/* Why there is a row. */
enum {
  kRowLiving = 0,
  kRowExiting, /* the thread began to end */
  kRowFreed,   /* nothing is added any more */
  kRowSampled, /* it lives, and an event has occurred as often as asked for */
  kRowStarted,
  kRowExec,     /* it has become another program */
  kRowMigrated, /* to the CPU of the row */
  kRowSwitchedIn,
  kRowSwitchedOut,
  kRowSelf /* the thread has taken a sample of itself: attune_counters_sample() */
};

/* Moments that are handed over only where somebody wants them: bits of thread_machine.tells. */
enum {
  kTellStarts = 1,
  kTellMigrations = 2,
  kTellSwitches = 4,
  kTellSwitchCounts = 8, /* with kTellSwitches: what a thread has counted when it leaves its CPU */
  kTellSelf = 16         /* ThreadCountsBpf::SampleAt() can be called */
};

/* A thread's sums up to its end, or up to now. */
struct thread_row {
  int pid;
  int tid; /* as in thread_sums: the same in all rows of a thread */
  unsigned int kind;
  unsigned int counters; /* of `counts` in use; 0: they are not told */
  int cpu;               /* that it is on, or was on last */
  int last_tid;          /* now, or when it ended */
  int ran_on;            /* CPU of what it counted last: not yet `cpu`, where it moves there */
  char name[kThreadNameBytes];
  unsigned long long start_ns;
  unsigned long long end_ns; /* of one that lives: now */
  struct thread_accounted accounted;
  /* End of the row where nothing but this is counted. */
  struct thread_count counts[kMaxThreadCounters];
};

/* Totals of all threads. */
struct thread_totals {
  unsigned long long started; /* threads that were followed */
  unsigned long long exiting; /* those of them that began to end */
  unsigned long long freed;
  unsigned long long lost;   /* rows that found no room */
  unsigned long long missed; /* threads that could not be followed, for lack of memory */
};

/* Constants of the programs, set before they are loaded. */
struct thread_machine {
  unsigned int counters; /* of each CPU */
  unsigned int cpus;     /* that are possible: events[counter * cpus + cpu] */
  unsigned int tells;    /* kTellStarts, ... */
};
