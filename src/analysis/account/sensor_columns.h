#pragma once
/// Columns of a stream that have several signals of one sensor for each of many elements.

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "model/source.h"

namespace attune::analysis {

/// @param elements set to those that have all of the signals
/// @return for each of them the columns of the signals, in that order (Operator::Columns)
inline std::vector<uint32_t> FindColumns(const model::Metadata& meta, const model::Stream& stream,
                                         std::string_view sensor, std::span<const std::string_view> signals,
                                         std::vector<model::ElementId>& elements) {
  std::map<model::ElementId, std::vector<std::optional<uint32_t>>> found;
  for (uint32_t column = 0; column < stream.series.size(); ++column) {
    const model::Series* series = meta.FindSeries(stream.series[column]);
    if (series == nullptr || series->sensor != sensor) continue;
    const auto signal = std::ranges::find(signals, series->signal);
    if (signal == signals.end()) continue;
    auto& columns = found[series->element];
    columns.resize(signals.size());
    columns[static_cast<size_t>(signal - signals.begin())] = column;
  }
  std::vector<uint32_t> wanted;
  elements.clear();
  for (const auto& [element, columns] : found) {
    if (std::ranges::any_of(columns, [](const auto& column) { return !column; })) continue;
    elements.push_back(element);
    for (const auto& column : columns) wanted.push_back(*column);
  }
  return wanted;
}

}  // namespace attune::analysis
