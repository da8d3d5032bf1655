/* What process.bpf.c writes into its ring buffer and process_bpf.cpp reads: plain C for both. */
#pragma once

enum { kKernelFork = 1, kKernelThreadStart, kKernelExec, kKernelThreadExit, kKernelExit, kKernelName };

enum { kKernelNameBytes = 16, kKernelCommandBytes = 1024 };

/* Numbers of one thread, or summed over the threads of a process. */
struct kernel_usage {
  unsigned long long user_ns; /* by sampling of the clock tick on most kernels; runtime_ns is exact */
  unsigned long long system_ns;
  unsigned long long runtime_ns;
  unsigned long long minor_faults;
  unsigned long long major_faults;
  unsigned long long voluntary_switches;
  unsigned long long involuntary_switches;
  unsigned long long max_rss_pages;
};

struct kernel_event {
  unsigned int kind;
  int pid;
  int tid;
  int parent_pid;
  unsigned long long t_ns; /* CLOCK_MONOTONIC */
  char name[kKernelNameBytes];
};

struct kernel_exit {
  struct kernel_event event;
  int wait_status;
  int unused;
  struct kernel_usage usage;
};

struct kernel_exec {
  struct kernel_event event;
  unsigned int command_bytes;  /* of the whole command line; more than kKernelCommandBytes: cut */
  unsigned int command_stored; /* bytes of it in `command`; 0: could not be read */
  char command[kKernelCommandBytes];
};

/* A question to the kernel and its answer: which function is at an address. */
struct function_name {
  unsigned long long address;
  char name[120]; /* as "%ps" prints it: with the module behind it; "0x...": there is none */
};
