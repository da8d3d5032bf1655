#pragma once
#include "model/table.h"

namespace attune::model {

/// A call path: the function at `site`, called from those of `parent`.
struct Stack {
  int64_t id = 0;
  int64_t parent = 0;
  ElementId site = 0;

  bool operator==(const Stack&) const = default;

  /// A parent comes before its children: no row can make a circle.
  bool Check() const { return id > 0 && parent >= 0 && parent < id; }

  static constexpr Table kTable{21};
  static constexpr TableText kText{.name = "stacks", .about = "calls within each other, as a tree; rows never change"};
  template <class Visit>
  static constexpr auto Columns(const Visit& visit) {
    return visit(Col(&Stack::id, "id", Role::kCounted, "", "dense from 1"),
                 Col(&Stack::parent, "parent", Role::kCounted, "", "who called; 0: the thread began at site"),
                 Col(&Stack::site, "site", Role::kElement, "", "place in the code"));
  }
};

}  // namespace attune::model
