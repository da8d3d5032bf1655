#pragma once
/// The used part of OMPT, the interface between an OpenMP runtime and its tool (OpenMP 5.2, chapter 4, whose names are
/// in the comments). Declared here, since the probe is built without any such runtime.

#include <stdint.h>

namespace attune::probe::hook::ompt {

using Function = void (*)();
using Lookup = Function (*)(const char* name);  ///< ompt_function_lookup_t

/// ompt_data_t: a word of the tool's own, which begins as 0.
struct Data {
  uint64_t value;
};

/// ompt_start_tool_result_t
struct Tool {
  int (*initialise)(Lookup lookup, int device, Data* tool);  ///< 0: the tool is not wanted after all
  void (*finalise)(Data* tool);
  Data data;
};

/// ompt_callbacks_t
enum class Event : int {
  kParallelBegin = 3,
  kTaskSchedule = 6,
  kImplicitTask = 7,
  kSyncRegionWait = 16,
  kMutexReleased = 17,
  kMutexAcquire = 26,
  kMutexAcquired = 27,
  kNestLock = 28,
};

using SetCallback = int (*)(Event event, Function callback);  ///< ompt_set_callback_t

/// ompt_scope_endpoint_t
enum class Endpoint : int { kBegin = 1, kEnd = 2 };

/// ompt_sync_region_t. LLVM 14 has one kind for the ends of loops and of regions, later ones have two.
enum class Region : int {
  kBarrier = 1,
  kBarrierImplicit = 2,
  kBarrierExplicit = 3,
  kBarrierImplementation = 4,
  kTaskWait = 5,
  kTaskGroup = 6,
  kBarrierImplicitWorkshare = 8,
  kBarrierImplicitParallel = 9,
  kBarrierTeams = 10,
};

/// ompt_mutex_t
enum class Mutex : int {
  kLock = 1,
  kTestLock = 2,
  kNestLock = 3,
  kTestNestLock = 4,
  kCritical = 5,
  kAtomic = 6,
  kOrdered = 7,
};

}  // namespace attune::probe::hook::ompt
