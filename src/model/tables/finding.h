#pragma once
#include "model/table.h"

namespace attune::model {

enum class FindingState : uint8_t {
  kOpen = 1,   ///< it still costs time
  kClosed,     ///< it no longer does
  kWithdrawn,  ///< later data says that it was none
};
template <>
struct Words<FindingState> {
  static constexpr std::array<std::string_view, 4> kAll{"?", "open", "closed", "withdrawn"};
};

/// A revision of a finding; the last one of an id holds.
struct Finding {
  int64_t t_ns = 0;
  int64_t t0_ns = 0;
  int64_t t1_ns = 0;
  FindingState state = FindingState::kOpen;
  int64_t revision = 1;
  int64_t cost_ns = 0;
  int64_t share_ppm = 0;
  ElementId object = 0;
  ElementId site = 0;
  std::string id;
  std::string finding_class;
  std::string title;
  std::string advice;
  std::string evidence;
  int64_t gain_ns = kAbsent;

  bool operator==(const Finding&) const = default;

  static constexpr Table kTable{14};
  static constexpr TableText kText{
      .name = "findings",
      .about = "a revision of what holds the program back (findings.md); the last one of an id holds",
      .time = "t_ns",
      .key = "id",
      .is_revised = true};
  template <class Visit>
  static constexpr auto Columns(const Visit& visit) {
    return visit(Col(&Finding::t_ns, "t_ns", Role::kTime, "ns", "when this revision was written"),
                 Col(&Finding::id, "id", Role::kText, "", "class, place and object: the same in all revisions"),
                 Col(&Finding::revision, "revision", Role::kInteger, "", "counts from 1"),
                 Col(&Finding::state, "state", Role::kCode, "", "withdrawn: what came later says that it was none"),
                 Col(&Finding::finding_class, "class", Role::kText, "", "lock-contention, load-imbalance, ..."),
                 Col(&Finding::title, "title", Role::kText, "", "one sentence"),
                 Col(&Finding::t0_ns, "t0_ns", Role::kTime, "ns", "begin of the time that it was found in"),
                 Col(&Finding::t1_ns, "t1_ns", Role::kTime, "ns", "end of that time"),
                 Col(&Finding::cost_ns, "cost_ns", Role::kAmount, "ns", "time that it costs"),
                 Col(&Finding::share_ppm, "share_ppm", Role::kAmount, "ppm", "of that time"),
                 Col(&Finding::object, "object", Role::kElement, "", "what it is about"),
                 Col(&Finding::site, "site", Role::kElement, "", "place in the code"),
                 Col(&Finding::advice, "advice", Role::kText, "", "what to do about it"),
                 Col(&Finding::evidence, "evidence", Role::kText, "", "what shows it"),
                 Col(&Finding::gain_ns, "gain_ns", Role::kInteger, "ns",
                     "the run would be shorter by so much at most without it; absent: an older recording"));
  }
};

}  // namespace attune::model
