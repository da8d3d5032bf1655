#pragma once
/// Finds the MPI library of the process, which may be loaded late and visible to few modules, and binds its functions.
///
/// Each MPI_ and PMPI_ symbol of ours is a jump through a slot. The first call resolves the slot: to a hook, or
/// directly to the library if nothing is recorded. A tool with its own functions (PMPI) keeps them: MPI_X leads to the
/// tool, and PMPI_X, which the tool calls, to our hook.
///
/// Our symbols are hidden versions: a look-up by name (dlsym) finds the library's own symbol, or none.

#include <stdint.h>

#include "probe/mpi/abi.h"

namespace attune::probe::mpi {

constexpr uint32_t kMaxFunctions = 512;

/// The library's functions, by number; nullptr: not looked up yet.
extern void* g_real[kMaxFunctions];

template <class Signature>
[[gnu::always_inline]] inline Signature* Real(uint16_t function) {
  return reinterpret_cast<Signature*>(__atomic_load_n(&g_real[function], __ATOMIC_RELAXED));
}

/// Functions that hooks call themselves. X(name, parameters): handles are those of the Abi.
#define ATTUNE_MPI_HELPERS(X)                                                                   \
  X(Comm_group, (typename Abi::Handle, typename Abi::Handle*))                                  \
  X(Comm_remote_group, (typename Abi::Handle, typename Abi::Handle*))                           \
  X(Comm_test_inter, (typename Abi::Handle, int*))                                              \
  X(Comm_rank, (typename Abi::Handle, int*))                                                    \
  X(Group_size, (typename Abi::Handle, int*))                                                   \
  X(Group_translate_ranks, (typename Abi::Handle, int, const int*, typename Abi::Handle, int*)) \
  X(Group_free, (typename Abi::Handle*))                                                        \
  X(Type_size_x, (typename Abi::Handle, int64_t*))                                              \
  X(Type_get_envelope, (typename Abi::Handle, int*, int*, int*, int*))                          \
  X(Initialized, (int*))                                                                        \
  X(Finalized, (int*))                                                                          \
  X(Query_thread, (int*))                                                                       \
  X(Error_class, (int, int*))                                                                   \
  X(Topo_test, (typename Abi::Handle, int*))                                                    \
  X(Cartdim_get, (typename Abi::Handle, int*))                                                  \
  X(Graph_neighbors_count, (typename Abi::Handle, int, int*))                                   \
  X(Dist_graph_neighbors_count, (typename Abi::Handle, int*, int*, int*))

/// The same as addresses.
struct Helpers {
#define ATTUNE_MPI_HELPER(name, parameters) void* name;
  ATTUNE_MPI_HELPERS(ATTUNE_MPI_HELPER)
#undef ATTUNE_MPI_HELPER
};
extern Helpers g_helpers;

/// The same as functions: Helper<Abi>::Comm_rank()(communicator, &rank).
template <class Abi>
struct Helper {
#define ATTUNE_MPI_HELPER(name, parameters) \
  using name##Type = int parameters;        \
  static name##Type* name() { return reinterpret_cast<name##Type*>(g_helpers.name); }
  ATTUNE_MPI_HELPERS(ATTUNE_MPI_HELPER)
#undef ATTUNE_MPI_HELPER
};

/// Call site of the thread's last call of a Fortran binding.
extern "C" __thread const void* attune_mpi_fortran_site
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/// The call site in the program behind a Fortran binding; else `site`.
const void* SiteBehindBindings(const void* site);

/// Whether any binding was called.
extern bool g_has_bindings;

/// The hook of a function. Defined for each ABI by hooks_*.cpp.
template <class Abi>
void* HookFor(uint16_t function);

}  // namespace attune::probe::mpi
