#pragma once
#include <algorithm>

#include "model/table.h"

namespace attune::model {

enum class MessageKind : uint8_t {
  kSent = 1,
  kReceived,
};
template <>
struct Words<MessageKind> {
  static constexpr std::array<std::string_view, 3> kAll{"?", "sent", "received"};
};

/// Bounds the times of an MPI call: no difference of two such times overflows, and no call ends before it began.
template <class Call>
bool CheckCall(Call& call) {
  constexpr int64_t kLatestNs = int64_t{1} << 62;
  if (call.t_ns < 0 || call.t_ns > kLatestNs) return false;
  call.post_ns = std::clamp<int64_t>(call.post_ns, 0, call.t_ns);
  if (call.wait_ns != kAbsent) call.wait_ns = std::clamp<int64_t>(call.wait_ns, 0, call.t_ns);
  return true;
}

/// A message, as one of its two sides saw it. The other side has a row of its own, if it was on this host.
struct Message {
  int64_t t_ns = 0;
  ElementId thread = 0;
  ElementId rank = 0;
  MessageKind kind = MessageKind::kSent;
  ElementId function = 0;
  ElementId communicator = 0;
  ElementId peer = 0;
  int64_t tag = 0;
  int64_t bytes = 0;
  ElementId site = 0;
  int64_t post_ns = 0;
  int64_t wait_ns = kAbsent;
  ElementId wait_site = 0;
  int64_t cpu = kAbsent;

  bool operator==(const Message&) const = default;

  bool Check() { return CheckCall(*this); }

  static constexpr Table kTable{24};
  static constexpr TableText kText{
      .name = "messages",
      .about =
          "a message that rank sent to peer or received from it, begun at post_ns and complete at t_ns (messages.md)",
      .storage = Storage::kTimed,
      .time = "t_ns",
      .is_merged_apart = true};
  template <class Visit>
  static constexpr auto Columns(const Visit& visit) {
    return visit(
        Col(&Message::t_ns, "t_ns", Role::kTime, "ns", "when it was complete: of a send, its buffer is free again"),
        Col(&Message::thread, "thread", Role::kElement, "", "who called"),
        Col(&Message::rank, "rank", Role::kElement, "", "of the thread"),
        Col(&Message::kind, "kind", Role::kCode, "", "which side this is"),
        Col(&Message::function, "function", Role::kElementName, "", "that began it: MPI_Isend"),
        Col(&Message::communicator, "communicator", Role::kElement, "", "of the message"),
        Col(&Message::peer, "peer", Role::kElement, "", "the rank that it went to, or came from"),
        Col(&Message::tag, "tag", Role::kInteger, "", "of the message"),
        Col(&Message::bytes, "bytes", Role::kAmount, "bytes", "size"),
        Col(&Message::site, "site", Role::kElement, "", "place of the call that began it"),
        Col(&Message::post_ns, "post_ns", Role::kTime, "ns", "when it was begun"),
        Col(&Message::wait_ns, "wait_ns", Role::kTime, "ns",
            "when the call began that ended it and may have blocked; NULL: none did"),
        Col(&Message::wait_site, "wait_site", Role::kElement, "", "place of that call; site where one call did both"),
        Col(&Message::cpu, "cpu", Role::kInteger, "", "CPU that the thread was on at t_ns"));
  }
};

}  // namespace attune::model
