#pragma once
#include "model/table.h"

namespace attune::model {

enum class GapReason : uint8_t {
  kMissed = 1,
  kPaused,
  kDropped,
  kVanished,
  kDiskFull,
  kDamaged,
  kRolled,  ///< given up for --max-size
};
template <>
struct Words<GapReason> {
  static constexpr std::array<std::string_view, 8> kAll{"?",        "missed",    "paused",  "dropped",
                                                        "vanished", "disk full", "damaged", "rolled"};
};

struct Gap {
  StreamId stream = 0;
  int64_t t0_ns = 0;
  int64_t t1_ns = 0;
  int64_t count = 0;
  GapReason reason = GapReason::kMissed;
  ElementId thread = 0;  ///< whose events are lost; 0: not told

  bool operator==(const Gap&) const = default;

  static constexpr Table kTable{8};
  static constexpr TableText kText{.name = "gaps",
                                   .about = "rows that are not there, and why",
                                   .storage = Storage::kAppended,
                                   .time = "t0_ns",
                                   .is_on_page = false};
  template <class Visit>
  static constexpr auto Columns(const Visit& visit) {
    return visit(Col(&Gap::stream, "stream", Role::kStream, "", "of samples; NULL: of other tables"),
                 Col(&Gap::t0_ns, "t0_ns", Role::kTime, "ns", "from"),
                 Col(&Gap::t1_ns, "t1_ns", Role::kTime, "ns", "to"),
                 Col(&Gap::count, "count", Role::kInteger, "", "rows lost"),
                 Col(&Gap::reason, "reason", Role::kCode, "", "why; rolled: given up for --max-size"),
                 Col(&Gap::thread, "thread", Role::kElement, "", "whose events are lost; NULL: not of one thread"));
  }
};

}  // namespace attune::model
