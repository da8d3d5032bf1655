#pragma once
/// What the observed program does over and over: a case is one kind of operation. C and C++, so that each of the two
/// calls its own library.

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct SyncSetup {
  int cpus[2];       ///< where the first and the second thread run
  uint32_t threads;  ///< "tables": how many
} SyncSetup;

typedef struct SyncCase {
  const char* name;
  /// Once, before the first round: starts the threads that the case has. NULL: none.
  void (*prepare)(const SyncSetup* setup);
  /// Returns when so many operations are done, by all threads together.
  void (*run)(uint64_t operations);
} SyncCase;

/// The last one has no name.
extern const SyncCase kPthreadCases[];
extern const SyncCase kFileCases[];
extern const SyncCase kStandardCases[];

/// Moves the calling thread to a CPU.
void PinTo(int cpu);
/// Starts a thread that sleeps for ever: from now on the C library may not leave out what it needs between threads.
void StartIdleThread(const SyncSetup* setup);
__attribute__((noreturn)) void Fail(const char* what);

#ifdef __cplusplus
}
#endif
