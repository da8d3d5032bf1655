#pragma once
/// Kinds of cores of a machine: big and little, P and E.

#include <cstdint>
#include <string>
#include <vector>

#include "base/cpu_set.h"
#include "base/host_root.h"

namespace attune::counter {

/// The most capable kind first. By the kernel's capacity of each CPU (arm64), what its firmware says of its highest
/// performance (ACPI CPPC), and the unit that counts its events.
class CoreTypes {
 public:
  /// One kind.
  CoreTypes() = default;
  explicit CoreTypes(const HostRoot& host);

  /// 0 also where the CPU is not known.
  int Of(int cpu) const;
  /// Parts of 1024, by kind; at least one.
  const std::vector<uint32_t>& Capacities() const { return capacities_; }
  /// CPUs of each kind, the most capable first: "0-3 4-7"; "": all are of one kind.
  std::string CpusByType() const;

 private:
  std::vector<uint32_t> capacities_{1024};
  std::vector<int> types_;  ///< by CPU
  CpuSet online_;
};

}  // namespace attune::counter
