#pragma once
/// Knobs of a program's own: variables that attune may change while the program runs. C11, and C++17 or later.
///
///   static int64_t batch = 64;
///   attune_knob("queue.batch", &batch, 1, 4096, "items", ATTUNE_AT_SAFE_POINTS);   // once, at the start
///   while (Next()) {
///     attune_safe_point();                                                           // batch may change here
///     Work(batch);
///   }
///
/// Link with -lattune_probe as for markers (attune/probe.h), whose switches ATTUNE_DISABLE and ATTUNE_OPTIONAL hold
/// here, too. Under `attune tune` the variable is tried with other values within its limits, and keeps one that makes
/// the program faster (docs/knobs.md). Without attune both functions do nothing.
///
/// **Threads.** A value is stored at once (relaxed atomic), by a thread of the program: read it by one load. With
/// ATTUNE_AT_SAFE_POINTS it changes within attune_safe_point() alone; with ATTUNE_ANYWHERE also where the program takes
/// a condition, a barrier, a parallel region, or calls MPI.

#include <stdint.h>

#include "attune/probe.h"

enum { ATTUNE_ANYWHERE = 0, ATTUNE_AT_SAFE_POINTS = 1 };

#ifndef ATTUNE_DISABLE

#ifdef __cplusplus
extern "C" {
#endif
ATTUNE_IMPORT_ void attune_probe_knob(const char* name, int64_t* variable, int64_t low, int64_t high, const char* unit,
                                      int at);
ATTUNE_IMPORT_ void attune_probe_safe_point(void);
#ifdef __cplusplus
}
#endif

/// Declares a knob. @param name lower-case letters, digits, '.', '-' and '_'; the same in all processes of the program
/// @param variable lives as long as the process; its value now is within the limits  @param unit may be ""
/// @cost once, some microseconds
static inline void attune_knob(const char* name, int64_t* variable, int64_t low, int64_t high, const char* unit,
                               int at) {
#ifdef ATTUNE_OPTIONAL
  if (!&attune_probe_level) return;
#endif
  attune_probe_knob(name, variable, low, high, unit, at);
}

/// Knobs may change here. @cost a call and two loads
static inline void attune_safe_point(void) {
#ifdef ATTUNE_OPTIONAL
  if (!&attune_probe_level) return;
#endif
  attune_probe_safe_point();
}

#else /* ATTUNE_DISABLE */

static inline void attune_knob(const char* name, int64_t* variable, int64_t low, int64_t high, const char* unit,
                               int at) {
  (void)name, (void)variable, (void)low, (void)high, (void)unit, (void)at;
}
static inline void attune_safe_point(void) {}

#endif
