#pragma once
/// Call sites in programs of CPython 3.11: the line of Python that waits, instead of the interpreter's own code.
///
/// A thread's frames of Python lie in memory that only the thread itself changes. So they are read where it stands in
/// a hook, whether it has the interpreter's lock or not; nothing is asked of the interpreter but the thread's state,
/// which it has in a variable of the thread.

#include <stdint.h>

#include "probe/hook/module.h"

namespace attune::probe::hook {

/// Whether the program has such an interpreter. Other versions, and one that is loaded later, are code like any other.
void PrepareToFindPython();

/// Whether a module is the interpreter, or a part of it that is loaded as a library.
bool IsInterpreter(const ModuleBounds& bounds);

extern bool g_has_python;
/// Whether PrepareToFindPython() found one.
inline bool HasPython() { return __builtin_expect(g_has_python, 0); }

/// Whether a call of the interpreter's takes or releases a lock of the program's own: threading.Lock and
/// multiprocessing.Lock are semaphores, as is what Python's library makes of them, where one thread waits until another
/// one releases it. @pre HasPython()  @cost 10 ns
[[gnu::noinline]] bool IsPythonLock(uint64_t site);
/// Whether the thread waits for the result of a pool's piece of work: in Future.result of concurrent.futures, or
/// AsyncResult.get of multiprocessing, which wait for a semaphore.  @pre HasPython()  @cost 5 ns a frame
[[gnu::noinline]] bool IsPythonFuture(uint64_t site);

/// The place in the program's own Python from which the interpreter called a hook: the address of an instruction of
/// Python, of whose function, file and line the session was told. Functions of Python's library are passed over, as far
/// as one of the program's own called them.
/// @param object what the call is about. What lies in the interpreter itself is its own (its lock).
/// @param site in the interpreter  @return `site` where nothing better is known, or the session cannot be told now
/// @pre the thread has a slot  @thread any, also in a signal handler; keeps errno  @cost 30 ns and 2 ns a frame; 2 us
/// when a place is met first
[[gnu::noinline]] uint64_t PythonSite(uint64_t object, uint64_t site);

}  // namespace attune::probe::hook
