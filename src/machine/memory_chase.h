#pragma once
/// Memory of one NUMA node, and the time that a read of it takes.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/result.h"

namespace attune::machine {

/// A chain of pointers through memory in an order that no prefetcher guesses.
class MemoryChase {
 public:
  /// @param node where the memory must be; nothing: wherever the kernel puts it
  /// @return kPermission, kUnavailable: the kernel does not let us choose the node @cost 5 ms, 4 MiB
  static Result<std::unique_ptr<MemoryChase>> Make(std::optional<int64_t> node);
  MemoryChase(const MemoryChase&) = delete;
  MemoryChase& operator=(const MemoryChase&) = delete;
  ~MemoryChase();

  /// Drops the chain from all caches, then reads it once from end to end. @return nanoseconds a read
  /// @thread the one whose distance is measured @cost 2 to 5 ms
  double ReadNs() const;

 private:
  MemoryChase() = default;
  void Link();

  void* mapping_ = nullptr;
  char* memory_ = nullptr;  // aligned to a huge page
};

}  // namespace attune::machine
