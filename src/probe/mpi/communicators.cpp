#include "probe/mpi/communicators.h"

#include <string.h>
#include <sys/mman.h>

#include "probe/hook/account.h"
#include "probe/mpi/world.h"

namespace attune::probe::mpi {

constinit Communicator* g_world = nullptr;
constinit uint64_t g_world_id = 0;

namespace {

constexpr uint32_t kHandles = 2 << 16;  ///< twice as many as there are numbers
constexpr uint32_t kMaxProbes = 64;
constexpr uint64_t kForgotten = 1;  ///< no handle
constexpr uint64_t kTaken = 2;      ///< nor this
constexpr uint32_t kMaxMembers = 4096;
constexpr uint64_t kMaxMemberBytes = 64 << 20;
constexpr uint32_t kOrigins = 1 << 14;
constexpr int32_t kFewRanks = 256;

struct Handle {
  uint64_t key;
  Communicator* communicator;
};
/// How many communicators were made of the same members from the same.
struct Origin {
  uint64_t hash;
  uint64_t made;
};
/// In one mapping, made with the first communicator.
struct Tables {
  Handle handles[kHandles];
  Origin origins[kOrigins];
  const Members* members[kMaxMembers];
  Communicator communicators[wire::kMessageMaxCommunicators];
  uint64_t member_bytes;
  uint32_t last_index;
};
constinit Tables* g_tables = nullptr;

constinit Communicator g_no_room = {};

Tables* GetTables() {
  Tables* tables = __atomic_load_n(&g_tables, __ATOMIC_ACQUIRE);
  if (tables != nullptr) return tables;
  tables = static_cast<Tables*>(Map(sizeof(Tables)));
  if (tables == nullptr) return nullptr;
  Tables* expected = nullptr;
  if (__atomic_compare_exchange_n(&g_tables, &expected, tables, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    return tables;
  Unmap(tables, sizeof(Tables));
  return expected;
}

uint32_t Hash(uint64_t key) { return static_cast<uint32_t>(key * UINT64_C(0x9e3779b97f4a7c15) >> 40); }

/// The place of a handle, or for it. nullptr: there is none. @param add whether one is to be taken
Handle* Place(Tables* tables, uint64_t key, bool add) {
  for (uint32_t probe = 0; probe < kMaxProbes; ++probe) {
    Handle& handle = tables->handles[(Hash(key) + probe) % kHandles];
    uint64_t seen = __atomic_load_n(&handle.key, __ATOMIC_ACQUIRE);
    if (seen == key) return &handle;
    if (!add && seen == 0) return nullptr;
    if (add && (seen == 0 || seen == kForgotten) &&
        __atomic_compare_exchange_n(&handle.key, &seen, kTaken, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      return &handle;
  }
  return nullptr;
}

/// How many of the same origin there were before this one.
uint64_t CountOrigin(Tables* tables, uint64_t hash) {
  for (uint32_t probe = 0; probe < kMaxProbes; ++probe) {
    Origin& origin = tables->origins[(Hash(hash) + probe) % kOrigins];
    uint64_t seen = 0;
    if (__atomic_compare_exchange_n(&origin.hash, &seen, hash, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
        seen == hash)
      return __atomic_fetch_add(&origin.made, 1, __ATOMIC_RELAXED);
  }
  return 0;
}

uint64_t Mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ hash >> 29;
}

bool IsIdentity(const Members& members) {
  for (int32_t i = 0; i < members.size; ++i) {
    if (members.ranks[i] != i) return false;
  }
  return true;
}

/// Whether there are numbers for no more of them.
bool IsFull() {
  const Tables* tables = __atomic_load_n(&g_tables, __ATOMIC_ACQUIRE);
  return tables != nullptr &&
         __atomic_load_n(&tables->last_index, __ATOMIC_RELAXED) >= wire::kMessageMaxCommunicators - 1;
}

/// A free one, with its number.
Communicator* Take(Tables* tables) {
  const uint32_t index = __atomic_add_fetch(&tables->last_index, 1, __ATOMIC_RELAXED);
  if (index >= wire::kMessageMaxCommunicators) {
    __atomic_store_n(&tables->last_index, uint32_t{wire::kMessageMaxCommunicators}, __ATOMIC_RELAXED);
    return nullptr;
  }
  Communicator* communicator = &tables->communicators[index];
  communicator->index = index;
  return communicator;
}

void Publish(Handle* place, Communicator* communicator) {
  __atomic_store_n(&place->communicator, communicator, __ATOMIC_RELEASE);
  __atomic_store_n(&place->key, communicator->handle, __ATOMIC_RELEASE);
}

/// Whether the world is told.
bool TellWorld() {
  static constinit uint32_t is_told = 0;
  if (__atomic_load_n(&is_told, __ATOMIC_RELAXED) != 0) return true;
  const Communicator* world = __atomic_load_n(&g_world, __ATOMIC_ACQUIRE);
  if (world == nullptr) return true;
  const uint64_t values[2] = {g_world_id, static_cast<uint64_t>(static_cast<uint32_t>(world->rank)) << 32 |
                                              static_cast<uint32_t>(world->Size())};
  if (!EmitIfRoom(wire::EventKind::kRank, 0, 0, values, 2)) return false;
  __atomic_store_n(&is_told, 1, __ATOMIC_RELAXED);
  return true;
}

}  // namespace

void* Map(uint64_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory != MAP_FAILED ? memory : nullptr;
}

void Unmap(void* memory, uint64_t bytes) { munmap(memory, bytes); }

Communicator* NoRoom() { return &g_no_room; }

Communicator* FindCommunicator(uint64_t handle) {
  Tables* tables = __atomic_load_n(&g_tables, __ATOMIC_ACQUIRE);
  if (tables == nullptr) return nullptr;
  const Handle* place = Place(tables, handle, false);
  return place != nullptr ? __atomic_load_n(&place->communicator, __ATOMIC_ACQUIRE) : nullptr;
}

void Tell(Communicator* communicator) {
  if (communicator->index == 0 || hook::ThreadWithTable() == nullptr || !TellWorld()) return;
  const uint64_t values[4] = {communicator->index, communicator->id,
                              static_cast<uint64_t>(static_cast<uint32_t>(communicator->rank)) << 32 |
                                  static_cast<uint32_t>(communicator->Size()),
                              communicator->parent};
  if (EmitIfRoom(wire::EventKind::kCommunicator, 0, communicator->name, values, 4))
    __atomic_store_n(&communicator->is_told, 1, __ATOMIC_RELEASE);
}

void Forget(uint64_t handle) {
  Tables* tables = __atomic_load_n(&g_tables, __ATOMIC_ACQUIRE);
  if (tables == nullptr) return;
  Handle* place = Place(tables, handle, false);
  if (place != nullptr) __atomic_store_n(&place->key, kForgotten, __ATOMIC_RELEASE);
}

void Rename(Communicator* communicator, const char* name) {
  if (communicator->index == 0) return;
  communicator->name = RegisterName(name);
  Tell(communicator);
}

const Members* Keep(const int32_t* ranks, int32_t size) {
  Tables* tables = GetTables();
  if (tables == nullptr || size < 0) return nullptr;
  uint64_t hash = static_cast<uint64_t>(size);
  for (int32_t i = 0; i < size; ++i) hash = Mix(hash, static_cast<uint32_t>(ranks[i]));
  const uint64_t bytes = sizeof(Members) + static_cast<uint64_t>(size) * sizeof(int32_t);
  Members* made = nullptr;
  for (uint32_t probe = 0; probe < kMaxProbes; ++probe) {
    const Members** place = &tables->members[(Hash(hash) + probe) % kMaxMembers];
    const Members* seen = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (seen == nullptr) {
      if (__atomic_fetch_add(&tables->member_bytes, bytes, __ATOMIC_RELAXED) > kMaxMemberBytes) return nullptr;
      if (made == nullptr) made = static_cast<Members*>(Map(bytes));
      if (made == nullptr) return nullptr;
      made->hash = hash;
      made->size = size;
      memcpy(made->ranks, ranks, static_cast<size_t>(size) * sizeof(int32_t));
      if (__atomic_compare_exchange_n(place, &seen, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return made;
    }
    if (seen->hash != hash || seen->size != size || memcmp(seen->ranks, ranks, bytes - sizeof(Members)) != 0) continue;
    if (made != nullptr) Unmap(made, bytes);
    return seen;
  }
  return nullptr;
}

Communicator* Add(uint64_t handle, const Communicator* parent, const Members* local, const Members* peers, int32_t rank,
                  uint32_t name) {
  Tables* tables = GetTables();
  if (tables == nullptr || local == nullptr || peers == nullptr) return NoRoom();
  Handle* place = Place(tables, handle, true);
  if (place == nullptr) return NoRoom();
  Communicator* communicator = Take(tables);
  if (communicator == nullptr) {
    __atomic_store_n(&place->key, kForgotten, __ATOMIC_RELEASE);
    return NoRoom();
  }
  // The two groups of one between groups are each other's peers.
  const uint64_t members = local == peers ? local->hash : local->hash + peers->hash;
  const uint64_t origin = Mix(Mix(Mix(g_world_id, parent != nullptr ? parent->id : 0), members), local != peers) | 1;
  communicator->handle = handle;
  communicator->id = Mix(origin, CountOrigin(tables, origin));
  communicator->parent = parent != nullptr ? parent->id : 0;
  communicator->local = local;
  communicator->peers = peers;
  communicator->world = IsIdentity(*peers) ? nullptr : peers->ranks;
  communicator->rank = rank;
  communicator->name = name;
  Publish(place, communicator);
  return communicator;
}

void AddWorld(uint64_t handle, uint64_t self_handle, int32_t rank, int32_t size) {
  Tables* tables = GetTables();
  auto* ranks = static_cast<int32_t*>(Map(static_cast<uint64_t>(size) * sizeof(int32_t)));
  if (tables == nullptr || ranks == nullptr) return;
  for (int32_t i = 0; i < size; ++i) ranks[i] = i;
  g_world_id = WorldId();
  Communicator* world = nullptr;
  const Members* all = Keep(ranks, size);
  if (all != nullptr) world = Add(handle, nullptr, all, all, rank, RegisterName("MPI_COMM_WORLD"));
  if (world != nullptr && world != NoRoom()) {
    world->id = g_world_id;
    const Members* self = Keep(&rank, 1);
    Communicator* own = Add(self_handle, nullptr, self, self, 0, RegisterName("MPI_COMM_SELF"));
    own->parent = 0;
    __atomic_store_n(&g_world, world, __ATOMIC_RELEASE);
  }
  Unmap(ranks, static_cast<uint64_t>(size) * sizeof(int32_t));
}

namespace {

/// The ranks of a group in the world. -1: of another one. nullptr: there is no room
template <class Abi>
const Members* MembersOf(typename Abi::Handle group, typename Abi::Handle world_group) {
  int size = 0;
  if (Helper<Abi>::Group_size()(group, &size) != 0 || size <= 0) return nullptr;
  // Programs make many communicators of few ranks.
  int32_t few[2 * kFewRanks];
  const uint64_t bytes = 2 * static_cast<uint64_t>(size) * sizeof(int32_t);
  auto* ranks = size <= kFewRanks ? few : static_cast<int32_t*>(Map(bytes));
  if (ranks == nullptr) return nullptr;
  for (int i = 0; i < size; ++i) ranks[i] = i;
  int32_t* translated = ranks + size;
  const Members* members = nullptr;
  if (Helper<Abi>::Group_translate_ranks()(group, size, ranks, world_group, translated) == 0) {
    for (int i = 0; i < size; ++i) {
      if (translated[i] == Abi::kUndefined) translated[i] = -1;
    }
    members = Keep(translated, size);
  }
  if (ranks != few) Unmap(ranks, bytes);
  return members;
}

template <class Abi>
using GroupOf = int(typename Abi::Handle, typename Abi::Handle*);

template <class Abi>
const Members* MembersIn(GroupOf<Abi>* group_of, typename Abi::Handle handle, typename Abi::Handle world_group) {
  typename Abi::Handle group;
  if (group_of(handle, &group) != 0) return nullptr;
  const Members* members = MembersOf<Abi>(group, world_group);
  Helper<Abi>::Group_free()(&group);
  return members;
}

/// Needed if the first call that is seen is not MPI_Init, or if MPI_Init was not recorded.
template <class Abi>
bool LearnWorld() {
  int is_initialised = 0, is_finalised = 0;
  if (Helper<Abi>::Initialized()(&is_initialised) != 0 || is_initialised == 0) return false;
  if (Helper<Abi>::Finalized()(&is_finalised) != 0 || is_finalised != 0) return false;
  if (__atomic_load_n(&g_world, __ATOMIC_ACQUIRE) != nullptr) return true;
  typename Abi::Handle group;
  int rank = 0, size = 0;
  const auto world = Abi::FromKey(g_predefined.world);
  if (Helper<Abi>::Comm_rank()(world, &rank) != 0 || Helper<Abi>::Comm_group()(world, &group) != 0) return false;
  const bool has_size = Helper<Abi>::Group_size()(group, &size) == 0;
  Helper<Abi>::Group_free()(&group);
  // If two threads come first, one of them makes it.
  static constinit uint32_t is_made = 0;
  if (has_size && size > 0 && __atomic_exchange_n(&is_made, 1, __ATOMIC_ACQ_REL) == 0)
    AddWorld(g_predefined.world, g_predefined.self, rank, size);
  return true;
}

}  // namespace

template <class Abi>
Communicator* Learn(typename Abi::Handle handle, const Communicator* parent, bool has_common_parent) {
  const uint64_t key = Abi::Key(handle);
  if (key == g_predefined.no_communicator || !LearnWorld<Abi>()) return NoRoom();
  if (Communicator* known = FindCommunicator(key); known != nullptr) return known;
  if (IsFull()) return NoRoom();
  typename Abi::Handle world_group;
  if (Helper<Abi>::Comm_group()(Abi::FromKey(g_predefined.world), &world_group) != 0) return NoRoom();
  int is_between = 0, rank = 0;
  Helper<Abi>::Comm_test_inter()(handle, &is_between);
  Helper<Abi>::Comm_rank()(handle, &rank);
  const Members* local = MembersIn<Abi>(Helper<Abi>::Comm_group(), handle, world_group);
  const Members* peers = local;
  if (is_between != 0) peers = MembersIn<Abi>(Helper<Abi>::Comm_remote_group(), handle, world_group);
  Helper<Abi>::Group_free()(&world_group);
  Communicator* made = Add(key, has_common_parent ? parent : nullptr, local, peers, rank, 0);
  if (!has_common_parent && parent != nullptr && made != NoRoom()) made->parent = parent->id;
  return made;
}

template Communicator* Learn<OpenMpi>(OpenMpi::Handle, const Communicator*, bool);
template Communicator* Learn<Mpich>(Mpich::Handle, const Communicator*, bool);

}  // namespace attune::probe::mpi
