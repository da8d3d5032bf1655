#pragma once
/// The call site that is recorded: where the program's own code asks for a lock or waits, not where the C++ library
/// does so for it.
///
/// The return address of a hook lies in std::thread::join, or without optimisation in __gthread_mutex_lock. From there
/// the stack is followed, by the modules' unwind tables, through the functions of such libraries to the first one that
/// is none of theirs.

#include <stdint.h>

#include "wire/sync.h"

namespace attune::probe::hook {

struct Caller {
  uint64_t site = 0;                               ///< return address in the program's own code, as far as it is found
  wire::SyncKind meaning = wire::SyncKind::kNone;  ///< by the library functions between: kFuture, kOnce, kBarrier
};

/// @param site return address of a hook that is active now in this thread
/// @cost 2 ns for code of the program, 30 to 100 ns for that of a library; 100 us when a place is met first
[[gnu::noinline]] Caller FindCaller(uint64_t site);

/// To be called before the program's code runs: whether the C++ library is there.
void PrepareToFindCallers();

/// The interpreted instruction at a site in an interpreter's code (PythonSite); any other site as it is.
/// @pre the thread has a slot
[[gnu::noinline]] uint64_t InterpretedSite(uint64_t object, uint64_t site);

/// The site of FindCaller() alone, as InterpretedSite(). @pre the thread has a slot
[[gnu::noinline]] uint64_t CallSite(uint64_t object, uint64_t site);

}  // namespace attune::probe::hook
