#pragma once
/// One age of a field with what the runtime knows of it, and how it gets and gives back its memory.

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "attune/flow/storage.h"
#include "base/thread_safety.h"

namespace attune::flow::detail {

struct Instances;

/// @thread elements: any. The rest under the engine's lock.
struct StoredAge : FieldAge {
  StoredAge() = default;
  ~StoredAge();
  StoredAge(const StoredAge&) = delete;
  StoredAge& operator=(const StoredAge&) = delete;

  bool opened = false;    ///< somebody may store into it
  bool complete = false;  ///< nobody can any more
  bool pinned = false;    ///< every age of some kernel reads it, so it is never reclaimed
  int pending_writers = 0;
  int pending_readers = 0;
  int64_t stored = 0;  ///< elements, when complete
  int64_t max_extent = 0;
  int64_t element_bytes = 0;
  std::atomic<int64_t>* live_bytes = nullptr;  ///< of all fields together
  std::vector<Instances*> waiting;             ///< until it is complete

  /// Takes the memory of another age of the same field, and gives it its own. @pre nobody uses either
  void SwapMemory(StoredAge* other);
  /// Makes block 0 for these extents, if there is none. Smaller ones than it has had before are enlarged to those.
  /// @throws std::bad_alloc; there is no block 0 then
  void Reserve(const std::array<int64_t, kMaxRank>& extents);
  /// Counts what was stored and puts it into one piece. @return false: nothing was stored
  /// @throws std::bad_alloc (there is no memory for that)
  bool Finish();
  /// "100 x 200 elements of 4 bytes": what Finish() needs memory for. @pre it has several dimensions
  std::string SizeText() const;
  /// Sum over the stored elements of a hash of age, index and value. @pre complete
  uint64_t Checksum() const;
  /// Ready for another age of the same field; keeps memory for the extents that it had.
  void Reset();
  /// The index of a position in block 0 (several dimensions) or in the whole.
  std::array<int64_t, kMaxRank> IndexOf(int64_t position) const;
  /// The first element within the extents that is not stored. @pre has_holes
  std::array<int64_t, kMaxRank> FirstHole() const;

  /// Of its blocks.
  int64_t Bytes() const { return first.capacity * element_bytes; }

  Block* MakeBlock(int k);
  bool StoreOutside(const int64_t* index, const void* value);

 private:
  using Index = std::array<int64_t, kMaxRank>;

  bool FinishLine();
  bool FinishArray();
  void TakeInOutside();
  Index ExtentsWithOutside() const ATTUNE_REQUIRES(mutex_);
  void Allocate(Block* block, int64_t capacity);
  void Free(Block* block);
  void SetRoom(const Index& extents);

  mutable Mutex mutex_;
  std::map<Index, std::vector<std::byte>> outside_ ATTUNE_GUARDED_BY(mutex_);
};

}  // namespace attune::flow::detail
