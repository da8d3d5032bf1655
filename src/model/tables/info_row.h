#pragma once
#include "model/table.h"

namespace attune::model {

struct InfoRow {
  std::string key;
  std::string value;

  bool operator==(const InfoRow&) const = default;

  static constexpr Table kTable{1};
  static constexpr TableText kText{.name = "info",
                                   .about = "a fact about the recording (src/model/info_keys.h)",
                                   .storage = Storage::kReplaced,
                                   .is_merged_apart = true};
  template <class Visit>
  static constexpr auto Columns(const Visit& visit) {
    return visit(Col(&InfoRow::key, "key", Role::kText, "", "name of the fact"),
                 Col(&InfoRow::value, "value", Role::kText, "", "the fact"));
  }
};

}  // namespace attune::model
