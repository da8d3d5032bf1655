/// OpenMP programs that clang has compiled: their runtime, LLVM's, calls us at the begin and end of each wait (OMPT),
/// as does Intel's. There is one such tool in a process: where the program, its user or another library has one, that
/// is it.
///
/// The word that a task has for its tool says since when the task waits. A thread may run other tasks meanwhile, which
/// is no waiting: then the word says for how long it has waited so far. So waits can lie within each other as deep as
/// the tasks do, without a place to keep them. (At the end of a region it stays empty, and the thread's state says
/// that: LLVM's runtime copies it to where it later insists on an empty one.)
///
/// At the end of a parallel region the runtime tells of the thread that began it alone how long it has waited: of the
/// others it says that they have come, and forgets them. They put themselves into a list then, whose first element the
/// team's word names, and which ends with the region's place; whoever began the region tells of all of them when all
/// have come. They cannot be in another team before that.

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probe/command.h"
#include "probe/hook/exports.h"
#include "probe/hook/module.h"
#include "probe/hook/ompt_abi.h"
#include "probe/hook/openmp_critical.h"
#include "probe/hook/openmp_real.h"
#include "probe/hook/telling_runtimes.h"
#include "probe/hook/wrap.h"

namespace attune::probe::hook {

namespace {

using ompt::Data;
using ompt::Endpoint;
using ompt::Event;
using ompt::Mutex;
using ompt::Region;

// Values of a task's word: one of these, or since when it waits, or with kElsewhere how long it has waited.
constexpr uint64_t kNotWaiting = 0;
constexpr uint64_t kAlone = 1;  ///< it has no team to wait for
constexpr uint64_t kElsewhere = UINT64_C(1) << 63;

bool IsWaiting(uint64_t word) { return word > kAlone && (word & kElsewhere) == 0; }

// NOLINTBEGIN(bugprone-reserved-identifier): the linker gives these names
extern "C" const char __ehdr_start __attribute__((visibility("hidden")));
extern "C" const char _end __attribute__((visibility("hidden")));
// NOLINTEND(bugprone-reserved-identifier)

/// Whether one of our functions has called the runtime, which then records the call itself: locks, and what code that
/// GCC has compiled asks of LLVM's runtime.
bool IsOurs(const void* site) { return Address(site) >= Address(&__ehdr_start) && Address(site) < Address(&_end); }

/// Element of the list of threads that have come to a region's end; nullptr: end of the list.
const ThreadState::TeamEnd* Element(uint64_t link) {
  const uint64_t first = Address(g_process.threads);
  const bool is_state = link >= first && link < first + sizeof(ThreadState) * g_process.slot_count;
  return is_state ? reinterpret_cast<const ThreadState::TeamEnd*>(link) : nullptr;
}

/// The place that a list ends with: where the region was begun.
const void* PlaceOf(const uint64_t* list) {
  uint64_t link = __atomic_load_n(list, __ATOMIC_ACQUIRE);
  for (uint32_t i = 0; i <= g_process.slot_count; ++i) {
    const ThreadState::TeamEnd* element = Element(link);
    if (element == nullptr) break;
    link = element->next;
  }
  return reinterpret_cast<const void*>(link);
}

/// Another thread of the team has come to the region's end.
void ComeToEnd(Data* team, const Data* task) {
  ThreadState* state = ThreadWithTable();
  if (state == nullptr) return;
  ThreadState::TeamEnd& end = state->team_end;
  end.task = &task->value;
  end.since = Ticks();
  end.tid = state->slot->tid;
  end.next = __atomic_load_n(&team->value, __ATOMIC_RELAXED);
  while (
      !__atomic_compare_exchange_n(&team->value, &end.next, Address(&end), true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
  }
}

/// The thread that began the region has come to its end.
void ComeToOwnEnd(const Data* team, const Data* task) {
  ThreadState* state = ThreadWithTable();
  if (state == nullptr) return;
  constexpr uint32_t kMost = sizeof state->own_team_ends / sizeof state->own_team_ends[0];
  if (state->own_team_end_count >= kMost) state->own_team_end_count = 0;  // the level was changed at some of them
  state->own_team_ends[state->own_team_end_count++] = {&task->value, &team->value};
}

/// The list of the region whose end the task has waited at; nullptr: it waited somewhere else.
const uint64_t* TakeOwnEnd(const Data* task) {
  ThreadState* state = g_thread;
  if (reinterpret_cast<uintptr_t>(state) <= 1) return nullptr;
  for (uint32_t i = state->own_team_end_count; i-- > 0;) {
    if (state->own_team_ends[i].task != &task->value) continue;
    state->own_team_end_count = i;
    return state->own_team_ends[i].list;
  }
  return nullptr;
}

/// All have come: what each of them has waited.
void TellWaits(const uint64_t* list, const void* site, uint64_t since) {
  const uint64_t now = Ticks();
  uint64_t link = __atomic_load_n(list, __ATOMIC_ACQUIRE);
  if (Element(link) == nullptr) return;  // a team of one
  Waited(site, site, SyncKind::kTeamBarrier, since, true);
  for (uint32_t i = 0; i < g_process.slot_count; ++i) {
    const ThreadState::TeamEnd* element = Element(link);
    if (element == nullptr) return;
    const uint64_t other_since = __atomic_load_n(&element->since, __ATOMIC_RELAXED);
    if (IsWaiting(other_since))
      OtherWaited(element->tid, site, site, SyncKind::kTeamBarrier, now > other_since ? now - other_since : 0);
    link = element->next;
  }
}

bool IsTaskWait(Region kind) { return kind == Region::kTaskWait || kind == Region::kTaskGroup; }

bool IsBarrier(Region kind) {
  return (kind >= Region::kBarrier && kind <= Region::kBarrierImplementation) ||
         (kind >= Region::kBarrierImplicitWorkshare && kind <= Region::kBarrierTeams);
}

/// Whether a barrier is the end of a parallel region. @param site of who began it; else nullptr
bool IsRegionEnd(Region kind, const Data* team, const void* site) {
  if (kind == Region::kBarrierImplicitParallel || kind == Region::kBarrierTeams) return true;
  if (kind != Region::kBarrierImplicit) return false;
  return site == nullptr || PlaceOf(&team->value) == site;
}

void BeginWait(Region kind, Data* team, Data* task, const void* site) {
  if (task->value == kAlone || IsOurs(site)) return;
  const bool is_region_end = team != nullptr && IsRegionEnd(kind, team, site);
  if (site == nullptr) {
    if (is_region_end) ComeToEnd(team, task);
    return;
  }
  task->value = Ticks();
  if (is_region_end) ComeToOwnEnd(team, task);
}

void EndWait(Region kind, Data* task, const void* site) {
  const uint64_t since = task->value;
  if (!IsWaiting(since)) return;
  task->value = kNotWaiting;
  const uint64_t* list = TakeOwnEnd(task);
  if (!Recording()) return;
  if (list != nullptr) {
    TellWaits(list, site, since);
  } else if (IsTaskWait(kind) && Ticks() - since < kShortTicks) {
    Counted(site, site, SyncKind::kTaskWait);
  } else {
    Waited(site, site, IsTaskWait(kind) ? SyncKind::kTaskWait : SyncKind::kTeamBarrier, since, true);
  }
}

// The runtime's calls. They come in the thread that they tell of, at any level.

/// The runtime holds none of its locks yet: a safe point.
void OnParallelBegin(Data*, const void*, Data* team, unsigned threads, int, const void* site) {
  team->value = Address(site);
  NoteTeam(threads);
  ServeCommand(site);
}

void OnImplicitTask(Endpoint endpoint, Data*, Data* task, unsigned team_size, unsigned, int) {
  if (endpoint != Endpoint::kBegin || task == nullptr) return;
  task->value = team_size > 1 ? kNotWaiting : kAlone;
  ThreadState* state = g_thread;
  if (reinterpret_cast<uintptr_t>(state) > 1) state->team_end.task = nullptr;
}

void OnSyncRegionWait(Region kind, Endpoint endpoint, Data* team, Data* task, const void* site) {
  if (task == nullptr || (!IsBarrier(kind) && !IsTaskWait(kind))) return;
  const int saved_errno = errno;
  if (endpoint == Endpoint::kBegin) {
    if (!Recording()) return;
    TellEndedWaitsOfThread();
    BeginWait(kind, team, task, site);
  } else if (endpoint == Endpoint::kEnd && site != nullptr) {
    EndWait(kind, task, site);
  }
  errno = saved_errno;
}

/// Word that says since when a task waits.
uint64_t* ClockOf(Data* task) {
  if (task->value > kAlone) return &task->value;
  ThreadState* state = g_thread;
  const bool is_at_end = reinterpret_cast<uintptr_t>(state) > 1 && state->team_end.task == &task->value;
  return is_at_end ? &state->team_end.since : nullptr;
}

void OnTaskSchedule(Data* before, int, Data* next) {
  uint64_t* left = before != nullptr ? ClockOf(before) : nullptr;
  if (left != nullptr && IsWaiting(*left)) __atomic_store_n(left, (Ticks() - *left) | kElsewhere, __ATOMIC_RELAXED);
  uint64_t* resumed = next != nullptr ? ClockOf(next) : nullptr;
  if (resumed != nullptr && (*resumed & kElsewhere) != 0)
    __atomic_store_n(resumed, Ticks() - (*resumed & ~kElsewhere), __ATOMIC_RELAXED);
}

SyncKind KindOf(Mutex kind) {
  return kind == Mutex::kCritical || kind == Mutex::kAtomic ? SyncKind::kCritical : SyncKind::kMutex;
}
bool IsTry(Mutex kind) { return kind == Mutex::kTestLock || kind == Mutex::kTestNestLock; }

const void* ObjectOf(uint64_t wait_id) { return reinterpret_cast<const void*>(wait_id); }

constexpr uint64_t kHasNotToWait = 1;

void OnMutexAcquire(Mutex kind, unsigned, unsigned, uint64_t wait_id, const void* site) {
  if (!Recording() || IsTry(kind) || site == nullptr || IsOurs(site)) return;
  ThreadState* state = ThreadWithTable();
  if (state == nullptr) return;
  if (kind == Mutex::kOrdered) {
    state->openmp_since = Ticks();
    return;
  }
  const void* object = ObjectOf(wait_id);
  if (!Come(CriticalOf(object), object)) {
    state->openmp_since = kHasNotToWait;
    return;
  }
  TellEndedWaitsOfThread();
  state->openmp_since = Ticks();
}

/// When the thread began to wait for what it has now; kHasNotToWait; 0: nobody has told of it then.
uint64_t TakeSince() {
  ThreadState* state = g_thread;
  if (reinterpret_cast<uintptr_t>(state) <= 1) return 0;
  const uint64_t since = state->openmp_since;
  state->openmp_since = 0;
  return since;
}

void GotTurn(const void* site, uint64_t since) {
  if (since == 0 || !Recording()) return;
  if (Ticks() - since < kShortTicks) return Counted(site, site, SyncKind::kOrdered);
  Waited(site, site, SyncKind::kOrdered, since, true);
}

/// LLVM's runtime now and then names a place of its own, where it calls itself: then that of the call before it is
/// meant.
const void* SiteInProgram(Critical& critical, const void* site) {
  if (!IsInTellingRuntime(Address(site))) {
    __atomic_store_n(&critical.site, site, __ATOMIC_RELAXED);
    return site;
  }
  const void* before = __atomic_load_n(&critical.site, __ATOMIC_RELAXED);
  return before != nullptr ? before : site;
}

void OnMutexAcquired(Mutex kind, uint64_t wait_id, const void* site) {
  if (site == nullptr || IsOurs(site)) return;
  const int saved_errno = errno;
  const void* object = ObjectOf(wait_id);
  const uint64_t since = TakeSince();
  if (kind == Mutex::kOrdered) {
    GotTurn(site, since);
  } else {
    Critical& critical = CriticalOf(object);
    site = SiteInProgram(critical, site);
    if (Recording()) NoteTaken(critical, object);
    if (since != 0) HasCome(critical);
    if (Recording() && since > kHasNotToWait) Waited(object, site, KindOf(kind), since, true);
    if (Recording() && since <= kHasNotToWait)
      Acquired(object, site, KindOf(kind), IsTry(kind) ? IfTaken::kGivesUp : IfTaken::kWaits);
  }
  errno = saved_errno;
}

/// Comes when others may have it already. So whether somebody waited for it is also seen from that.
void OnMutexReleased(Mutex kind, uint64_t wait_id, const void* site) {
  if (kind == Mutex::kOrdered || IsOurs(site)) return;
  const void* object = ObjectOf(wait_id);
  Critical& critical = CriticalOf(object);
  const bool was_last = NoteReleased(critical, object);
  if (!HoldsAny()) return;
  const int saved_errno = errno;
  const auto is_waited_for = [&] { return !was_last || IsWaitedFor(critical); };
  ReleaseHeld(object, KindOf(kind), is_waited_for, [] { return 0; });
  errno = saved_errno;
}

/// The thread has the lock already, or keeps it.
void OnNestLock(Endpoint endpoint, uint64_t wait_id, const void* site) {
  if (site == nullptr || IsOurs(site)) return;
  const int saved_errno = errno;
  const void* object = ObjectOf(wait_id);
  if (endpoint == Endpoint::kBegin) {
    if (TakeSince() != 0) HasCome(CriticalOf(object));
    if (Recording()) Acquired(object, site, SyncKind::kMutex, IfTaken::kGivesUp);
  } else if (HoldsAny()) {
    ReleaseHeld(object, SyncKind::kMutex, [] { return false; }, [] { return 0; });
  }
  errno = saved_errno;
}

int Initialise(ompt::Lookup lookup, int, Data*) {
  const auto set = reinterpret_cast<ompt::SetCallback>(lookup("ompt_set_callback"));
  if (set == nullptr) return 0;
  const auto tell = [set](Event event, auto* callback) { set(event, reinterpret_cast<ompt::Function>(callback)); };
  tell(Event::kParallelBegin, &OnParallelBegin);
  tell(Event::kImplicitTask, &OnImplicitTask);
  tell(Event::kTaskSchedule, &OnTaskSchedule);
  tell(Event::kSyncRegionWait, &OnSyncRegionWait);
  tell(Event::kMutexAcquire, &OnMutexAcquire);
  tell(Event::kMutexAcquired, &OnMutexAcquired);
  tell(Event::kMutexReleased, &OnMutexReleased);
  tell(Event::kNestLock, &OnNestLock);
  return 1;
}

/// The runtime is unloaded, or the program ends.
void Finalise(Data* tool) {
  TellingRuntime& runtime = g_telling_runtimes[tool->value % kMaxTellingRuntimes];
  __atomic_store_n(&runtime.end, uint64_t{0}, __ATOMIC_RELAXED);
}

/// One for each runtime, which keeps its own word in it.
constinit ompt::Tool g_tools[kMaxTellingRuntimes] = {};

/// Only what is a runtime and nothing else: what else a module waits for that contains one must be seen.
bool IsRuntime(const ModuleBounds& module) {
  const char* name = strrchr(module.path, '/');
  name = name != nullptr ? name + 1 : module.path;
  return strncmp(name, "libomp", 6) == 0 || strncmp(name, "libiomp", 7) == 0;
}

ompt::Tool* ToolFor(const ModuleBounds& module) {
  for (uint32_t i = 0; i < kMaxTellingRuntimes; ++i) {
    TellingRuntime& runtime = g_telling_runtimes[i];
    uint64_t start = 0;
    if (!__atomic_compare_exchange_n(&runtime.start, &start, module.start, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) &&
        start != module.start)
      continue;
    __atomic_store_n(&runtime.end, module.end, __ATOMIC_RELAXED);
    g_tools[i] = {&Initialise, &Finalise, {i}};
    return &g_tools[i];
  }
  return nullptr;
}

using StartTool = ompt::Tool* (*)(unsigned version, const char* runtime);

/// The tool that the runtime would have without us. (The program's own is before ours, and never comes here.)
ompt::Tool* AnotherTool(const void* runtime_site, unsigned version, const char* runtime) {
  constexpr const char* kName = "ompt_start_tool";
  void* found = FindForeign(RTLD_NEXT, kName);
  LoadedModule module;
  // The runtime has such a function too, which looks on behind it.
  if (found == nullptr && FindExporter(runtime_site, kName, module)) found = FindExport(module, kName);
  return found != nullptr ? reinterpret_cast<StartTool>(found)(version, runtime) : nullptr;
}

/// Whether the user has named one, which the runtime loads if there is none yet.
bool IsAnotherNamed() {
  const char* libraries = secure_getenv("OMP_TOOL_LIBRARIES");
  return libraries != nullptr && libraries[0] != '\0';
}

__thread bool g_is_asking __attribute__((tls_model("initial-exec"))) = false;

}  // namespace

/// Called by a runtime when it is set up. @return nullptr: there is no tool here
ATTUNE_HOOK ompt::Tool* ompt_start_tool(unsigned version, const char* runtime) {
  if (g_is_asking) return nullptr;  // by the function that we ask
  const void* site = ATTUNE_SITE;
  g_is_asking = true;
  ompt::Tool* another = AnotherTool(site, version, runtime);
  g_is_asking = false;
  if (another != nullptr) return another;
  ModuleBounds module;
  if (g_process.header == nullptr || g_process.sync_entries == 0 || IsAnotherNamed() ||
      !FindBounds(Address(site), module) || !IsRuntime(module))
    return nullptr;
  return ToolFor(module);
}

}  // namespace attune::probe::hook
