#pragma once
/// Initialisation of MPI; creation and release of communicators. Each function has the name of its role in
/// catalog/mpi.txt.

#include "probe/mpi/record.h"

namespace attune::probe::mpi {

/// Called after MPI_Init: adds MPI_COMM_WORLD and MPI_COMM_SELF.
template <class Abi>
inline void Initialised() {
  const KeptErrno kept;
  int level = 0;
  if (Helper<Abi>::Query_thread()(&level) == 0) g_has_threads = level == Abi::kThreadMultiple;
  (void)CommunicatorOf<Abi>(Abi::FromKey(g_predefined.world));
  (void)CommunicatorOf<Abi>(Abi::FromKey(g_predefined.self));
}

template <class Abi, class Real>
inline int Init(Call&& call, const Real& real) {
  const int result = call.Make(real);
  call.Count();
  if (result == 0) Initialised<Abi>();
  return result;
}

template <class Abi, class Real>
inline int InitThread(Call&& call, const Real& real) {
  return Init<Abi>(static_cast<Call&&>(call), real);
}

/// Adds a new communicator. @param has_common_parent whether all of its ranks have the same parent
template <class Abi>
inline void Made(typename Abi::Handle handle, const Communicator* parent, bool has_common_parent) {
  if (Abi::Key(handle) == g_predefined.no_communicator) return;
  const KeptErrno kept;
  Forget(Abi::Key(handle));  // an older one may have been freed unobserved
  Communicator* made = Learn<Abi>(handle, parent, has_common_parent);
  if (made->is_told == 0) Tell(made);
}

/// Creates a communicator. The groups of an intercommunicator have different parents.
template <class Abi, class Real>
inline int Make(Call&& call, const Real& real, typename Abi::Handle comm, const typename Abi::Handle* made) {
  const Communicator* parent = CommunicatorOf<Abi>(comm);
  const int result = call.Make(real);
  call.Count();
  constexpr uint16_t kIntercommCreate = 146;  // catalog/mpi.txt
  if (result == 0) Made<Abi>(*made, parent, call.Function() != kIntercommCreate);
  return result;
}

/// Begins to create a copy, whose members cannot be queried yet; they are those of the parent.
template <class Abi, class Real>
inline int Imake(Call&& call, const Real& real, typename Abi::Handle comm, const typename Abi::Handle* made) {
  const Communicator* parent = CommunicatorOf<Abi>(comm);
  const int result = call.Make(real);
  call.Count();
  if (result != 0 || parent->index == 0) return result;
  Forget(Abi::Key(*made));
  Communicator* copy = Add(Abi::Key(*made), parent, parent->local, parent->peers, parent->rank, 0);
  if (copy->is_told == 0) Tell(copy);
  return result;
}

/// Creates a communicator with processes of another world.
template <class Abi, class Real>
inline int Join(Call&& call, const Real& real, const typename Abi::Handle* made) {
  const int result = call.Make(real);
  call.Count();
  if (result == 0 && FindCommunicator(Abi::Key(*made)) == nullptr) Made<Abi>(*made, nullptr, true);
  return result;
}

/// Frees a communicator. The handle is forgotten first, since another thread may get it as soon as it is free.
template <class Abi, class Real>
inline int Unmake(Call&& call, const Real& real, const typename Abi::Handle* comm) {
  Forget(Abi::Key(*comm));
  const int result = call.Make(real);
  call.Count();
  return result;
}

template <class Abi, class Real>
inline int SetName(Call&& call, const Real& real, typename Abi::Handle comm, const char* name) {
  Communicator* communicator = CommunicatorOf<Abi>(comm);
  const int result = call.Make(real);
  call.Count();
  if (result == 0) Rename(communicator, name);
  return result;
}

}  // namespace attune::probe::mpi
