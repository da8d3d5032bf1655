#pragma once
/// The SQL table `account`, which is computed from others.

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/source.h"

namespace attune::store {

/// A line of an account (docs/account.md).
struct AccountRow {
  model::ElementId thread = 0;   ///< 0: the CPUs
  model::ElementId process = 0;  ///< 0: the CPUs
  std::string_view state;        ///< lives as long as the program
  int64_t ns = 0;
};

/// The rows of a source. Computed by the one who makes the queries: analysis stands above the store.
using AccountReader = std::function<Result<std::vector<AccountRow>>(model::Source& source)>;

}  // namespace attune::store
