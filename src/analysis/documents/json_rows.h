#pragma once
/// Helpers that documents in JSON share.

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "model/table.h"

namespace attune::analysis {

using Json = nlohmann::ordered_json;

// null: not known.
inline Json Known(int64_t value) { return value == model::kAbsent ? Json(nullptr) : Json(value); }
inline Json Seconds(int64_t ns) { return ns == model::kAbsent ? Json(nullptr) : Json(static_cast<double>(ns) * 1e-9); }

/// An array of what `describe`, a function or a member, says of each row.
template <class Rows, class Describe>
Json JsonRows(const Rows& rows, const Describe& describe) {
  Json array = Json::array();
  for (const auto& row : rows) array.push_back(std::invoke(describe, row));
  return array;
}

/// Names come from programs and may not be UTF-8. @param indent negative: on one line
inline std::string JsonText(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace attune::analysis
