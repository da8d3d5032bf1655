#pragma once
#include "model/table.h"

namespace attune::model {

struct Label {
  int64_t t_ns = 0;
  std::string text;

  bool operator==(const Label&) const = default;

  static constexpr Table kTable{7};
  static constexpr TableText kText{.name = "labels",
                                   .about = "what somebody noted at a moment: attune ctl label, the page, the FIFO",
                                   .storage = Storage::kAppended,
                                   .time = "t_ns"};
  template <class Visit>
  static constexpr auto Columns(const Visit& visit) {
    return visit(Col(&Label::t_ns, "t_ns", Role::kTime, "ns", "when"),
                 Col(&Label::text, "text", Role::kText, "", "what"));
  }
};

}  // namespace attune::model
