#pragma once
/// Decides whether the probe library may stay in the LD_PRELOAD of a child program. All children inherit LD_PRELOAD,
/// and some of them would not start with the library.

#include "probe/hook/real.h"

namespace attune::probe::hook {

/// The probe library as an environment's LD_PRELOAD names it.
struct Preloaded {
  Words entry = nullptr;          ///< the variable; nullptr: the probe library is not in it
  const char* library = nullptr;  ///< not terminated
  unsigned length = 0;
};
Preloaded FindPreloaded(Words environment);

/// Whether the library may stay in the environment of a program. If not, the reason is counted for the session. True if
/// that is not known: the call that starts the program then reports the error.
/// @param folder base of a relative path; `path` "": the file of the descriptor itself
/// Makes system calls that are no cancellation points, and uses neither heap nor locks: it may run in a child of vfork.
/// @cost 5 us
bool MayBePreloaded(const Preloaded& preloaded, int folder, const char* path);
/// The same for the program that execvp would start.
bool MayBePreloadedOnPath(const Preloaded& preloaded, const char* file);

/// Number of pointers (with the terminating one) and characters that WithoutProbe() needs.
struct EnvironmentSize {
  unsigned long pointers, characters;
};
EnvironmentSize SizeWithoutProbe(Words environment);
/// A copy of the environment without the probe library.
Words WithoutProbe(Words environment, char** pointers, char* characters);

/// Takes the probe library out of the program's own environment.
void LeaveOwnEnvironment();

}  // namespace attune::probe::hook
