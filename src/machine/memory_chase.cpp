#include "machine/memory_chase.h"

#include <fmt/format.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <random>
#include <vector>

#include "base/clock.h"

namespace attune::machine {
namespace {

/// One huge page, so that the translation of addresses is not measured with it where the kernel gives one.
constexpr size_t kBytes = 2u << 20;
/// Further apart than what prefetchers fetch along with a line.
constexpr size_t kStride = 256;
constexpr size_t kReads = kBytes / kStride;
constexpr size_t kMaxNodes = 1024;

void DropFromCaches(const char* line) {
#if defined(__x86_64__)
  __builtin_ia32_clflush(line);
#else
  __asm__ volatile("dc civac, %0" : : "r"(line) : "memory");
#endif
}

/// Whatever was dropped is gone, and reads begin after this.
void Fence() {
#if defined(__x86_64__)
  __builtin_ia32_mfence();
#else
  __asm__ volatile("dsb sy" : : : "memory");
#endif
}

Status Bind(void* memory, int64_t node) {
  constexpr size_t kBits = 8 * sizeof(unsigned long);
  if (node < 0 || static_cast<size_t>(node) >= kMaxNodes)
    return Error{Errc::kUnavailable, fmt::format("node{}: no such number", node), ""};
  std::array<unsigned long, kMaxNodes / kBits> mask{};
  mask[static_cast<size_t>(node) / kBits] = 1ul << (static_cast<size_t>(node) % kBits);
  // The kernel takes one bit less than it is told.
  if (syscall(SYS_mbind, memory, kBytes, MPOL_BIND, mask.data(), kMaxNodes + 1, 0) == 0) return {};
  return ErrnoError(fmt::format("memory of node{}", node));
}

/// The node that a page lies on; -1: the kernel does not say.
int64_t NodeOf(void* page) {
  int node = -1;
  return syscall(SYS_get_mempolicy, &node, nullptr, 0, page, MPOL_F_NODE | MPOL_F_ADDR) == 0 ? node : -1;
}

}  // namespace

Result<std::unique_ptr<MemoryChase>> MemoryChase::Make(std::optional<int64_t> node) {
  std::unique_ptr<MemoryChase> chase(new MemoryChase);
  void* mapping = mmap(nullptr, 2 * kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return ErrnoError("memory to measure");
  chase->mapping_ = mapping;
  const auto address = reinterpret_cast<uintptr_t>(mapping);
  chase->memory_ = static_cast<char*>(mapping) + (kBytes - address % kBytes) % kBytes;
  if (node) ATTUNE_CHECK_OK(Bind(chase->memory_, *node));
  madvise(chase->memory_, kBytes, MADV_HUGEPAGE);  // a wish
  std::memset(chase->memory_, 0, kBytes);
  if (node) {
    const int64_t got = NodeOf(chase->memory_);
    if (got >= 0 && got != *node)
      return Error{Errc::kUnavailable, fmt::format("memory of node{}: the kernel gave some of node{}", *node, got), ""};
  }
  chase->Link();
  return chase;
}

MemoryChase::~MemoryChase() {
  if (mapping_ != nullptr) munmap(mapping_, 2 * kBytes);
}

/// One cycle through all lines (Sattolo's shuffle).
void MemoryChase::Link() {
  std::vector<uint32_t> next(kReads);
  for (uint32_t i = 0; i < kReads; ++i) next[i] = i;
  std::mt19937 random(1);
  for (size_t i = kReads - 1; i > 0; --i) std::swap(next[i], next[random() % i]);
  for (size_t i = 0; i < kReads; ++i) {
    const auto to = reinterpret_cast<uintptr_t>(memory_ + size_t{next[i]} * kStride);
    std::memcpy(memory_ + i * kStride, &to, sizeof to);
  }
}

double MemoryChase::ReadNs() const {
  for (size_t i = 0; i < kReads; ++i) DropFromCaches(memory_ + i * kStride);
  Fence();
  const int64_t begin = MonotonicNs();
  auto at = reinterpret_cast<uintptr_t>(memory_);
  for (size_t i = 0; i < kReads; ++i) std::memcpy(&at, reinterpret_cast<const void*>(at), sizeof at);
  // So that the reads are not taken for useless.
  __asm__ volatile("" : : "r"(at) : "memory");
  return static_cast<double>(MonotonicNs() - begin) / kReads;
}

}  // namespace attune::machine
