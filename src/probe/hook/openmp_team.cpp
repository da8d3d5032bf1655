/// Teams and tasks of OpenMP programs that GCC has compiled.
///
/// At the end of a parallel region all threads of its team wait for each other, inside the runtime: the others do not
/// come back to where they were called from, there is nothing to take the place of. So the region's function is run by
/// one of ours, which notes when each thread was done with it, and the thread that began the region tells for all of
/// them how long they waited, when it goes on.
///
/// A thread that waits for its team runs the team's tasks meanwhile. So a task's function is run by one of ours too,
/// which takes its time: that is then no waiting.

#include <errno.h>
#include <string.h>

#include "probe/command.h"
#include "probe/hook/openmp_real.h"
#include "probe/hook/wrap.h"

namespace attune::probe::hook {
namespace {

/// Limit on the noted threads of a team, without its beginner; of a larger team the first to finish, who wait longest.
constexpr uint32_t kMaxOthers = 255;

/// A parallel region, on the stack of the thread that began it: the function that did so returns when all are done.
struct Region {
  /// When a thread was done with the region's function.
  struct Done {
    uint64_t ticks;
    ThreadState* state;  ///< nullptr: none; stays mapped, but is another thread's if this one has ended
    uint64_t task_ticks;
    int32_t tid;
  };

  void* first;  ///< first word of `data`: GOMP_parallel_reductions takes a pointer from it
  OpenMpRegion function;
  void* data;
  void* beginner;  ///< its thread pointer
  Done own;
  uint32_t others;
  Done done[kMaxOthers];
};

void Note(Region::Done& done) {
  done.state = ThreadWithTable();
  if (done.state != nullptr) {
    done.task_ticks = done.state->task_ticks;
    done.tid = done.state->slot->tid;
  }
  done.ticks = Ticks();
}

/// Calls a function of the program's, known by g_called meanwhile.
[[gnu::always_inline]] inline void Call(OpenMpRegion function, void* data) {
  const OpenMpRegion outer = g_called;
  g_called = function;
  function(data);
  g_called = outer;
}

ATTUNE_CALLS_BACK void RunRegion(void* context) {
  auto* region = static_cast<Region*>(context);
  Call(region->function, region->data);
  if (__builtin_thread_pointer() == region->beginner) {
    Note(region->own);
  } else if (const uint32_t index = __atomic_fetch_add(&region->others, 1u, __ATOMIC_RELAXED); index < kMaxOthers) {
    Note(region->done[index]);
  }
}

/// How long a thread has waited at the end of a region, less its tasks meanwhile.
uint64_t WaitOf(const Region::Done& done, uint64_t end) {
  const uint64_t wait = end > done.ticks ? end - done.ticks : 0;
  const uint64_t tasks = __atomic_load_n(&done.state->task_ticks, __ATOMIC_RELAXED) - done.task_ticks;
  return tasks < wait ? wait - tasks : 0;
}

bool IsNarrowed() {
  return g_process.header != nullptr && __atomic_load_n(&g_process.header->openmp_team, __ATOMIC_RELAXED) != 0;
}

/// All are done: what each of them has waited. @param site where the region began
[[gnu::noinline]] void TellWaits(const Region& region, const void* site) {
  const uint64_t end = Ticks();
  const int saved_errno = errno;
  const uint32_t others = region.others < kMaxOthers ? region.others : kMaxOthers;
  // A team that the session has narrowed to one thread is still a region of the program's.
  if ((others > 0 || IsNarrowed()) && region.own.state != nullptr) {
    Waited(site, site, SyncKind::kTeamBarrier, end - WaitOf(region.own, end), true);
    for (uint32_t i = 0; i < others; ++i) {
      const Region::Done& done = region.done[i];
      if (done.state != nullptr) OtherWaited(done.tid, site, site, SyncKind::kTeamBarrier, WaitOf(done, end));
    }
  }
  errno = saved_errno;
}

/// Runs a region and tells of its end. @param first see Region
/// @param begin calls the runtime with (function, data) in place of the program's
template <class Begin>
[[gnu::always_inline]] inline auto Run(OpenMpRegion function, void* data, void* first, const void* site,
                                       const Begin& begin) {
  // NOLINTBEGIN(clang-analyzer-core.StackAddressEscape): the runtime is done with it when it returns
  Region region;  // not emptied: it is large
  region.first = first;
  region.function = function;
  region.data = data;
  region.beginner = __builtin_thread_pointer();
  region.own.state = nullptr;
  region.others = 0;
  if constexpr (__is_same(decltype(begin(&RunRegion, &region)), void)) {
    begin(&RunRegion, &region);
    TellWaits(region, site);
  } else {
    const auto result = begin(&RunRegion, &region);
    TellWaits(region, site);
    return result;
  }
  // NOLINTEND(clang-analyzer-core.StackAddressEscape)
}

/// Threads of a region's team: what the program asks for, at most as many as the session permits.
/// @param asked 0: as many as the runtime would take
unsigned TeamOf(const OpenMp& openmp, unsigned asked) {
  wire::RingHeader* header = g_process.header;
  if (header == nullptr) return asked;
  const unsigned wanted = asked != 0 ? asked : static_cast<unsigned>(openmp.omp_get_max_threads());
  NoteTeam(wanted);
  const uint32_t most = __atomic_load_n(&header->openmp_team, __ATOMIC_RELAXED);
  return most != 0 && wanted > most ? most : asked;
}

/// Schedule of loops that choose it at run time: while it lives, as the session wants it for the team that is begun.
class ScheduleForTeam {
 public:
  explicit ScheduleForTeam(const OpenMp& openmp) : openmp_(openmp) {
    const wire::RingHeader* header = g_process.header;
    const uint32_t wanted = header != nullptr ? __atomic_load_n(&header->openmp_schedule, __ATOMIC_RELAXED) : 0;
    if (__builtin_expect(wanted == 0, 1)) return;
    openmp_.omp_get_schedule(&kind_, &chunk_);
    openmp_.omp_set_schedule(static_cast<int>(wanted), ChunkOf(0));
    is_changed_ = true;
  }
  ~ScheduleForTeam() {
    if (__builtin_expect(is_changed_, 0)) openmp_.omp_set_schedule(kind_, chunk_);
  }
  ScheduleForTeam(const ScheduleForTeam&) = delete;
  ScheduleForTeam& operator=(const ScheduleForTeam&) = delete;

 private:
  const OpenMp& openmp_;
  int kind_ = 0;
  int chunk_ = 0;
  bool is_changed_ = false;
};

/// Stand-in for a task's data, given to the runtime, which copies it if the task is done later.
struct Task {
  /// The first words of the program's data. The runtime reads and writes there: the bounds of a loop, what a reduction
  /// needs, the event of a task that ends by it.
  uintptr_t words[3];
  uint32_t written;  ///< how many of `words` the runtime has for the function
  OpenMpRegion function;
  intptr_t offset;  ///< from here to the program's data
};

/// Stand-in for a task's data that the program copies by a function.
struct CopiedTask {
  Task task;
  intptr_t offset_of_copy;
  OpenMpCopy copy;
  void* data;
};

/// Data larger than that is left as it is: ours would be on the stack a second time. Its tasks are taken for waiting.
constexpr long kMaxTaskBytes = 1 << 16;
constexpr unsigned kTaskHasEvent = 1 << 13;  // GOMP_TASK_FLAG_DETACH

ATTUNE_CALLS_BACK void RunTask(void* context) {
  const auto* task = static_cast<const Task*>(context);
  char* data = static_cast<char*>(context) + task->offset;
  memcpy(data, task->words, task->written * sizeof task->words[0]);
  ThreadState* state = ThreadWithTable();
  if (state == nullptr) return Call(task->function, data);
  const uint64_t tasks_before = state->task_ticks;
  const uint64_t before = Ticks();
  Call(task->function, data);
  // In place of what tasks within it have added: they ran in its time.
  __atomic_store_n(&state->task_ticks, tasks_before + (Ticks() - before), __ATOMIC_RELAXED);
}

void CopyTask(void* to, void* from) {
  const auto* copied = static_cast<const CopiedTask*>(from);
  auto* task = static_cast<Task*>(to);
  *task = copied->task;
  task->offset = copied->offset_of_copy;
  copied->copy(static_cast<char*>(to) + task->offset, copied->data);
}

intptr_t RoundUp(intptr_t bytes, intptr_t align) { return (bytes + align - 1) & -align; }

/// Makes a task of which the time is known.
/// @param make calls the runtime with (function, data, copy, bytes, align) in place of the program's
template <class Make>
[[gnu::always_inline]] inline void MakeTask(OpenMpRegion function, void* data, OpenMpCopy copy, long bytes, long align,
                                            uint32_t written, const Make& make) {
  if (align < static_cast<long>(alignof(Task))) align = alignof(Task);
  const intptr_t offset = RoundUp(sizeof(Task), align);
  const auto data_bytes = static_cast<size_t>(bytes);
  Task task = {.words = {}, .written = written, .function = function, .offset = offset};
  if (data_bytes > 0) memcpy(task.words, data, data_bytes < sizeof task.words ? data_bytes : sizeof task.words);
  if (copy != nullptr) {
    CopiedTask copied = {.task = task, .offset_of_copy = offset, .copy = copy, .data = data};
    copied.task.offset = static_cast<char*>(data) - reinterpret_cast<char*>(&copied);  // not every runtime copies
    // NOLINTNEXTLINE(clang-analyzer-core.StackAddressEscape): the runtime has copied it when it returns
    make(&RunTask, &copied, &CopyTask, offset + bytes, align);
  } else {
    // Without a function that copies, as the program: the runtime treats those tasks in another way.
    auto* block = static_cast<char*>(__builtin_alloca(static_cast<size_t>(offset + bytes + align)));
    block = reinterpret_cast<char*>(RoundUp(reinterpret_cast<intptr_t>(block), align));
    memcpy(block, &task, sizeof task);
    if (data_bytes > 0) memcpy(block + offset, data, data_bytes);
    make(&RunTask, block, nullptr, offset + bytes, align);
  }
}

/// Whether a task may be run by RunTask. One that uses nothing of what is around it has no data.
bool CanBeTimed(const void* data, long bytes, uint32_t written) {
  return Recording() && (data != nullptr || bytes == 0) && bytes >= static_cast<long>(written * sizeof(uintptr_t)) &&
         bytes <= kMaxTaskBytes;
}

}  // namespace

__thread OpenMpRegion g_called __attribute__((tls_model("initial-exec"))) = nullptr;

#define ATTUNE_TEAM_WITH(prepare, first, result, name, parameters, arguments)                          \
  ATTUNE_HOOK result name parameters {                                                                 \
    const OpenMp& openmp = OpenMpOf(ATTUNE_OPENMP_SITE);                                               \
    ServeCommand(ATTUNE_OPENMP_SITE);                                                                  \
    threads = TeamOf(openmp, threads);                                                                 \
    const ScheduleForTeam schedule(openmp);                                                            \
    prepare;                                                                                           \
    if (!Recording()) return openmp.name arguments;                                                    \
    return Run(region, data, first, ATTUNE_OPENMP_SITE, [&](OpenMpRegion our_region, void* our_data) { \
      region = our_region;                                                                             \
      data = our_data;                                                                                 \
      return openmp.name arguments;                                                                    \
    });                                                                                                \
  }
#define ATTUNE_TEAM(result, name, parameters, arguments, alone) \
  ATTUNE_TEAM_WITH(, nullptr, result, name, parameters, arguments)
#define ATTUNE_DYNAMIC_TEAM(result, name, parameters, arguments, alone) \
  ATTUNE_TEAM_WITH(NoteLoop(wire::kRingLoopsDynamic);                   \
                   chunk = ChunkOf(chunk), nullptr, result, name, parameters, arguments)
#define ATTUNE_RUNTIME_TEAM(result, name, parameters, arguments, alone) \
  ATTUNE_TEAM_WITH(NoteLoop(wire::kRingLoopsRuntime), nullptr, result, name, parameters, arguments)
#define ATTUNE_REDUCING_TEAM(result, name, parameters, arguments, alone) \
  ATTUNE_TEAM_WITH(, *static_cast<void**>(data), result, name, parameters, arguments)
ATTUNE_OPENMP_TEAMS(ATTUNE_TEAM)
ATTUNE_OPENMP_DYNAMIC_TEAMS(ATTUNE_DYNAMIC_TEAM)
ATTUNE_OPENMP_RUNTIME_TEAMS(ATTUNE_RUNTIME_TEAM)
ATTUNE_OPENMP_REDUCING_TEAM(ATTUNE_REDUCING_TEAM)
#undef ATTUNE_TEAM_WITH
#undef ATTUNE_TEAM
#undef ATTUNE_DYNAMIC_TEAM
#undef ATTUNE_RUNTIME_TEAM
#undef ATTUNE_REDUCING_TEAM

#define ATTUNE_MAKE_TASK(name, arguments, written)                                                           \
  const OpenMp& openmp = OpenMpOf(ATTUNE_OPENMP_SITE);                                                       \
  if (!CanBeTimed(data, bytes, written)) return openmp.name arguments;                                       \
  MakeTask(body, data, copy, bytes, align, written,                                                          \
           [&](OpenMpRegion our_body, void* our_data, OpenMpCopy our_copy, long our_bytes, long our_align) { \
             body = our_body;                                                                                \
             data = our_data;                                                                                \
             copy = our_copy;                                                                                \
             bytes = our_bytes;                                                                              \
             align = our_align;                                                                              \
             openmp.name arguments;                                                                          \
           })

ATTUNE_HOOK void GOMP_task(OpenMpRegion body, void* data, OpenMpCopy copy, long bytes, long align, bool is_deferred,
                           unsigned flags, void** depend, int priority, void* detach) {
  ATTUNE_MAKE_TASK(GOMP_task, (body, data, copy, bytes, align, is_deferred, flags, depend, priority, detach),
                   (flags & kTaskHasEvent) != 0 ? 1u : 0u);
}

ATTUNE_HOOK void GOMP_taskloop(OpenMpRegion body, void* data, OpenMpCopy copy, long bytes, long align, unsigned flags,
                               unsigned long count, int priority, long start, long end, long step) {
  ATTUNE_MAKE_TASK(GOMP_taskloop, (body, data, copy, bytes, align, flags, count, priority, start, end, step), 2u);
}

ATTUNE_HOOK void GOMP_taskloop_ull(OpenMpRegion body, void* data, OpenMpCopy copy, long bytes, long align,
                                   unsigned flags, unsigned long count, int priority, unsigned long long start,
                                   unsigned long long end, unsigned long long step) {
  ATTUNE_MAKE_TASK(GOMP_taskloop_ull, (body, data, copy, bytes, align, flags, count, priority, start, end, step), 2u);
}
#undef ATTUNE_MAKE_TASK

}  // namespace attune::probe::hook
