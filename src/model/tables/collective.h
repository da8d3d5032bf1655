#pragma once
#include "model/tables/message.h"

namespace attune::model {

/// A rank's part in what all ranks of a communicator do together.
struct Collective {
  int64_t t_ns = 0;
  ElementId thread = 0;
  ElementId rank = 0;
  ElementId function = 0;
  ElementId communicator = 0;
  int64_t sequence = 0;
  int64_t root = kAbsent;
  int64_t bytes_sent = 0;
  int64_t bytes_received = 0;
  ElementId site = 0;
  int64_t post_ns = 0;
  int64_t wait_ns = kAbsent;
  int64_t cpu = kAbsent;
  int64_t communicator_rank = kAbsent;
  int64_t communicator_size = kAbsent;

  bool operator==(const Collective&) const = default;

  bool Check() { return CheckCall(*this); }

  static constexpr Table kTable{25};
  static constexpr TableText kText{
      .name = "collectives",
      .about =
          "a rank's part in what all ranks of a communicator do together, from post_ns to t_ns; the parts in one "
          "have the same communicator and sequence (messages.md)",
      .storage = Storage::kTimed,
      .time = "t_ns",
      .is_merged_apart = true};
  template <class Visit>
  static constexpr auto Columns(const Visit& visit) {
    return visit(Col(&Collective::t_ns, "t_ns", Role::kTime, "ns", "when the rank was done with it"),
                 Col(&Collective::thread, "thread", Role::kElement, "", "who called"),
                 Col(&Collective::rank, "rank", Role::kElement, "", "of the thread"),
                 Col(&Collective::function, "function", Role::kElementName, "", "that was called: MPI_Allreduce"),
                 Col(&Collective::communicator, "communicator", Role::kElement, "", "of the operation"),
                 Col(&Collective::sequence, "sequence", Role::kInteger, "",
                     "counts the collectives of the communicator: the same in all of its ranks"),
                 Col(&Collective::root, "root", Role::kInteger, "", "rank in the communicator; NULL: it has no root"),
                 Col(&Collective::bytes_sent, "bytes_sent", Role::kAmount, "bytes", "by this rank"),
                 Col(&Collective::bytes_received, "bytes_received", Role::kAmount, "bytes", "by this rank"),
                 Col(&Collective::site, "site", Role::kElement, "", "place of the call"),
                 Col(&Collective::post_ns, "post_ns", Role::kTime, "ns", "when the rank came"),
                 Col(&Collective::wait_ns, "wait_ns", Role::kTime, "ns",
                     "when the call began that ended it and may have blocked; NULL: none did"),
                 Col(&Collective::cpu, "cpu", Role::kInteger, "", "CPU that the thread was on at t_ns"),
                 Col(&Collective::communicator_rank, "communicator_rank", Role::kInteger, "",
                     "of this rank: where it is root, it is the root; NULL: not known"),
                 Col(&Collective::communicator_size, "communicator_size", Role::kInteger, "",
                     "ranks of it, also those that are not on this host"));
  }
};

}  // namespace attune::model
