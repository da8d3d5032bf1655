#pragma once
/// Memory layout of one age of a field. Internal: programs include attune/flow.h. The code of kernels is compiled in
/// the program, so it reads this layout directly; the library makes, grows and reclaims it.

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

namespace attune::flow::detail {

inline constexpr int kMaxRank = 4;
inline constexpr int kMaxBlocks = 40;
inline constexpr int kMaxSlices = 8;  ///< fetches of a kernel, and stores

struct FieldAge;
struct KernelAge;

/// Throws what the run reports as an error of the instance.
[[noreturn]] void ThrowOutside(const FieldAge& age, int dim, int64_t index);
/// @throws std::out_of_range
[[noreturn]] void ThrowNoDimension(int dim, int rank);

/// Elements in one piece, with a bit for each that says whether it was stored.
struct Block {
  std::byte* data = nullptr;
  std::atomic<uint64_t>* written = nullptr;
  int64_t capacity = 0;
};

/// A kernel whose instances start as soon as single elements of this age are stored.
struct StreamReader {
  KernelAge* reader = nullptr;
  int64_t offset = 0;  ///< instance x reads the element x + offset
};

/// One age of a field. With one dimension, block 0 holds [0, c) and block k > 0 holds [c 2^(k-1), c 2^k), so elements
/// never move while they are written. With more, block 0 is a row-major array of `room`, and what lies outside goes to
/// a table behind Overflow() until the age is complete.
/// @thread elements: any, each is written once. The rest: written before readers and writers can see it.
struct FieldAge {
  Block first;
  std::atomic<Block*> more[kMaxBlocks] = {};
  Block whole;                          ///< all elements in one piece, when the age is complete
  int64_t room[kMaxRank] = {};          ///< of block 0, for each dimension: indices that may be stored there
  int64_t stride[kMaxRank] = {};        ///< elements between neighbours of a dimension, in block 0
  int64_t extent[kMaxRank] = {};        ///< final when the age is complete
  std::atomic<bool> has_holes = false;  ///< complete, and not every element within the extents is stored
  int stream_count = 0;
  StreamReader streams[kMaxSlices];
  int64_t age = 0;
  int rank = 1;
  bool sparse = false;
  int field = 0;
  const char* field_name = "";
};

/// Part of an age that lies in one piece, from one element on.
struct Piece {
  std::byte* data = nullptr;  ///< of block's element 0
  std::atomic<uint64_t>* written = nullptr;
  int64_t position = 0;  ///< of the element, in the block
  int64_t length = 0;    ///< elements from there to the end of the block
};

/// The index in a block of one dimension.
inline Piece InBlock(const Block& block, int64_t position) {
  return {block.data, block.written, position, block.capacity - position};
}

/// Address of element `i` of a field of one dimension; the block must be there.
inline Piece Locate(const FieldAge& age, int64_t i) {
  if (i < age.first.capacity) [[likely]]
    return InBlock(age.first, i);
  const int k = std::bit_width(static_cast<uint64_t>(i / age.first.capacity));
  const Block* block = age.more[k].load(std::memory_order_acquire);
  return InBlock(*block, i - (age.first.capacity << (k - 1)));
}

/// Makes block 0 or a later one for element `i`, where there is none. @thread any
/// @throws Fault (the index is negative or beyond the largest extent)
Piece LocateForStore(FieldAge* age, int64_t i);
/// The same; no call where block 0 has the element.
inline Piece PlaceForStore(FieldAge* age, int64_t i) {
  if (static_cast<uint64_t>(i) < static_cast<uint64_t>(age->room[0])) [[likely]]
    return InBlock(age->first, i);
  return LocateForStore(age, i);
}

/// The bits of [position, position + count) are set. @return the first position that had been set before, or -1
inline int64_t ClaimRange(std::atomic<uint64_t>* written, int64_t position, int64_t count) {
  while (count > 0) {
    const int64_t word = position >> 6;
    const int bit = static_cast<int>(position & 63);
    const int64_t here = count < 64 - bit ? count : 64 - bit;
    const uint64_t mask = (here == 64 ? ~uint64_t{0} : (uint64_t{1} << here) - 1) << bit;
    const uint64_t before = written[word].fetch_or(mask, std::memory_order_relaxed);
    if ((before & mask) != 0) [[unlikely]]
      return (word << 6) + std::countr_zero(before & mask);
    position += here;
    count -= here;
  }
  return -1;
}

/// Gives back what ClaimRange took and nobody filled.
inline void UnclaimRange(std::atomic<uint64_t>* written, int64_t position, int64_t count) {
  for (; count > 0; ++position, --count) {
    written[position >> 6].fetch_and(~(uint64_t{1} << (position & 63)), std::memory_order_relaxed);
  }
}

inline bool IsWritten(const std::atomic<uint64_t>* written, int64_t position) {
  return (written[position >> 6].load(std::memory_order_relaxed) >> (position & 63) & 1) != 0;
}

/// Stores one element of a field of several dimensions that lies outside of block 0. @return false: it was stored
/// before
/// @cost a lock; only until the library has seen the extents of one age
bool Overflow(FieldAge* age, const int64_t* index, const void* value);

}  // namespace attune::flow::detail
