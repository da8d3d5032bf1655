#pragma once
/// The account as rows of the SQL table `account` (docs/query.md): the same numbers as in a report.

#include <vector>

#include "base/result.h"
#include "model/source.h"
#include "store/account_row.h"

namespace attune::cli {

/// A store::AccountReader. @cost as analysis::JudgeProgram
Result<std::vector<store::AccountRow>> AccountRows(model::Source& source);

}  // namespace attune::cli
