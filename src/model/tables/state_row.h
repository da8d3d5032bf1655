#pragma once
#include "model/table.h"

namespace attune::model {

/// Wait of a thread or rank, by kind, in the part of the time that begins at t_ns (live.md).
struct StateRow {
  int64_t t_ns = 0;
  int64_t thread = 0;
  int64_t kind = 0;
  int64_t wait_ns = 0;

  static constexpr Table kTable{64};
  static constexpr TableText kText{
      .name = "states",
      .about = "what a thread or rank waited for in the part of the time that begins at t_ns (live.md)",
      .storage = Storage::kPage,
      .time = "t_ns"};
  template <class Visit>
  static constexpr auto Columns(const Visit& visit) {
    return visit(Col(&StateRow::t_ns, "t_ns", Role::kTime, "ns", "begin of the part"),
                 Col(&StateRow::thread, "thread", Role::kElement, "", "thread, or rank"),
                 Col(&StateRow::kind, "kind", Role::kInteger, "",
                     "what it waited for: a number of a kind of sync; of ranks: what it did"),
                 Col(&StateRow::wait_ns, "wait_ns", Role::kAmount, "ns", "how long"));
  }
};

}  // namespace attune::model
