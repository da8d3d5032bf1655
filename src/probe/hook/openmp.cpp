/// Locks, critical sections and barriers of OpenMP programs that GCC has compiled.
///
/// The runtime waits by system calls of its own, which no other function of ours sees. Its criticals have no try: what
/// is held is noted here, so that a clock is read only where somebody is inside.

#include <errno.h>

#include "probe/hook/openmp_critical.h"
#include "probe/hook/openmp_real.h"
#include "probe/hook/wrap.h"

namespace attune::probe::hook {

namespace {
constexpr uint32_t kCriticals = 256;
constinit Critical g_criticals[kCriticals] = {};
}  // namespace

Critical& CriticalOf(const void* object) {
  return g_criticals[(Address(object) * UINT64_C(0x9e3779b97f4a7c15) >> 32) % kCriticals];
}

namespace {

/// Times what may run tasks meanwhile, which is no waiting. @param call gives what the function returns
template <class Call>
[[gnu::always_inline]] inline auto Timed(const void* site, SyncKind kind, uint64_t least_ticks, const Call& call) {
  const ThreadState* state = ThreadWithTable();
  const uint64_t tasks_before = state != nullptr ? state->task_ticks : 0;
  const uint64_t before = Ticks();
  const auto finish = [&] {
    const int saved_errno = errno;
    const uint64_t tasks = state != nullptr ? state->task_ticks - tasks_before : 0;
    if (Ticks() - before - tasks >= least_ticks) {
      Waited(site, site, kind, before + tasks, true);
    } else {
      Counted(site, site, kind);
    }
    errno = saved_errno;
  };
  if constexpr (__is_same(decltype(call()), void)) {
    call();
    finish();
  } else {
    const auto result = call();
    finish();
    return result;
  }
}

template <class Call>
[[gnu::noinline]] void WaitToEnter(const void* object, const void* site, SyncKind kind, const Call& call) {
  Critical& critical = CriticalOf(object);
  Come(critical, object);
  WaitFor(object, site, kind, [&] {
    call();
    return 0;
  });
  HasCome(critical);
}

template <class Call>
[[gnu::always_inline]] inline void Enter(const void* object, const void* site, const Call& call) {
  Critical& critical = CriticalOf(object);
  const auto enter = [&] {
    call();
    NoteTaken(critical, object);
    HasCome(critical);
    return 0;
  };
  if (Come(critical, object)) {
    ThreadWithTable();  // its slot is older than the wait
    WaitFor(object, site, SyncKind::kCritical, enter);
  } else {
    enter();
    Acquired(object, site, SyncKind::kCritical);
  }
}

/// As Release(), which asks the object itself who waits for it.
template <class Call>
[[gnu::always_inline]] inline void Leave(const void* object, SyncKind kind, const Call& call) {
  Critical& critical = CriticalOf(object);
  NoteReleased(critical, object);
  if (!HoldsAny()) return call();
  const auto is_waited_for = [&] { return IsWaitedFor(critical); };
  ReleaseHeld(object, kind, is_waited_for, [&] {
    call();
    return 0;
  });
}

const void* AsObject(void (*function)()) { return reinterpret_cast<const void*>(function); }

}  // namespace

// Outside a parallel region there is nobody to wait for.
#define ATTUNE_TEAM_WAIT(kind, least_ticks, result, name, parameters, arguments)                          \
  ATTUNE_HOOK result name parameters {                                                                    \
    const OpenMp& openmp = OpenMpOf(ATTUNE_OPENMP_SITE);                                                  \
    if (!Recording() || openmp.omp_in_parallel() == 0) return openmp.name arguments;                      \
    return Timed(ATTUNE_OPENMP_SITE, SyncKind::kind, least_ticks, [&] { return openmp.name arguments; }); \
  }
#define ATTUNE_BARRIER(result, name, parameters, arguments, alone) \
  ATTUNE_TEAM_WAIT(kTeamBarrier, 0, result, name, parameters, arguments)
#define ATTUNE_TASK_WAIT(result, name, parameters, arguments, alone) \
  ATTUNE_TEAM_WAIT(kTaskWait, kShortTicks, result, name, parameters, arguments)
ATTUNE_OPENMP_BARRIERS(ATTUNE_BARRIER)
ATTUNE_OPENMP_TASK_WAITS(ATTUNE_TASK_WAIT)
ATTUNE_TEAM_WAIT(kOrdered, kShortTicks, void, GOMP_ordered_start, (), ())
#undef ATTUNE_TEAM_WAIT
#undef ATTUNE_BARRIER
#undef ATTUNE_TASK_WAIT

#define ATTUNE_PIECE(result, name, parameters, arguments, alone, kind) \
  ATTUNE_HOOK result name parameters {                                 \
    NoteLoop(wire::kind);                                              \
    chunk = ChunkOf(chunk);                                            \
    return OpenMpOf(ATTUNE_OPENMP_SITE).name arguments;                \
  }
#define ATTUNE_RUNTIME_PIECE(result, name, parameters, arguments, alone, kind) \
  ATTUNE_HOOK result name parameters {                                         \
    NoteLoop(wire::kind);                                                      \
    return OpenMpOf(ATTUNE_OPENMP_SITE).name arguments;                        \
  }
ATTUNE_OPENMP_PIECES(ATTUNE_PIECE)
ATTUNE_OPENMP_RUNTIME_PIECES(ATTUNE_RUNTIME_PIECE)
#undef ATTUNE_PIECE
#undef ATTUNE_RUNTIME_PIECE

// Those without a name are one, all over the program: the runtime's function stands for it.

ATTUNE_HOOK void GOMP_critical_start() {
  const OpenMp& openmp = OpenMpOf(ATTUNE_OPENMP_SITE);
  if (!Recording()) return openmp.GOMP_critical_start();
  Enter(AsObject(openmp.GOMP_critical_start), ATTUNE_OPENMP_SITE, [&] { openmp.GOMP_critical_start(); });
}

ATTUNE_HOOK void GOMP_critical_end() {
  const OpenMp& openmp = OpenMpOf(ATTUNE_OPENMP_SITE);
  Leave(AsObject(openmp.GOMP_critical_start), SyncKind::kCritical, [&] { openmp.GOMP_critical_end(); });
}

ATTUNE_HOOK void GOMP_critical_name_start(void** name) {
  const OpenMp& openmp = OpenMpOf(ATTUNE_OPENMP_SITE);
  if (!Recording()) return openmp.GOMP_critical_name_start(name);
  Enter(static_cast<const void*>(name), ATTUNE_OPENMP_SITE, [&] { openmp.GOMP_critical_name_start(name); });
}

ATTUNE_HOOK void GOMP_critical_name_end(void** name) {
  const OpenMp& openmp = OpenMpOf(ATTUNE_OPENMP_SITE);
  Leave(static_cast<const void*>(name), SyncKind::kCritical, [&] { openmp.GOMP_critical_name_end(name); });
}

ATTUNE_HOOK void GOMP_atomic_start() {
  const OpenMp& openmp = OpenMpOf(ATTUNE_OPENMP_SITE);
  if (!Recording()) return openmp.GOMP_atomic_start();
  Enter(AsObject(openmp.GOMP_atomic_start), ATTUNE_OPENMP_SITE, [&] { openmp.GOMP_atomic_start(); });
}

ATTUNE_HOOK void GOMP_atomic_end() {
  const OpenMp& openmp = OpenMpOf(ATTUNE_OPENMP_SITE);
  Leave(AsObject(openmp.GOMP_atomic_start), SyncKind::kCritical, [&] { openmp.GOMP_atomic_end(); });
}

// A nested lock's test says how often it is held now; 0, as of a plain one: it is not to be had.
#define ATTUNE_OPENMP_LOCK(test, set, unset)                                                                        \
  ATTUNE_HOOK void set(void* lock) {                                                                                \
    const OpenMp& openmp = OpenMpOf(ATTUNE_OPENMP_SITE);                                                            \
    if (!Recording()) return openmp.set(lock);                                                                      \
    const int depth = openmp.test(lock);                                                                            \
    if (depth != 0) {                                                                                               \
      return Acquired(lock, ATTUNE_OPENMP_SITE, SyncKind::kMutex, depth > 1 ? IfTaken::kGivesUp : IfTaken::kWaits); \
    }                                                                                                               \
    WaitToEnter(lock, ATTUNE_OPENMP_SITE, SyncKind::kMutex, [&] { openmp.set(lock); });                             \
  }                                                                                                                 \
  ATTUNE_HOOK int test(void* lock) {                                                                                \
    const int result = OpenMpOf(ATTUNE_OPENMP_SITE).test(lock);                                                     \
    if (Recording() && result != 0) Acquired(lock, ATTUNE_OPENMP_SITE, SyncKind::kMutex, IfTaken::kGivesUp);        \
    return result;                                                                                                  \
  }                                                                                                                 \
  ATTUNE_HOOK void unset(void* lock) {                                                                              \
    const OpenMp& openmp = OpenMpOf(ATTUNE_OPENMP_SITE);                                                            \
    Leave(lock, SyncKind::kMutex, [&] { openmp.unset(lock); });                                                     \
  }
ATTUNE_OPENMP_LOCKS(ATTUNE_OPENMP_LOCK)
#undef ATTUNE_OPENMP_LOCK

}  // namespace attune::probe::hook
