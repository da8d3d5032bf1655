#pragma once
/// What was begun and is not complete yet, by the handle of its request: a bounded table without locks.
///
/// A library may give the handle of a request to a new one as soon as it is complete, before we have looked it up, in
/// another thread. So a handle may be there twice; what a call has completed had its handle before that
/// call.

#include <stdint.h>

#include "probe/mpi/communicators.h"

namespace attune::probe::mpi {

enum class RequestKind : uint8_t {
  kNone,
  kSend,
  kReceive,
  kCollective,
  kProbed,  ///< a message of MPI_Mprobe: only its communicator counts
};

struct Request {
  uint64_t post;   ///< ticks
  uint64_t known;  ///< ticks at which its handle was: the end of the call that gave it
  const void* site;
  uint64_t bytes;           ///< of a send; of a collective operation those sent
  uint64_t bytes_received;  ///< of a collective operation
  Communicator* communicator;
  uint32_t peer;  ///< of a send: in the world; of a collective operation the root
  int32_t tag;    ///< of a send; of a collective operation its number in sequence
  uint16_t function;
  RequestKind kind;
  bool is_persistent;
  bool is_active;  ///< of a persistent one: it was started
};

/// Keeps it until it is taken. Where there is no room it is lost, and counted as a lost event.
void KeepRequest(uint64_t handle, const Request& request);

/// Takes what was known before a time. A persistent one stays, inactive, and is given only where it is active.
/// @return whether there is one
bool TakeRequest(uint64_t handle, uint64_t before, Request& request);

/// A persistent one, to be started. nullptr: it is not there.
Request* PersistentRequest(uint64_t handle, uint64_t before);

/// Forgets it, persistent or not. @return whether there was one
bool DropRequest(uint64_t handle, uint64_t before, Request& request);

/// A message of MPI_Mprobe has a handle of its own kind.
inline uint64_t ProbedKey(uint64_t handle) { return handle ^ UINT64_C(0x5a00000000000000); }

/// Whether several threads of the process may call at once. From MPI_Init on.
extern bool g_has_threads;

}  // namespace attune::probe::mpi
