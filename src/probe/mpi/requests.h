#pragma once
/// Table of pending requests by handle: bounded, without locks.
///
/// A library may reuse the handle of a complete request, in another thread, before we have looked it up. A handle can
/// therefore occur twice; the request that a call completed had its handle before that call.

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
  uint64_t known;  ///< ticks at the end of the call that returned its handle
  const void* site;
  uint64_t bytes;           ///< sent by a send or a collective operation
  uint64_t bytes_received;  ///< received by a collective operation
  Communicator* communicator;
  uint32_t peer;  ///< send: rank in the world; collective operation: root
  int32_t tag;    ///< send: its tag; collective operation: its number in sequence
  uint16_t function;
  RequestKind kind;
  bool is_persistent;
  bool is_active;  ///< a persistent request was started
};

/// Stores a request. Without room it is lost, and counted as a lost event.
void KeepRequest(uint64_t handle, const Request& request);

/// Removes a request whose handle was known before a time. A persistent one stays and becomes inactive, and is returned
/// only if it was active. @return whether there is one
bool TakeRequest(uint64_t handle, uint64_t before, Request& request);

/// A persistent request, to be started. nullptr: not found.
Request* PersistentRequest(uint64_t handle, uint64_t before);

/// Removes a request, persistent or not. @return whether there was one
bool DropRequest(uint64_t handle, uint64_t before, Request& request);

/// Key of a message handle of MPI_Mprobe, distinct from those of requests.
inline uint64_t ProbedKey(uint64_t handle) { return handle ^ UINT64_C(0x5a00000000000000); }

/// Whether several threads of the process may call at once. From MPI_Init on.
extern bool g_has_threads;

}  // namespace attune::probe::mpi
