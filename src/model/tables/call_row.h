#pragma once
#include "model/table.h"

namespace attune::model {

/// A rank was in a call of MPI, or waited in a part of it (live.md).
struct CallRow {
  int64_t t_ns = 0;
  int64_t rank = 0;
  int64_t state = 0;
  int64_t length_ns = 0;
  int64_t function = 0;
  int64_t site = 0;
  int64_t communicator = 0;
  int64_t sequence = 0;

  static constexpr Table kTable{66};
  static constexpr TableText kText{.name = "calls",
                                   .about = "a rank was in a call of MPI, or waited in a part of it (live.md)",
                                   .storage = Storage::kPage,
                                   .time = "t_ns"};
  template <class Visit>
  static constexpr auto Columns(const Visit& visit) {
    return visit(
        Col(&CallRow::t_ns, "t_ns", Role::kTime, "ns", "begin"), Col(&CallRow::rank, "rank", Role::kElement, "", "who"),
        Col(&CallRow::state, "state", Role::kInteger, "", "what it did there"),
        Col(&CallRow::length_ns, "length_ns", Role::kAmount, "ns", "how long"),
        Col(&CallRow::function, "function", Role::kElement, "", "that was called"),
        Col(&CallRow::site, "site", Role::kElement, "", "place of the call"),
        Col(&CallRow::communicator, "communicator", Role::kElement, "", "of the call"),
        Col(&CallRow::sequence, "sequence", Role::kInteger, "", "of a collective: its number in the communicator"));
  }
};

}  // namespace attune::model
