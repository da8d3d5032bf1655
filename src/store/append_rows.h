#pragma once
/// Joins batches of one table.

#include <cstddef>

#include "model/schema.h"

namespace attune::store {

inline bool SameColumns(const model::Batch& a, const model::Batch& b) {
  return a.ints.size() == b.ints.size() && a.texts.size() == b.texts.size();
}

/// Appends rows [first, end) of `from` to `to`. @pre `to` has no rows or SameColumns(to, from)
inline void AppendRows(model::Batch& to, const model::Batch& from, size_t first, size_t end) {
  const auto append = [&](auto& target, const auto& source) {
    target.resize(source.size());
    for (size_t i = 0; i < source.size(); ++i) {
      target[i].insert(target[i].end(), source[i].begin() + static_cast<ptrdiff_t>(first),
                       source[i].begin() + static_cast<ptrdiff_t>(end));
    }
  };
  to.table = from.table;
  to.stream = from.stream;
  append(to.ints, from.ints);
  append(to.texts, from.texts);
  to.rows += end - first;
}

}  // namespace attune::store
