#include "probe/mpi/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "probe/core.h"
#include "probe/hook/exports.h"
#include "probe/hook/module.h"

namespace attune::probe::mpi {

using hook::FindExport;
using hook::LoadedModule;

constinit void* g_real[kMaxFunctions] = {};
constinit Helpers g_helpers = {};
constinit Predefined g_predefined = {};
constinit bool g_has_bindings = false;
extern "C" {
__thread const void* attune_mpi_fortran_site __attribute__((tls_model("initial-exec"))) = nullptr;
/// Target of each symbol: MPI_, PMPI_, and three kinds of Fortran's (catalog/generate_mpi.py).
extern void* attune_mpi_slots[] __attribute__((visibility("hidden")));
}
extern const char* const kSymbols[];
extern const uint32_t kFunctions;

namespace {

enum Kind : uint32_t { kMpi = 0, kPmpi = 1, kFortran = 2, kFortran08 = 3 };

enum class Implementation : uint32_t { kNone, kOpenMpi, kMpich, kUnknown };

struct Library {
  Implementation implementation;
  LoadedModule module;
};
constinit Library g_library = {};
constinit uint32_t g_library_state = 0;  ///< 1: it is there

/// Modules that call on behalf of Fortran.
constexpr uint32_t kMaxBindings = 4;
constinit LoadedModule g_bindings[kMaxBindings] = {};

bool IsIn(const LoadedModule& module, const void* address) {
  const uint64_t at = reinterpret_cast<uintptr_t>(address);
  return at >= module.start && at < module.end;
}

/// A variable that the program refers to may lie in the program itself: its linker has made room there.
uint64_t AddressOf(const LoadedModule& module, const char* name) {
  void* found = dlsym(RTLD_DEFAULT, name);
  if (found == nullptr) found = FindExport(module, name, STT_OBJECT);
  return reinterpret_cast<uintptr_t>(found);
}

Implementation Recognise(const LoadedModule& module) {
  if (FindExport(module, "ompi_mpi_comm_world", STT_OBJECT) != nullptr) return Implementation::kOpenMpi;
  // Fortran's constants, in all that keep to MPICH's ABI.
  if (FindExport(module, "MPIR_F08_MPI_BOTTOM", STT_OBJECT) != nullptr ||
      FindExport(module, "MPII_Version_ABI", STT_OBJECT) != nullptr)
    return Implementation::kMpich;
  return Implementation::kUnknown;
}

void Prepare(const LoadedModule& module, Implementation implementation) {
  if (implementation == Implementation::kOpenMpi) {
    g_predefined = {AddressOf(module, "ompi_mpi_comm_world"), AddressOf(module, "ompi_mpi_comm_self"),
                    AddressOf(module, "ompi_mpi_comm_null"), AddressOf(module, "ompi_request_null"),
                    AddressOf(module, "ompi_request_empty")};
  } else {
    g_predefined = {static_cast<uint32_t>(Mpich::kWorld), static_cast<uint32_t>(Mpich::kSelf),
                    static_cast<uint32_t>(Mpich::kNoCommunicator), static_cast<uint32_t>(Mpich::kNoRequest), 0};
  }
#define ATTUNE_MPI_HELPER(name, parameters) g_helpers.name = FindExport(module, "PMPI_" #name);
  ATTUNE_MPI_HELPERS(ATTUNE_MPI_HELPER)
#undef ATTUNE_MPI_HELPER
}

bool HasAllHelpers() {
  const auto* helpers = reinterpret_cast<void* const*>(&g_helpers);
  for (size_t i = 0; i < sizeof g_helpers / sizeof *helpers; ++i) {
    if (helpers[i] == nullptr) return false;
  }
  return true;
}

/// Slots lead there for good.
void KeepLoaded(const LoadedModule& module) {
  hook::ModuleBounds bounds;
  if (hook::FindBounds(module.start, bounds) && bounds.path[0] == '/')
    (void)dlopen(bounds.path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/// Two threads that come at once both do it, with the same result.
const Library* FindLibrary(const void* site) {
  if (__atomic_load_n(&g_library_state, __ATOMIC_ACQUIRE) != 0) return &g_library;
  constexpr const char* kAnchor = "PMPI_Comm_size";
  LoadedModule module;
  if (!hook::FindExporter(site, kAnchor, module) && !hook::FindAnyExporter(kAnchor, module)) return nullptr;
  Implementation implementation = Recognise(module);
  if (implementation != Implementation::kUnknown) Prepare(module, implementation);
  if (!HasAllHelpers()) implementation = Implementation::kUnknown;
  g_library = {implementation, module};
  KeepLoaded(module);
  __atomic_store_n(&g_library_state, 1, __ATOMIC_RELEASE);
  return &g_library;
}

/// Stand-ins without an MPI library: they say that MPI is not initialised, or that the call failed.
int NotInitialised(int* flag) {
  *flag = 0;
  return 0;
}
int Missing() {
  constexpr int kOtherError = 16;
  return kOtherError;
}
void* MissingFor(const char* name) {
  const bool asks =
      strcmp(name + strlen("MPI_"), "Initialized") == 0 || strcmp(name + strlen("MPI_"), "Finalized") == 0;
  return asks ? reinterpret_cast<void*>(&NotInitialised) : reinterpret_cast<void*>(&Missing);
}

/// Whether anything is ever recorded in this process.
bool IsObserved() { return g_process.header != nullptr && g_process.sync_entries > 0; }

void* HookIn(const Library& library, uint16_t function) {
  if (!IsObserved()) return nullptr;
  if (library.implementation == Implementation::kOpenMpi) return HookFor<OpenMpi>(function);
  if (library.implementation == Implementation::kMpich) return HookFor<Mpich>(function);
  return nullptr;
}

/// Target of a call of MPI_X or PMPI_X. @param is_lasting whether that stays so
void* Target(Kind kind, uint16_t function, const void* site, bool& is_lasting) {
  const char* name = kSymbols[function];
  is_lasting = false;
  const Library* library = FindLibrary(site);
  // A tool in the library's place, which calls PMPI_X itself.
  void* next = dlsym(RTLD_NEXT, kind == kMpi ? name : kSymbols[kFunctions + 1 + function]);
  if (library == nullptr) return next != nullptr ? next : MissingFor(name);
  void* real = FindExport(library->module, kSymbols[kFunctions + 1 + function]);
  if (real == nullptr) return next != nullptr ? next : MissingFor(name);
  is_lasting = true;
  __atomic_store_n(&g_real[function], real, __ATOMIC_RELEASE);
  if (kind == kMpi && next != nullptr && !IsIn(library->module, next)) return next;
  void* hook = HookIn(*library, function);
  return hook != nullptr ? hook : real;
}

void NoteBinding(const LoadedModule& module) {
  for (LoadedModule& binding : g_bindings) {
    if (binding.end == module.end) return;
    if (binding.end != 0) continue;
    binding.start = module.start;
    __atomic_store_n(&binding.end, module.end, __ATOMIC_RELEASE);
    __atomic_store_n(&g_has_bindings, true, __ATOMIC_RELEASE);
    return;
  }
}

void NoteBindingAt(const void* address) {
  hook::ModuleBounds bounds;
  if (hook::FindBounds(reinterpret_cast<uintptr_t>(address), bounds))
    NoteBinding({.start = bounds.start, .end = bounds.end, .bias = bounds.bias, .dynamic = nullptr});
}

void* FortranTarget(Kind kind, uint32_t symbol, const void* site, bool& is_lasting) {
  const char* name = kSymbols[symbol];
  void* found = dlsym(RTLD_NEXT, name);
  LoadedModule module;
  if (found == nullptr && hook::FindExporter(site, name, module)) found = FindExport(module, name);
  is_lasting = found != nullptr;
  if (found == nullptr) return reinterpret_cast<void*>(&Missing);
  NoteBindingAt(found);
  // Open MPI's for Fortran 2008 call those for older programs.
  if (kind == kFortran08 && hook::FindExporter(found, "ompi_send_f", module)) NoteBinding(module);
  return found;
}

/// The first call through a slot. @return where it leads
extern "C" __attribute__((visibility("hidden"), used)) void* attune_mpi_resolve(uint32_t slot, const void* site) {
  const int saved_errno = errno;
  const auto kind = static_cast<Kind>(slot / (kFunctions + 1));
  const auto function = static_cast<uint16_t>(slot % (kFunctions + 1));
  bool is_lasting = false;
  void* target =
      kind < kFortran ? Target(kind, function, site, is_lasting) : FortranTarget(kind, slot, site, is_lasting);
  if (is_lasting) __atomic_store_n(&attune_mpi_slots[slot], target, __ATOMIC_RELEASE);
  errno = saved_errno;
  return target;
}

}  // namespace

const void* SiteBehindBindings(const void* site) {
  for (const LoadedModule& binding : g_bindings) {
    const uint64_t end = __atomic_load_n(&binding.end, __ATOMIC_ACQUIRE);
    if (end == 0) break;
    if (IsIn(binding, site)) return attune_mpi_fortran_site != nullptr ? attune_mpi_fortran_site : site;
  }
  return site;
}

}  // namespace attune::probe::mpi
