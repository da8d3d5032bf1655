#pragma once
/// The OpenMP runtime's real functions behind the probe's hooks: those of GCC's libgomp, or of another runtime with the
/// same functions (LLVM's).
///
/// A process may have several runtimes, loaded late and visible only to the libraries that need them (two Python
/// packages with their own libgomp). They must not be mixed: one runtime knows nothing of a loop of the other. So each
/// call goes to the function that the loader would have bound its caller to.

#include <stdint.h>

#include "probe/core.h"

namespace attune::probe::hook {

using OpenMpRegion = void (*)(void* data);
using OpenMpCopy = void (*)(void* to, void* from);

// X(result, name, (parameters), (arguments), alone): alone is what happens where there is no runtime: a team of one.
// clang-format off
#define ATTUNE_OPENMP_LOOPS(X, name)                                                                                   \
  X(void, name,                                                                                                        \
    (OpenMpRegion region, void* data, unsigned threads, long start, long end, long step, long chunk, unsigned flags),  \
    (region, data, threads, start, end, step, chunk, flags), region(data))
#define ATTUNE_OPENMP_RUNTIME_LOOPS(X, name)                                                                           \
  X(void, name, (OpenMpRegion region, void* data, unsigned threads, long start, long end, long step, unsigned flags),  \
    (region, data, threads, start, end, step, flags), region(data))
#define ATTUNE_OPENMP_TASK_LOOPS(X, name, type)                                                                        \
  X(void, name,                                                                                                        \
    (OpenMpRegion body, void* data, OpenMpCopy copy, long bytes, long align, unsigned flags, unsigned long count,      \
     int priority, type start, type end, type step),                                                                   \
    (body, data, copy, bytes, align, flags, count, priority, start, end, step),                                        \
    (static_cast<type*>(data)[0] = start, static_cast<type*>(data)[1] = end, body(data)))

/// Functions that begin a team.
#define ATTUNE_OPENMP_TEAMS(X)                                                                                         \
  X(void, GOMP_parallel, (OpenMpRegion region, void* data, unsigned threads, unsigned flags),                          \
    (region, data, threads, flags), region(data))                                                                      \
  X(void, GOMP_parallel_sections,                                                                                      \
    (OpenMpRegion region, void* data, unsigned threads, unsigned count, unsigned flags),                               \
    (region, data, threads, count, flags), region(data))                                                               \
  ATTUNE_OPENMP_LOOPS(X, GOMP_parallel_loop_static)

/// The same, of loops of which threads take pieces.
#define ATTUNE_OPENMP_DYNAMIC_TEAMS(X)                                                                                 \
  ATTUNE_OPENMP_LOOPS(X, GOMP_parallel_loop_dynamic)                                                                   \
  ATTUNE_OPENMP_LOOPS(X, GOMP_parallel_loop_guided)                                                                    \
  ATTUNE_OPENMP_LOOPS(X, GOMP_parallel_loop_nonmonotonic_dynamic)                                                      \
  ATTUNE_OPENMP_LOOPS(X, GOMP_parallel_loop_nonmonotonic_guided)

/// The same, of loops whose schedule is chosen at run time.
#define ATTUNE_OPENMP_RUNTIME_TEAMS(X)                                                                                 \
  ATTUNE_OPENMP_RUNTIME_LOOPS(X, GOMP_parallel_loop_runtime)                                                           \
  ATTUNE_OPENMP_RUNTIME_LOOPS(X, GOMP_parallel_loop_nonmonotonic_runtime)                                              \
  ATTUNE_OPENMP_RUNTIME_LOOPS(X, GOMP_parallel_loop_maybe_nonmonotonic_runtime)

/// The same, but the runtime reads the first word of the data.
#define ATTUNE_OPENMP_REDUCING_TEAM(X)                                                                                 \
  X(unsigned, GOMP_parallel_reductions, (OpenMpRegion region, void* data, unsigned threads, unsigned flags),           \
    (region, data, threads, flags), (region(data), 1))

#define ATTUNE_OPENMP_LOOP_START(X, name, type, kind)                                                                  \
  X(bool, name, (type start, type end, type step, type chunk, type* from, type* to),                                   \
    (start, end, step, chunk, from, to), (*from = start, *to = end, true), kind)
#define ATTUNE_OPENMP_ULL_LOOP_START(X, name, type, kind)                                                              \
  X(bool, name, (bool up, type start, type end, type step, type chunk, type* from, type* to),                          \
    (up, start, end, step, chunk, from, to), (*from = start, *to = end, true), kind)
#define ATTUNE_OPENMP_RUNTIME_LOOP_START(X, name)                                                                      \
  X(bool, name, (long start, long end, long step, long* from, long* to), (start, end, step, from, to),                 \
    (*from = start, *to = end, true), kRingLoopsRuntime)

/// Functions with which a thread of a team begins a loop of which it takes pieces: X(..., kind), kind is of wire::RingLoops.
#define ATTUNE_OPENMP_PIECES(X)                                                                                        \
  ATTUNE_OPENMP_LOOP_START(X, GOMP_loop_dynamic_start, long, kRingLoopsDynamic)                                        \
  ATTUNE_OPENMP_LOOP_START(X, GOMP_loop_guided_start, long, kRingLoopsDynamic)                                         \
  ATTUNE_OPENMP_LOOP_START(X, GOMP_loop_nonmonotonic_dynamic_start, long, kRingLoopsDynamic)                           \
  ATTUNE_OPENMP_LOOP_START(X, GOMP_loop_nonmonotonic_guided_start, long, kRingLoopsDynamic)                            \
  ATTUNE_OPENMP_ULL_LOOP_START(X, GOMP_loop_ull_dynamic_start, unsigned long long, kRingLoopsDynamic)                  \
  ATTUNE_OPENMP_ULL_LOOP_START(X, GOMP_loop_ull_guided_start, unsigned long long, kRingLoopsDynamic)                   \
  ATTUNE_OPENMP_ULL_LOOP_START(X, GOMP_loop_ull_nonmonotonic_dynamic_start, unsigned long long, kRingLoopsDynamic)     \
  ATTUNE_OPENMP_ULL_LOOP_START(X, GOMP_loop_ull_nonmonotonic_guided_start, unsigned long long, kRingLoopsDynamic)

/// The same of loops whose schedule is chosen at run time: that of the team's beginner holds for all threads.
#define ATTUNE_OPENMP_RUNTIME_PIECES(X)                                                                                \
  ATTUNE_OPENMP_RUNTIME_LOOP_START(X, GOMP_loop_runtime_start)                                                         \
  ATTUNE_OPENMP_RUNTIME_LOOP_START(X, GOMP_loop_nonmonotonic_runtime_start)                                            \
  ATTUNE_OPENMP_RUNTIME_LOOP_START(X, GOMP_loop_maybe_nonmonotonic_runtime_start)

/// Functions in which the threads of a team wait for each other.
#define ATTUNE_OPENMP_BARRIERS(X)                                                                                      \
  X(void, GOMP_barrier, (), (), void())                                                                                \
  X(bool, GOMP_barrier_cancel, (), (), false)                                                                          \
  X(void, GOMP_loop_end, (), (), void())                                                                               \
  X(bool, GOMP_loop_end_cancel, (), (), false)                                                                         \
  X(void, GOMP_sections_end, (), (), void())                                                                           \
  X(bool, GOMP_sections_end_cancel, (), (), false)

/// Functions in which a thread waits for its own tasks.
#define ATTUNE_OPENMP_TASK_WAITS(X)                                                                                    \
  X(void, GOMP_taskwait, (), (), void())                                                                               \
  X(void, GOMP_taskwait_depend, (void** depend), (depend), void())                                                     \
  X(void, GOMP_taskgroup_end, (), (), void())

/// Locks: X(try, acquire, release). Fortran's names end in an underscore.
#define ATTUNE_OPENMP_LOCKS(X)                                                                                         \
  X(omp_test_lock, omp_set_lock, omp_unset_lock)                                                                       \
  X(omp_test_lock_, omp_set_lock_, omp_unset_lock_)                                                                    \
  X(omp_test_nest_lock, omp_set_nest_lock, omp_unset_nest_lock)                                                        \
  X(omp_test_nest_lock_, omp_set_nest_lock_, omp_unset_nest_lock_)

#define ATTUNE_OPENMP_OTHERS(X)                                                                                        \
  X(void, GOMP_critical_start, (), (), void())                                                                         \
  X(void, GOMP_critical_end, (), (), void())                                                                           \
  X(void, GOMP_critical_name_start, (void** name), (name), void())                                                     \
  X(void, GOMP_critical_name_end, (void** name), (name), void())                                                       \
  X(void, GOMP_atomic_start, (), (), void())                                                                           \
  X(void, GOMP_atomic_end, (), (), void())                                                                             \
  X(void, GOMP_ordered_start, (), (), void())                                                                          \
  X(void, GOMP_task,                                                                                                   \
    (OpenMpRegion body, void* data, OpenMpCopy copy, long bytes, long align, bool is_deferred, unsigned flags,         \
     void** depend, int priority, void* detach),                                                                       \
    (body, data, copy, bytes, align, is_deferred, flags, depend, priority, detach), body(data))                        \
  ATTUNE_OPENMP_TASK_LOOPS(X, GOMP_taskloop, long)                                                                     \
  ATTUNE_OPENMP_TASK_LOOPS(X, GOMP_taskloop_ull, unsigned long long)                                                   \
  X(int, omp_in_parallel, (), (), 0)                                                                                   \
  X(void, omp_get_schedule, (int* kind, int* chunk), (kind, chunk), (*kind = 1, *chunk = 0, void()))                   \
  X(void, omp_set_schedule, (int kind, int chunk), (kind, chunk), void())                                              \
  X(int, omp_get_max_threads, (), (), 1)

#define ATTUNE_OPENMP_HOOKS(X)    \
  ATTUNE_OPENMP_TEAMS(X)          \
  ATTUNE_OPENMP_DYNAMIC_TEAMS(X)  \
  ATTUNE_OPENMP_RUNTIME_TEAMS(X)  \
  ATTUNE_OPENMP_REDUCING_TEAM(X)  \
  ATTUNE_OPENMP_BARRIERS(X)       \
  ATTUNE_OPENMP_TASK_WAITS(X)     \
  ATTUNE_OPENMP_PIECES(X)         \
  ATTUNE_OPENMP_RUNTIME_PIECES(X) \
  ATTUNE_OPENMP_OTHERS(X)

#define ATTUNE_OPENMP_POINTER(result, name, parameters, arguments, alone, ...) result(*name) parameters;
#define ATTUNE_OPENMP_LOCK_POINTERS(test, set, unset) \
  int (*test)(void* lock);                            \
  void (*set)(void* lock);                            \
  void (*unset)(void* lock);
// clang-format on
struct OpenMp {
  ATTUNE_OPENMP_HOOKS(ATTUNE_OPENMP_POINTER)
  ATTUNE_OPENMP_LOCKS(ATTUNE_OPENMP_LOCK_POINTERS)
};
#undef ATTUNE_OPENMP_POINTER
#undef ATTUNE_OPENMP_LOCK_POINTERS

/// The runtime of the whole program; nullptr: none is known, or some libraries have one of their own.
extern const OpenMp* g_openmp;

/// The runtime for the code at a call site, if g_openmp is not known.
/// @cost the first call from a site takes the loader's lock; must not be called in a signal handler
[[gnu::noinline]] const OpenMp& FindOpenMp(const void* site);

/// A symbol of a loader handle; nullptr: none but our own.
void* FindForeign(void* handle, const char* name);

/// The program's function (region or task) that a wrapper of ours last called in this thread.
extern __thread OpenMpRegion g_called __attribute__((tls_model("initial-exec")));
/// Bounds of the section of these wrappers, set by the linker.
// NOLINTBEGIN(bugprone-reserved-identifier): the linker gives these names
extern "C" const char __start_attune_calls[] __attribute__((visibility("hidden")));
extern "C" const char __stop_attune_calls[] __attribute__((visibility("hidden")));
// NOLINTEND(bugprone-reserved-identifier)
#define ATTUNE_CALLS_BACK __attribute__((section("attune_calls"), noinline))

/// The call site in the program. After a tail call the return address is in our wrapper; then the called function is
/// used.
[[gnu::always_inline]] inline const void* OpenMpSite(const void* site) {
  const char* at = static_cast<const char*>(site);
  const bool is_ours = at >= __start_attune_calls && at < __stop_attune_calls;
  return __builtin_expect(is_ours, 0) ? reinterpret_cast<const char*>(g_called) + 1 : site;
}
#define ATTUNE_OPENMP_SITE OpenMpSite(__builtin_return_address(0))

/// Keeps the widest team that a parallel region has asked for, for the session.
inline void NoteTeam(unsigned threads) {
  wire::RingHeader* header = g_process.header;
  if (header != nullptr && threads > __atomic_load_n(&header->openmp_widest, __ATOMIC_RELAXED))
    __atomic_store_n(&header->openmp_widest, threads, __ATOMIC_RELAXED);
}

/// Tells the session of a loop that it could share out otherwise. @param kind of wire::RingLoops
inline void NoteLoop(uint32_t kind) {
  wire::RingHeader* header = g_process.header;
  if (header != nullptr && (__atomic_load_n(&header->openmp_loops, __ATOMIC_RELAXED) & kind) == 0)
    __atomic_fetch_or(&header->openmp_loops, kind, __ATOMIC_RELAXED);
}

/// Iterations that a thread takes at once of a loop: as the program asks for, or as the session wants.
template <class Number>
inline Number ChunkOf(Number asked) {
  const wire::RingHeader* header = g_process.header;
  if (header == nullptr) return asked;
  const uint32_t wanted = __atomic_load_n(&header->openmp_chunk, __ATOMIC_RELAXED);
  return wanted != 0 ? static_cast<Number>(wanted) : asked;
}

inline const OpenMp& OpenMpOf(const void* site) {
  const OpenMp* openmp = __atomic_load_n(&g_openmp, __ATOMIC_ACQUIRE);
  return __builtin_expect(openmp != nullptr, 1) ? *openmp : FindOpenMp(site);
}

}  // namespace attune::probe::hook
