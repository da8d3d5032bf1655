#pragma once
#include "model/table.h"

namespace attune::model {

/// A thread had a lock, once or several times (live.md).
struct HoldRow {
  int64_t t_ns = 0;
  int64_t thread = 0;
  int64_t object = 0;
  int64_t site = 0;
  int64_t kind = 0;
  int64_t length_ns = 0;
  int64_t holds = 0;
  int64_t held_ns = 0;
  int64_t open = 0;

  static constexpr Table kTable{65};
  static constexpr TableText kText{.name = "holds",
                                   .about = "a thread had a lock, once or several times (live.md)",
                                   .storage = Storage::kPage,
                                   .time = "t_ns"};
  template <class Visit>
  static constexpr auto Columns(const Visit& visit) {
    return visit(
        Col(&HoldRow::t_ns, "t_ns", Role::kTime, "ns", "since when"),
        Col(&HoldRow::thread, "thread", Role::kElement, "", "who"),
        Col(&HoldRow::object, "object", Role::kElement, "", "the lock"),
        Col(&HoldRow::site, "site", Role::kElement, "", "place of the acquisition"),
        Col(&HoldRow::kind, "kind", Role::kInteger, "", "number of a kind of sync"),
        Col(&HoldRow::length_ns, "length_ns", Role::kAmount, "ns", "from the first acquisition to the last release"),
        Col(&HoldRow::holds, "holds", Role::kAmount, "", "how often"),
        Col(&HoldRow::held_ns, "held_ns", Role::kAmount, "ns", "within that length"),
        Col(&HoldRow::open, "open", Role::kFlag, "", "it had not released it"));
  }
};

}  // namespace attune::model
