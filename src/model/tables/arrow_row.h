#pragma once
#include "model/table.h"

namespace attune::model {

/// A message, from its sending to when it was there (live.md).
struct ArrowRow {
  int64_t t_ns = 0;
  int64_t rank = 0;
  int64_t peer = 0;
  int64_t received_ns = 0;
  int64_t bytes = 0;
  int64_t tag = 0;
  int64_t communicator = 0;
  int64_t site = 0;
  int64_t waited_ns = 0;

  static constexpr Table kTable{67};
  static constexpr TableText kText{.name = "arrows",
                                   .about = "a message, from its sending to when it was there (live.md)",
                                   .storage = Storage::kPage,
                                   .time = "t_ns"};
  template <class Visit>
  static constexpr auto Columns(const Visit& visit) {
    return visit(Col(&ArrowRow::t_ns, "t_ns", Role::kTime, "ns", "when it was sent"),
                 Col(&ArrowRow::rank, "rank", Role::kElement, "", "that sent it"),
                 Col(&ArrowRow::peer, "peer", Role::kElement, "", "that received it"),
                 Col(&ArrowRow::received_ns, "received_ns", Role::kTime, "ns", "when it was there"),
                 Col(&ArrowRow::bytes, "bytes", Role::kAmount, "bytes", "size"),
                 Col(&ArrowRow::tag, "tag", Role::kInteger, "", "of the message"),
                 Col(&ArrowRow::communicator, "communicator", Role::kElement, "", "of the message"),
                 Col(&ArrowRow::site, "site", Role::kElement, "", "place of the call that waited for it"),
                 Col(&ArrowRow::waited_ns, "waited_ns", Role::kAmount, "ns", "that somebody waited for it"));
  }
};

}  // namespace attune::model
