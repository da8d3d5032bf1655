#include "probe/hook/openmp_real.h"

#include <dlfcn.h>

#include "probe/hook/exports.h"

namespace attune::probe::hook {

constinit const OpenMp* g_openmp = nullptr;

namespace {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define ATTUNE_ALONE(result, name, parameters, arguments, alone, ...) \
  result Alone_##name parameters { return alone; }
ATTUNE_OPENMP_HOOKS(ATTUNE_ALONE)
#undef ATTUNE_ALONE
int AloneTest(void* lock) { return 1; }
void AloneSet(void* lock) {}
#pragma GCC diagnostic pop

#define ATTUNE_ALONE_POINTER(result, name, parameters, arguments, alone, ...) &Alone_##name,
#define ATTUNE_ALONE_LOCK(test, set, unset) &AloneTest, &AloneSet, &AloneSet,
constinit const OpenMp g_alone = {ATTUNE_OPENMP_HOOKS(ATTUNE_ALONE_POINTER) ATTUNE_OPENMP_LOCKS(ATTUNE_ALONE_LOCK)};
#undef ATTUNE_ALONE_POINTER
#undef ATTUNE_ALONE_LOCK

/// Limit per process. Code that uses a further runtime would run without a team.
constexpr uint32_t kMaxRuntimes = 32;
/// Places that call, by hash; where there is no room the loader is asked each time.
constexpr uint32_t kPlaces = 1024;
constexpr uint32_t kMaxProbes = 8;
/// A function that every runtime has: its address tells one from another.
constexpr const char* kAnchor = "GOMP_parallel";

struct Runtime {
  enum State : uint32_t { kFree, kBeingFilled, kValid };
  uint32_t state;
  const void* anchor;
  OpenMp functions;
};
struct Place {
  const void* site;  ///< nullptr: free
  const OpenMp* openmp;
};
constinit Runtime g_runtimes[kMaxRuntimes] = {};
constinit Place g_places[kPlaces] = {};

const void* ModuleOf(const void* address) {
  Dl_info info;
  return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

}  // namespace

void* FindForeign(void* handle, const char* name) {
  void* found = dlsym(handle, name);
  return found == nullptr || ModuleOf(found) == ModuleOf(&g_alone) ? nullptr : found;
}

namespace {

template <class Function, class Find>
void Fill(Function& function, Function alone, const Find& find, const char* name) {
  void* found = find(name);
  function = found != nullptr ? reinterpret_cast<Function>(found) : alone;
}

/// @param find gives a function of the runtime's by its name
template <class Find>
void FillAll(OpenMp& openmp, const Find& find) {
#define ATTUNE_FILL(result, name, parameters, arguments, alone, ...) Fill(openmp.name, &Alone_##name, find, #name);
#define ATTUNE_FILL_LOCK(test, set, unset)    \
  Fill(openmp.test, &AloneTest, find, #test); \
  Fill(openmp.set, &AloneSet, find, #set);    \
  Fill(openmp.unset, &AloneSet, find, #unset);
  ATTUNE_OPENMP_HOOKS(ATTUNE_FILL)
  ATTUNE_OPENMP_LOCKS(ATTUNE_FILL_LOCK)
#undef ATTUNE_FILL
#undef ATTUNE_FILL_LOCK
}

/// The table of a runtime, made if it is new. Two threads that come at once may make it twice, with the same contents.
template <class Find>
const OpenMp* Take(const Find& find) {
  const void* anchor = find(kAnchor);
  for (Runtime& runtime : g_runtimes) {
    uint32_t state = __atomic_load_n(&runtime.state, __ATOMIC_ACQUIRE);
    if (state == Runtime::kValid && runtime.anchor == anchor) return &runtime.functions;
    if (state != Runtime::kFree || !__atomic_compare_exchange_n(&runtime.state, &state, uint32_t{Runtime::kBeingFilled},
                                                                false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
      continue;
    runtime.anchor = anchor;
    FillAll(runtime.functions, find);
    __atomic_store_n(&runtime.state, uint32_t{Runtime::kValid}, __ATOMIC_RELEASE);
    return &runtime.functions;
  }
  return nullptr;
}

/// Finds the runtime that the loader would have given the code at a place. The loader searches what the program was
/// linked with and preloaded first, then what the library was linked with. If there is none, the code does without, as
/// it would without us.
const OpenMp* Ask(const void* site) {
  if (FindForeign(RTLD_NEXT, kAnchor) != nullptr) {
    const OpenMp* openmp = Take([](const char* name) { return FindForeign(RTLD_NEXT, name); });
    if (openmp != nullptr) __atomic_store_n(&g_openmp, openmp, __ATOMIC_RELEASE);
    return openmp;
  }
  LoadedModule runtime;
  if (!FindExporter(site, kAnchor, runtime)) return nullptr;
  return Take([&runtime](const char* name) { return FindExport(runtime, name); });
}

}  // namespace

const OpenMp& FindOpenMp(const void* site) {
  const auto hash = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(site) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
  Place* room = nullptr;
  for (uint32_t probe = 0; probe < kMaxProbes && room == nullptr; ++probe) {
    Place& place = g_places[(hash + probe) % kPlaces];
    const void* known = __atomic_load_n(&place.site, __ATOMIC_ACQUIRE);
    const OpenMp* openmp = __atomic_load_n(&place.openmp, __ATOMIC_ACQUIRE);
    if (known == site && openmp != nullptr) return *openmp;
    if (known == nullptr || known == site) room = &place;
  }
  const OpenMp* openmp = Ask(site);
  if (openmp == nullptr) return g_alone;
  const void* expected = nullptr;
  if (room != nullptr &&
      (__atomic_compare_exchange_n(&room->site, &expected, site, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
       expected == site))
    __atomic_store_n(&room->openmp, openmp, __ATOMIC_RELEASE);
  return *openmp;
}

}  // namespace attune::probe::hook
