#pragma once
#include "model/table.h"

namespace attune::model {

enum class DecisionState : uint8_t {
  kAdvised = 1,  ///< said, and left to the user
  kOnTrial,      ///< the knob was turned
  kKept,         ///< it is better than noise
  kUndone,       ///< the knob was turned back
  kRefused,      ///< it could not be turned
};
template <>
struct Words<DecisionState> {
  static constexpr std::array<std::string_view, 6> kAll{"?", "advised", "on trial", "kept", "undone", "refused"};
};

/// A step of tuning.
struct Decision {
  int64_t t_ns = 0;
  int64_t id = 0;
  int64_t t0_ns = kAbsent;
  int64_t t1_ns = kAbsent;
  DecisionState state = DecisionState::kAdvised;
  ElementId object = 0;
  int64_t expected_gain_ppm = kAbsent;
  int64_t gain_ppm = kAbsent;
  int64_t gain_low_ppm = kAbsent;
  int64_t gain_high_ppm = kAbsent;
  int64_t window_ns = kAbsent;
  std::string tunlet;
  std::string knob;
  std::string before;
  std::string after;
  std::string objective;
  std::string finding;
  std::string reason;

  bool operator==(const Decision&) const = default;

  static constexpr Table kTable{15};
  static constexpr TableText kText{.name = "decisions", .about = "a step of tuning", .time = "t_ns"};
  template <class Visit>
  static constexpr auto Columns(const Visit& visit) {
    return visit(
        Col(&Decision::t_ns, "t_ns", Role::kTime, "ns", "when"),
        Col(&Decision::id, "id", Role::kCounted, "", "counts from 1; the steps of one decision have the same"),
        Col(&Decision::state, "state", Role::kCode, "", "what became of it"),
        Col(&Decision::tunlet, "tunlet", Role::kText, "", "who decided"),
        Col(&Decision::knob, "knob", Role::kText, "", "what it turns"),
        Col(&Decision::object, "object", Role::kElement, "", "whose knob"),
        Col(&Decision::before, "before", Role::kText, "", "value of the knob until then"),
        Col(&Decision::after, "after", Role::kText, "", "value of the knob from then on"),
        Col(&Decision::t0_ns, "t0_ns", Role::kTime, "ns", "begin of the trial"),
        Col(&Decision::t1_ns, "t1_ns", Role::kTime, "ns", "end of the trial"),
        Col(&Decision::window_ns, "window_ns", Role::kInteger, "ns", "length of a window of the trial"),
        Col(&Decision::objective, "objective", Role::kText, "", "what is to become better"),
        Col(&Decision::expected_gain_ppm, "expected_gain_ppm", Role::kInteger, "ppm", "what the tunlet expects of it"),
        Col(&Decision::gain_ppm, "gain_ppm", Role::kInteger, "ppm", "measured gain of the objective"),
        Col(&Decision::gain_low_ppm, "gain_low_ppm", Role::kInteger, "ppm", "lower 95 % bound of the gain"),
        Col(&Decision::gain_high_ppm, "gain_high_ppm", Role::kInteger, "ppm", "upper 95 % bound of the gain"),
        Col(&Decision::finding, "finding", Role::kText, "", "id of the finding that led to it"),
        Col(&Decision::reason, "reason", Role::kText, "", "why"));
  }
};

}  // namespace attune::model
