#pragma once
/// The known communicators: index, ranks in the world, and id. All ranks compute the same id without a message: a hash
/// of the parent, the members, and the number of earlier communicators with the same members and parent. (All members
/// of one took part in the creation of the earlier ones too.)
///
/// Look-ups take no lock. Entries stay for ever, because requests and other threads may refer to them: indices and
/// memory are never reused. When the program frees a communicator, only its handle is forgotten.

#include <stdint.h>

#include "probe/core.h"
#include "probe/mpi/library.h"
#include "wire/message.h"

namespace attune::probe::mpi {

/// The members of one or more communicators.
struct Members {
  uint64_t hash;
  int32_t size;
  int32_t ranks[];  ///< in the world; -1: of another world
};

struct Communicator {
  uint64_t handle;  ///< Abi::Key
  uint64_t id;
  uint64_t parent;
  const Members* local;
  const Members* peers;  ///< the group of the ranks in its messages: `local`, or the remote group
  const int32_t* world;  ///< `peers->ranks`; nullptr: rank n is rank n of the world
  int32_t rank;
  uint32_t index;  ///< 0: there was no room for it
  uint32_t name;
  uint32_t collectives;  ///< number of collective operations so far
  uint32_t is_told;      ///< whether the session has its record

  bool IsBetweenGroups() const { return local != peers; }
  int32_t Size() const { return local != nullptr ? local->size : 0; }
  int32_t PeerCount() const { return peers != nullptr ? peers->size : 0; }
  uint32_t Peer(int rank_there) const {
    if (world == nullptr) return static_cast<uint32_t>(rank_there);
    const bool is_known = rank_there >= 0 && rank_there < PeerCount() && world[rank_there] >= 0;
    return is_known ? static_cast<uint32_t>(world[rank_there])
                    : wire::kMessageForeignPeer | static_cast<uint32_t>(rank_there);
  }
};

extern Communicator* g_world;  ///< nullptr: not made yet
extern uint64_t g_world_id;

/// The communicator of a handle; nullptr: not known yet. @cost 5 ns
Communicator* FindCommunicator(uint64_t handle);

/// Writes its record, unless the session has it. @pre the thread has a slot
[[gnu::noinline]] void Tell(Communicator* communicator);

/// The entry for communicators without an index.
Communicator* NoRoom();

void Forget(uint64_t handle);
void Rename(Communicator* communicator, const char* name);

/// Stores members; equal ones share memory. nullptr: no room. @param ranks in the world, -1: of another world
const Members* Keep(const int32_t* ranks, int32_t size);

/// Adds a communicator. @param parent nullptr: not known, or not the same in all ranks
Communicator* Add(uint64_t handle, const Communicator* parent, const Members* local, const Members* peers, int32_t rank,
                  uint32_t name);

/// Adds MPI_COMM_WORLD and MPI_COMM_SELF, and sets the world's id.
void AddWorld(uint64_t handle, uint64_t self_handle, int32_t rank, int32_t size);

/// Maps memory. nullptr: failed.
void* Map(uint64_t bytes);
void Unmap(void* memory, uint64_t bytes);

/// Adds a communicator that was just created, or is met for the first time.
template <class Abi>
Communicator* Learn(typename Abi::Handle handle, const Communicator* parent, bool has_common_parent = true);

/// The communicator of any handle. Never nullptr.
template <class Abi>
[[gnu::always_inline]] inline Communicator* CommunicatorOf(typename Abi::Handle handle) {
  Communicator* world = __atomic_load_n(&g_world, __ATOMIC_ACQUIRE);
  const uint64_t key = Abi::Key(handle);
  Communicator* found = world;
  if (__builtin_expect(world == nullptr || key != world->handle, 0)) {
    found = FindCommunicator(key);
    if (found == nullptr) found = Learn<Abi>(handle, nullptr);
  }
  if (__builtin_expect(found->is_told == 0, 0)) Tell(found);
  return found;
}

}  // namespace attune::probe::mpi
