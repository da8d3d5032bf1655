#include "dataflow/runtime/stored_age.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

namespace attune::flow::detail {
namespace {

constexpr int64_t kSmallest = 64;  // elements of a block: a word of bits

size_t Words(int64_t capacity) { return static_cast<size_t>((capacity + 63) / 64); }

uint64_t BitsBetween(int64_t from, int64_t to) {
  return (to - from == 64 ? ~uint64_t{0} : (uint64_t{1} << (to - from)) - 1) << (from & 63);
}

/// Calls with each word of the bits [begin, end), masked, and the position of its bit 0.
template <typename Function>
void EachWord(const std::atomic<uint64_t>* bits, int64_t begin, int64_t end, const Function& function) {
  while (begin < end) {
    const int64_t to = std::min(end, (begin | 63) + 1);
    function(bits[begin >> 6].load(std::memory_order_relaxed) & BitsBetween(begin, to), begin & ~int64_t{63});
    begin = to;
  }
}

struct Count {
  int64_t set = 0;
  int64_t end = 0;  // 1 + the last one that is set
};

Count CountBits(const std::atomic<uint64_t>* bits, int64_t begin, int64_t end) {
  Count count;
  EachWord(bits, begin, end, [&count](uint64_t word, int64_t position) {
    count.set += std::popcount(word);
    if (word != 0) count.end = position + 64 - std::countl_zero(word);
  });
  return count;
}

/// @throws std::bad_alloc: nothing is as large
int64_t Product(int64_t one, int64_t other) {
  int64_t product = 0;
  if (__builtin_mul_overflow(one, other, &product)) throw std::bad_alloc();
  return product;
}

uint64_t Mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15;
  return hash ^ (hash >> 29);
}

uint64_t Hash(uint64_t hash, const std::byte* bytes, int64_t count) {
  for (; count > 0; bytes += 8, count -= 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes, static_cast<size_t>(std::min<int64_t>(count, 8)));
    hash = Mix(hash, word);
  }
  return Mix(hash, 0x51ed270b7a2f3c4d);
}

}  // namespace

StoredAge::~StoredAge() {
  if (whole.data != first.data) Free(&whole);
  Free(&first);
  for (auto& slot : more) {
    if (Block* block = slot.load(std::memory_order_relaxed)) {
      Free(block);
      delete block;
    }
  }
}

void StoredAge::Allocate(Block* block, int64_t capacity) {
  const int64_t bytes = Product(capacity, element_bytes);
  auto written = std::make_unique<std::atomic<uint64_t>[]>(Words(capacity));
  block->data = static_cast<std::byte*>(::operator new(static_cast<size_t>(bytes), std::align_val_t{64}));
  block->written = written.release();
  block->capacity = capacity;
  live_bytes->fetch_add(bytes, std::memory_order_relaxed);
}

void StoredAge::Free(Block* block) {
  if (block->data == nullptr) return;
  live_bytes->fetch_sub(block->capacity * element_bytes, std::memory_order_relaxed);
  ::operator delete(block->data, std::align_val_t{64});
  delete[] block->written;
  *block = {};
}

void StoredAge::SetRoom(const Index& extents) {
  int64_t elements = 1;
  for (int dim = rank - 1; dim >= 0; --dim) {
    room[dim] = 0;
    stride[dim] = elements;
    elements = Product(elements, extents[static_cast<size_t>(dim)]);
  }
  Allocate(&first, std::max(elements, int64_t{1}));
  std::copy_n(extents.begin(), rank, room);
}

void StoredAge::SwapMemory(StoredAge* other) {
  std::swap(first, other->first);
  std::swap(room, other->room);
  std::swap(stride, other->stride);
}

void StoredAge::Reserve(const Index& extents) {
  if (rank == 1) {
    const int64_t capacity = (std::max(extents[0], kSmallest) + 63) / 64 * 64;
    if (first.capacity >= capacity) return;
    Free(&first);
    room[0] = 0;
    Allocate(&first, capacity);
    room[0] = std::min(capacity, max_extent);
    stride[0] = 1;
    return;
  }
  Index wanted = extents;
  bool fits = first.capacity > 0;
  for (int dim = 0; dim < rank; ++dim) {
    fits = fits && room[dim] >= extents[static_cast<size_t>(dim)];
    wanted[static_cast<size_t>(dim)] = std::max(extents[static_cast<size_t>(dim)], room[dim]);
  }
  if (fits || std::count(wanted.begin(), wanted.begin() + rank, 0) > 0) return;
  Free(&first);
  SetRoom(wanted);
}

Block* StoredAge::MakeBlock(int k) {
  auto made = std::make_unique<Block>();
  Allocate(made.get(), first.capacity << (k - 1));
  Block* expected = nullptr;
  if (more[k].compare_exchange_strong(expected, made.get(), std::memory_order_acq_rel)) return made.release();
  Free(made.get());
  return expected;
}

bool StoredAge::StoreOutside(const int64_t* index, const void* value) {
  Index at = {};
  std::copy_n(index, rank, at.begin());
  const auto* bytes = static_cast<const std::byte*>(value);
  const MutexLock lock(mutex_);
  return outside_.try_emplace(at, bytes, bytes + element_bytes).second;
}

std::string StoredAge::SizeText() const {
  const MutexLock lock(mutex_);
  const Index extents = ExtentsWithOutside();
  std::string text;
  for (size_t dim = 0; dim < static_cast<size_t>(rank); ++dim)
    text += (dim == 0 ? "" : " x ") + std::to_string(extents[dim]);
  return text + " elements of " + std::to_string(element_bytes) + (element_bytes == 1 ? " byte" : " bytes");
}

bool StoredAge::Finish() {
  const bool any = rank == 1 ? FinishLine() : FinishArray();
  int64_t elements = 1;
  for (int dim = 0; dim < rank; ++dim) elements *= extent[dim];
  has_holes.store(any && stored < elements, std::memory_order_relaxed);
  complete = true;
  return any;
}

bool StoredAge::FinishLine() {
  Count count = CountBits(first.written, 0, first.capacity);
  stored = count.set;
  extent[0] = count.end;
  int64_t start = first.capacity;
  bool in_one_piece = true;
  for (int k = 1; k < kMaxBlocks; ++k) {
    const Block* block = more[k].load(std::memory_order_acquire);
    if (block != nullptr) {
      count = CountBits(block->written, 0, block->capacity);
      stored += count.set;
      if (count.set > 0) {
        extent[0] = start + count.end;
        in_one_piece = false;
      }
    }
    start = first.capacity << k;
    if (first.capacity > INT64_MAX >> (k + 1)) break;
  }
  whole = first;
  if (in_one_piece) return stored > 0;
  // Instances that started early still read the blocks, so the whole is a copy.
  whole = {};
  Allocate(&whole, (extent[0] + 63) / 64 * 64);
  for (int64_t i = 0; i < extent[0];) {
    const int k = i < first.capacity ? 0 : std::bit_width(static_cast<uint64_t>(i / first.capacity));
    const Block* block = k == 0 ? &first : more[k].load(std::memory_order_relaxed);
    const int64_t length = std::min(k == 0 ? first.capacity : first.capacity << (k - 1), extent[0] - i);
    if (block != nullptr) {
      std::memcpy(whole.data + i * element_bytes, block->data, static_cast<size_t>(length * element_bytes));
      for (size_t word = 0; word < Words(length); ++word) {
        whole.written[static_cast<size_t>(i) / 64 + word].store(block->written[word].load(std::memory_order_relaxed),
                                                                std::memory_order_relaxed);
      }
    }
    i += length;
  }
  return true;
}

bool StoredAge::FinishArray() {
  TakeInOutside();
  whole = first;
  stored = 0;
  for (int dim = 0; dim < rank; ++dim) extent[dim] = 0;
  if (first.capacity == 0) return false;
  const int64_t row = room[rank - 1];
  for (int64_t begin = 0; begin < first.capacity; begin += row) {
    const Count count = CountBits(first.written, begin, begin + row);
    if (count.set == 0) continue;
    stored += count.set;
    const Index last = IndexOf(begin);
    for (int dim = 0; dim + 1 < rank; ++dim) extent[dim] = std::max(extent[dim], last[static_cast<size_t>(dim)] + 1);
    extent[rank - 1] = std::max(extent[rank - 1], count.end - begin);
  }
  return stored > 0;
}

StoredAge::Index StoredAge::ExtentsWithOutside() const {
  Index extents = {};
  std::copy_n(room, rank, extents.begin());
  for (const auto& [index, bytes] : outside_) {
    for (size_t dim = 0; dim < static_cast<size_t>(rank); ++dim) extents[dim] = std::max(extents[dim], index[dim] + 1);
  }
  return extents;
}

/// Makes block 0 large enough for what was stored outside of it. Nobody reads or writes it meanwhile.
void StoredAge::TakeInOutside() {
  const MutexLock lock(mutex_);
  if (outside_.empty()) return;
  Block old = std::exchange(first, {});
  const Index old_room = {room[0], room[1], room[2], room[3]};
  try {
    SetRoom(ExtentsWithOutside());
  } catch (const std::bad_alloc&) {
    Free(&old);
    throw;
  }
  const auto put = [this](const Index& index, const std::byte* value) {
    int64_t position = 0;
    for (int dim = 0; dim < rank; ++dim) position += index[static_cast<size_t>(dim)] * stride[dim];
    std::memcpy(first.data + position * element_bytes, value, static_cast<size_t>(element_bytes));
    ClaimRange(first.written, position, 1);
  };
  for (int64_t position = 0; position < old.capacity; ++position) {
    if (!IsWritten(old.written, position)) continue;
    Index index = {};
    int64_t rest = position;
    for (int dim = rank - 1; dim >= 0; --dim) {
      const auto d = static_cast<size_t>(dim);
      index[d] = rest % old_room[d];
      rest /= old_room[d];
    }
    put(index, old.data + position * element_bytes);
  }
  for (const auto& [index, bytes] : outside_) put(index, bytes.data());
  outside_.clear();
  Free(&old);
}

std::array<int64_t, kMaxRank> StoredAge::IndexOf(int64_t position) const {
  Index index = {};
  if (rank == 1) {
    index[0] = position;
    return index;
  }
  for (int dim = rank - 1; dim >= 0; --dim) {
    index[static_cast<size_t>(dim)] = position % room[dim];
    position /= room[dim];
  }
  return index;
}

std::array<int64_t, kMaxRank> StoredAge::FirstHole() const {
  for (int64_t position = 0; position < whole.capacity; ++position) {
    if (IsWritten(whole.written, position)) continue;
    const Index index = IndexOf(position);
    bool inside = true;
    for (int dim = 0; dim < rank; ++dim) inside = inside && index[static_cast<size_t>(dim)] < extent[dim];
    if (inside) return index;
  }
  return {};
}

uint64_t StoredAge::Checksum() const {
  uint64_t sum = 0;
  EachWord(whole.written, 0, whole.capacity, [&](uint64_t word, int64_t base) {
    for (; word != 0; word &= word - 1) {
      const int64_t position = base + std::countr_zero(word);
      uint64_t hash = Mix(0x2545f4914f6cdd1d, static_cast<uint64_t>(age));
      for (const int64_t index : IndexOf(position)) hash = Mix(hash, static_cast<uint64_t>(index));
      sum += Hash(hash, whole.data + position * element_bytes, element_bytes);
    }
  });
  return sum;
}

void StoredAge::Reset() {
  if (whole.data != first.data) {
    // The next age will likely be as large: then it lies in block 0.
    Free(&first);
    first = whole;
    for (auto& slot : more) {
      if (Block* block = slot.load(std::memory_order_relaxed)) {
        Free(block);
        delete block;
        slot.store(nullptr, std::memory_order_relaxed);
      }
    }
  }
  for (size_t word = 0; word < Words(first.capacity); ++word) first.written[word].store(0, std::memory_order_relaxed);
  whole = {};
  stream_count = 0;
  opened = complete = false;
  stored = 0;
  has_holes.store(false, std::memory_order_relaxed);
  waiting.clear();
  for (int64_t& each : extent) each = 0;
}

Piece LocateForStore(FieldAge* age, int64_t i) {
  auto* stored = static_cast<StoredAge*>(age);
  if (i < 0 || i >= stored->max_extent) ThrowOutside(*age, 0, i);
  if (i < age->first.capacity) [[likely]]
    return InBlock(age->first, i);
  const int k = std::bit_width(static_cast<uint64_t>(i / age->first.capacity));
  if (k >= kMaxBlocks) ThrowOutside(*age, 0, i);
  Block* block = age->more[k].load(std::memory_order_acquire);
  if (block == nullptr) block = stored->MakeBlock(k);
  return InBlock(*block, i - (age->first.capacity << (k - 1)));
}

bool Overflow(FieldAge* age, const int64_t* index, const void* value) {
  auto* stored = static_cast<StoredAge*>(age);
  for (int dim = 0; dim < age->rank; ++dim) {
    if (index[dim] < 0 || index[dim] >= stored->max_extent) ThrowOutside(*age, dim, index[dim]);
  }
  return stored->StoreOutside(index, value);
}

}  // namespace attune::flow::detail
