#pragma once
/// The state of the machine as the session sees it, for programs that make room for others. C11, and C++17 or later.
///
///   attune_machine_t machine = attune_machine();
///   if (machine.alarms & ATTUNE_ALARM_MEMORY) KeepLess();
///   if (machine.alarms & ATTUNE_ALARM_LOAD) UseThreads(cpus - machine.others_cpus);
///
/// The session judges its own samples, once a second, by the rules of `attune alarms --list`: thresholds are those of
/// `attune run --alarm NAME=VALUE` and `attune ctl alarm NAME=VALUE`. The program reads neither files nor sensors.
///
/// Link with -lattune_probe as for markers (attune/probe.h), whose switches ATTUNE_DISABLE and ATTUNE_OPTIONAL hold
/// here, too. Without attune, and after the session's end, nothing is raised. Threads, errors and cost are those of
/// attune/probe.h: a load, and a read of the clock while something is raised.

#include <stdint.h>

#include "attune/probe.h"

enum {
  ATTUNE_ALARM_MEMORY = 1, /* an alarm whose name begins with "memory." */
  ATTUNE_ALARM_HEAT = 2,   /* "heat.", or cpu.slow_clock */
  ATTUNE_ALARM_LOAD = 4    /* cpu.others: other programs have CPUs */
};

typedef struct attune_machine_state {
  uint32_t alarms;      /* those that are raised: the bits above */
  uint32_t others_cpus; /* CPUs that other programs have, rounded, at most 255; 0 without ATTUNE_ALARM_LOAD */
} attune_machine_t;

#ifndef ATTUNE_DISABLE
#ifdef __cplusplus
extern "C" {
#endif
ATTUNE_IMPORT_ uint32_t attune_probe_machine(uint32_t* others_cpus);
#ifdef __cplusplus
}
#endif
#endif

/// The state now.
static inline attune_machine_t attune_machine(void) {
  attune_machine_t machine = {0, 0};
#ifndef ATTUNE_DISABLE
#ifdef ATTUNE_OPTIONAL
  if (!&attune_probe_machine) return machine;
#endif
  machine.alarms = attune_probe_machine(&machine.others_cpus);
#endif
  return machine;
}
