#pragma once
#include "model/table.h"

namespace attune::model {

enum class AccessKind : uint8_t {
  kRead = 1,
  kWrite,
  kUpdate,      ///< reads and writes
  kFirstTouch,  ///< the page got its memory (a page fault)
};
template <>
struct Words<AccessKind> {
  static constexpr std::array<std::string_view, 5> kAll{"?", "read", "write", "update", "first touch"};
};

/// Memory that a thread used where a CPU sample was taken, or touched first.
struct Access {
  int64_t t_ns = 0;
  ElementId thread = 0;
  int64_t cpu = 0;
  ElementId site = 0;
  AccessKind kind = AccessKind::kRead;
  int64_t address = 0;
  int64_t bytes = 0;
  int64_t page_node = kAbsent;
  int64_t cpu_node = kAbsent;
  int64_t weight_ns = 0;

  bool operator==(const Access&) const = default;

  static constexpr Table kTable{23};
  static constexpr TableText kText{.name = "accesses",
                                   .about = "memory that a thread used where a CPU sample was taken, or touched first",
                                   .storage = Storage::kTimed,
                                   .time = "t_ns"};
  template <class Visit>
  static constexpr auto Columns(const Visit& visit) {
    return visit(
        Col(&Access::t_ns, "t_ns", Role::kTime, "ns", "when"),
        Col(&Access::thread, "thread", Role::kElement, "", "who"),
        Col(&Access::cpu, "cpu", Role::kInteger, "", "CPU that it was on"),
        Col(&Access::site, "site", Role::kElement, "", "place in the code, behind the instruction"),
        Col(&Access::kind, "kind", Role::kCode, "", "what it did; first touch: the page got its memory (a page fault)"),
        Col(&Access::address, "address", Role::kInteger, "", "of the first byte"),
        Col(&Access::bytes, "bytes", Role::kInteger, "bytes", "size; of a first touch: of the page"),
        Col(&Access::page_node, "page_node", Role::kInteger, "",
            "NUMA node that the page lies on; NULL: the machine has one, or it is not known"),
        Col(&Access::cpu_node, "cpu_node", Role::kInteger, "", "NUMA node of the CPU"),
        Col(&Access::weight_ns, "weight_ns", Role::kAmount, "ns",
            "of the CPU sample, for the access nearest to it; else 0"));
  }
};

}  // namespace attune::model
