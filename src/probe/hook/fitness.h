#pragma once
/// Whether a program that this one starts may have the probe library among those that are preloaded. LD_PRELOAD is
/// inherited by all children, and some of them would not start with it.

#include "probe/hook/real.h"

namespace attune::probe::hook {

/// The probe library as an environment's LD_PRELOAD names it.
struct Preloaded {
  Words entry = nullptr;          ///< the variable; nullptr: the probe library is not in it
  const char* library = nullptr;  ///< not terminated
  unsigned length = 0;
};
Preloaded FindPreloaded(Words environment);

/// Whether the library may stay in the environment of a program; else it is counted for the session why not. True where
/// that cannot be known: whatever is wrong is said by whoever starts it.
/// @param folder descriptor that a relative path starts from; `path` "": the descriptor's own file
/// Makes system calls, none of which is a cancellation point, and touches neither heap nor locks: it may run in a child
/// of vfork. @cost 5 us
bool MayBePreloaded(const Preloaded& preloaded, int folder, const char* path);
/// As above, for what execvp would start.
bool MayBePreloadedOnPath(const Preloaded& preloaded, const char* file);

/// Pointers, the one behind the last included, and characters that WithoutProbe() needs.
struct EnvironmentSize {
  unsigned long pointers, characters;
};
EnvironmentSize SizeWithoutProbe(Words environment);
/// A copy of the environment without the probe library.
Words WithoutProbe(Words environment, char** pointers, char* characters);

/// Takes the probe library out of the program's own environment.
void LeaveOwnEnvironment();

}  // namespace attune::probe::hook
