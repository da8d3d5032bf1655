#pragma once
#include "model/table.h"

namespace attune::model {

enum class ElementKind : uint8_t {
  kMachine = 1,
  kBoard,
  kPackage,
  kNode,
  kCore,
  kCpu,
  kDevice,
  kProcess,
  kThread,
  kRank,
  kLock,
  kChannel,
  kSite,
  kRegion,
  kInstant,
  kCounter,       ///< named by the program's markers
  kCommunicator,  ///< MPI communicator; os_id: the same number in all ranks of it
  kFunction,      ///< library function that the program calls: "MPI_Send"
};
constexpr ElementKind kLastElementKind = ElementKind::kFunction;
template <>
struct Words<ElementKind> {
  static constexpr std::array<std::string_view, 19> kAll{
      "?",    "machine", "board",   "package", "node",   "core",    "cpu",     "device",       "process", "thread",
      "rank", "lock",    "channel", "site",    "region", "instant", "counter", "communicator", "function"};
  static_assert(kAll.size() == static_cast<size_t>(kLastElementKind) + 1);
};

struct Element {
  ElementId id = 0;
  ElementId parent = 0;
  ElementKind kind = ElementKind::kMachine;
  int64_t os_id = kAbsent;  ///< kAbsent where there is none
  int64_t start_ns = kAbsent;
  int64_t end_ns = kAbsent;  ///< kAbsent: still there
  std::string host;
  std::string name;

  bool operator==(const Element&) const = default;

  bool Check() const { return id != 0; }

  static constexpr Table kTable{2};
  static constexpr TableText kText{
      .name = "elements",
      .about = "a machine, CPU, device, process, thread, or a region, counter, channel that the program named",
      .storage = Storage::kReplaced,
      .key = "id",
      .key_is_unique = true,
      .is_merged_apart = true};
  template <class Visit>
  static constexpr auto Columns(const Visit& visit) {
    return visit(Col(&Element::id, "id", Role::kElement, "", "dense from 1; a reused pid is a new element"),
                 Col(&Element::parent, "parent", Role::kElement, "", "what it is part of"),
                 Col(&Element::kind, "kind", Role::kCode, "", "what it is"),
                 Col(&Element::host, "host", Role::kText, "", "where it is"),
                 Col(&Element::os_id, "os_id", Role::kInteger, "", "CPU number, node number, pid, tid"),
                 Col(&Element::name, "name", Role::kText, "", "cpu3, a thread's name, a region's"),
                 Col(&Element::start_ns, "start_ns", Role::kTime, "ns", "since when it is there"),
                 Col(&Element::end_ns, "end_ns", Role::kTime, "ns", "until when; NULL: still there"));
  }
};

}  // namespace attune::model
