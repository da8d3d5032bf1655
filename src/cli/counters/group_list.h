#pragma once
/// Rows of `attune list groups`.

#include <string>
#include <vector>

#include "base/result.h"

namespace attune::cli {

/// A group, or a metric of one.
struct GroupRow {
  std::string name;
  std::string metrics;  ///< of a group: their names; of a metric: its formula, with its unit
  std::string here;     ///< "yes", or what this machine lacks
  std::string about;
};
/// @param group empty: all groups. Error: kNotFound
Result<std::vector<GroupRow>> GroupRows(const std::string& group);

}  // namespace attune::cli
