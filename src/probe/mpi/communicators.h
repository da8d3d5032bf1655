#pragma once
/// What the probe knows of each communicator: its number, who its ranks are in the world, and what all of its ranks
/// agree to call it without a message: a hash of what it was made from, of who its members are, and of how many of the
/// same members were made from the same before. (All members of one took part in the making of the earlier ones too.)
///
/// Looked up without a lock. What was made stays, for requests and other threads may have it: numbers and places are
/// never given to another one. When the program frees a communicator its handle is forgotten.

#include <stdint.h>

#include "probe/core.h"
#include "probe/mpi/library.h"
#include "wire/message.h"

namespace attune::probe::mpi {

/// The members of one or more communicators.
struct Members {
  uint64_t hash;
  int32_t size;
  int32_t ranks[];  ///< in the world; -1: of another one
};

struct Communicator {
  uint64_t handle;  ///< Abi::Key
  uint64_t id;
  uint64_t parent;
  const Members* local;
  const Members* peers;  ///< whom ranks are of in its messages: `local`, or the remote group
  const int32_t* world;  ///< `peers->ranks`; nullptr: rank n is rank n of the world
  int32_t rank;
  uint32_t index;  ///< 0: there was no room for it
  uint32_t name;
  uint32_t collectives;  ///< so far
  uint32_t is_told;      ///< to the session

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

/// That of a handle; nullptr: it is not known yet. @cost 5 ns
Communicator* FindCommunicator(uint64_t handle);

/// Tells the session, if it does not know. @pre the thread has a slot
[[gnu::noinline]] void Tell(Communicator* communicator);

/// Gives an entry to what nothing else is known of.
Communicator* NoRoom();

void Forget(uint64_t handle);
void Rename(Communicator* communicator, const char* name);

/// Members that are the same are kept once. nullptr: there is no room. @param ranks of the world, -1: of another one
const Members* Keep(const int32_t* ranks, int32_t size);

/// @param parent what it was made from; nullptr: it is not known, or differs between its ranks
Communicator* Add(uint64_t handle, const Communicator* parent, const Members* local, const Members* peers, int32_t rank,
                  uint32_t name);

/// WORLD, with its rank and the world's id.
void AddWorld(uint64_t handle, uint64_t self_handle, int32_t rank, int32_t size);

/// Memory for a call, or for good. nullptr: there is none.
void* Map(uint64_t bytes);
void Unmap(void* memory, uint64_t bytes);

/// Of an object that was made just now, or is met for the first time.
template <class Abi>
Communicator* Learn(typename Abi::Handle handle, const Communicator* parent, bool has_common_parent = true);

/// That of any handle. Never nullptr.
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
