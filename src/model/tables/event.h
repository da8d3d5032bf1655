#pragma once
#include "model/table.h"
#include "wire/event.h"

namespace attune::model {

template <>
struct Words<wire::EventKind> {
  static constexpr std::array<std::string_view, 27> kAll{
      "?",          "region_begin", "region_end", "instant", "counter", "send", "receive",   "thread_start",
      "thread_end", "dropped",      "?",          "wait",    "?",       "?",    "hand_over", "?",
      "lock_order", "acquire",      "release",    "signal",  "?",       "?",    "?",         "?",
      "?",          "short_waits",  "long_wait"};
};

/// An event of the program (wire/event.h).
struct Event {
  int64_t t_ns = 0;
  ElementId thread = 0;
  wire::EventKind kind = wire::EventKind::kNone;
  ElementId object = 0;
  ElementId site = 0;
  int64_t a = 0;
  int64_t b = 0;

  bool operator==(const Event&) const = default;

  static constexpr Table kTable{6};
  static constexpr TableText kText{.name = "events",
                                   .about = "an event of the program (waits.md, trace.md)",
                                   .storage = Storage::kTimed,
                                   .time = "t_ns",
                                   .has_own_reader = true};
  template <class Visit>
  static constexpr auto Columns(const Visit& visit) {
    return visit(
        Col(&Event::t_ns, "t_ns", Role::kTime, "ns", "when; of a wait: when it ended"),
        Col(&Event::thread, "thread", Role::kElement, "", "who"),
        Col(&Event::kind, "kind", Role::kCode, "", "what happened"),
        Col(&Event::object, "object", Role::kElement, "", "with what: a lock, a region, a channel"),
        Col(&Event::site, "site", Role::kElement, "", "place in the code; of a hand-over: of the acquisition"),
        Col(&Event::a, "a", Role::kInteger, "",
            "of a wait: ns; of a message: bytes; of lock_order: the lock that the thread had"),
        Col(&Event::b, "b", Role::kInteger, "",
            "of a wait: number of a kind of sync; of a message: its tag; of lock_order: place of that acquisition"));
  }
};

}  // namespace attune::model
