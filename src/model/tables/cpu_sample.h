#pragma once
#include "model/table.h"

namespace attune::model {

/// Code location of a thread after another stretch of CPU time.
struct CpuSample {
  int64_t t_ns = 0;
  ElementId thread = 0;
  int64_t cpu = 0;
  ElementId site = 0;
  int64_t stack = 0;
  int64_t weight_ns = 0;

  bool operator==(const CpuSample&) const = default;

  static constexpr Table kTable{22};
  static constexpr TableText kText{
      .name = "cpu_samples",
      .about = "where a thread was when it had used another stretch of CPU time (profile.md)",
      .storage = Storage::kTimed,
      .time = "t_ns"};
  template <class Visit>
  static constexpr auto Columns(const Visit& visit) {
    return visit(
        Col(&CpuSample::t_ns, "t_ns", Role::kTime, "ns", "when"),
        Col(&CpuSample::thread, "thread", Role::kElement, "", "who"),
        Col(&CpuSample::cpu, "cpu", Role::kInteger, "", "CPU that it was on"),
        Col(&CpuSample::site, "site", Role::kElement, "", "where it was; in the kernel: an element of that name"),
        Col(&CpuSample::stack, "stack", Role::kCounted, "", "call path that ends with site"),
        Col(&CpuSample::weight_ns, "weight_ns", Role::kAmount, "ns", "CPU time that it stands for"));
  }
};

}  // namespace attune::model
