#pragma once
/// CPUs are a set, never a count: ids may be sparse and CPU 0 may be offline.

#include <string>
#include <string_view>
#include <vector>

#include "base/host_root.h"
#include "base/result.h"

namespace attune {

using CpuId = int;

class CpuSet {
 public:
  CpuSet() = default;
  explicit CpuSet(std::vector<CpuId> ids);

  /// Parses the kernel's list format: "0-3,8,10-11". An empty text is the empty set.
  static Result<CpuSet> Parse(std::string_view text);
  /// CPUs that a file of the kernel lists; empty if it cannot be read, or is no list.
  static CpuSet In(const HostRoot& host, std::string_view path);
  /// The CPUs that this thread may run on.
  static CpuSet Allowed();

  bool Contains(CpuId cpu) const;
  /// The CPUs that are in both.
  CpuSet Common(const CpuSet& other) const;
  bool empty() const { return ids_.empty(); }
  size_t size() const { return ids_.size(); }
  auto begin() const { return ids_.begin(); }
  auto end() const { return ids_.end(); }
  /// The kernel's list format.
  std::string ToString() const;
  /// Pins the calling thread to this set.
  Status PinThisThread() const;

 private:
  std::vector<CpuId> ids_;  // sorted, unique
};

}  // namespace attune
