#pragma once
#include "model/table.h"

namespace attune::model {

/// Code location of a thread when an event had occurred some more times (attune run --event-samples).
struct EventSample {
  int64_t t_ns = 0;
  ElementId thread = 0;
  int64_t cpu = 0;
  std::string event;
  ElementId site = 0;
  int64_t stack = 0;
  int64_t count = 0;

  bool operator==(const EventSample&) const = default;

  static constexpr Table kTable{28};
  static constexpr TableText kText{
      .name = "event_samples",
      .about = "where a thread was when an event had occurred some more times (--event-samples, profile.md)",
      .storage = Storage::kTimed,
      .time = "t_ns"};
  template <class Visit>
  static constexpr auto Columns(const Visit& visit) {
    return visit(
        Col(&EventSample::t_ns, "t_ns", Role::kTime, "ns", "when"),
        Col(&EventSample::thread, "thread", Role::kElement, "", "who"),
        Col(&EventSample::cpu, "cpu", Role::kInteger, "", "CPU that it was on"),
        Col(&EventSample::event, "event", Role::kText, "", "as it was asked for"),
        Col(&EventSample::site, "site", Role::kElement, "", "where it was; in the kernel: an element of that name"),
        Col(&EventSample::stack, "stack", Role::kCounted, "", "call path that ends with site"),
        Col(&EventSample::count, "count", Role::kAmount, "", "how often the event occurred since the sample before"));
  }
};

}  // namespace attune::model
