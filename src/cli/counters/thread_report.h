#pragma once
/// Counts of threads as text, CSV and JSON.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/counters/counted_threads.h"
#include "cli/counters/counts_report.h"

namespace attune::cli {

/// A table for people: the threads that counted most of the first event, and all together.
/// @param columns events, metrics, and virtual counters of modules  @param events of them, from the first on
std::string ThreadsText(const std::string& title, const std::vector<counter::NamedEvent>& columns, size_t events,
                        const counter::GroupMetrics& metrics, const ThreadRun& run, size_t width);
nlohmann::ordered_json ThreadsJson(const std::string& title, const std::vector<counter::NamedEvent>& events,
                                   const ThreadRun& run);

/// A heading, and a row a thread and time. CSV: "seconds,kind,pid,tid,thread,lived,cpu,core_type,EVENT..."; JSON: as
/// ThreadsJson() has them
std::string ThreadHeading(const std::vector<counter::NamedEvent>& events, RowFormat format);
std::string ThreadRowText(const std::vector<counter::NamedEvent>& events, const ThreadRow& row, RowFormat format);

}  // namespace attune::cli
