#pragma once
/// Helpers and limits that several page documents share.

#include <cstddef>
#include <vector>

#include "analysis/documents/json_rows.h"

namespace attune::analysis {

inline constexpr size_t kMaxPageObjects = 500;
inline constexpr size_t kMaxPageThreads = 1000;
inline constexpr size_t kMaxPageLinks = 5000;

/// Keeps the first `most` rows. @return how many there were
template <class Row>
size_t CutRows(std::vector<Row>& rows, size_t most) {
  const size_t all = rows.size();
  if (all > most) rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(most), rows.end());
  return all;
}

}  // namespace attune::analysis
