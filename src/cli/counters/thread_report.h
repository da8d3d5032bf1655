#pragma once
/// Counts of threads as text, CSV and JSON.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/counters/counted_threads.h"

namespace attune::cli {

/// A table for people: the threads that counted most of the first event, and all together.
/// @param events with the columns of the metrics
std::string ThreadsText(const std::string& title, const std::vector<counter::NamedEvent>& events,
                        const counter::GroupMetrics& metrics, const ThreadRun& run, size_t width);
nlohmann::ordered_json ThreadsJson(const std::string& title, const std::vector<counter::NamedEvent>& events,
                                   const ThreadRun& run);

/// A heading, and a row a thread and time. @param csv "seconds,kind,pid,tid,thread,lived,EVENT..."
std::string ThreadHeading(const std::vector<counter::NamedEvent>& events, bool csv);
std::string ThreadRowText(const std::vector<counter::NamedEvent>& events, const ThreadRow& row, bool csv);

}  // namespace attune::cli
