#pragma once
/// Counts of events as text, CSV and JSON.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/counters/counted_run.h"

namespace attune::cli {

/// One event over all runs.
struct CountSummary {
  double mean = 0;
  double bound = 0;  ///< half of the 95 % interval: of the mean over the runs, or of the scaling of one run
  double share = 1;  ///< least part of the time in which it was counted
  bool is_known = false;
  std::vector<double> parts;  ///< mean of each part
};
/// @param runs at least one, all of the same events
std::vector<CountSummary> Summarize(const std::vector<RunCounts>& runs);
/// Wall time of the runs: mean, and half of its 95 % interval.
CountSummary SecondsOf(const std::vector<RunCounts>& runs);

/// A table for people. @param title what was counted  @param width of the terminal; 0: none
std::string CountsText(const std::string& title, const std::vector<counter::NamedEvent>& events,
                       const std::vector<RunCounts>& runs, size_t width);
/// "event,count,unit,bound,counted,runs", a line an event.
std::string CountsCsv(const std::vector<counter::NamedEvent>& events, const std::vector<RunCounts>& runs);
nlohmann::ordered_json CountsJson(const std::string& title, const std::vector<counter::NamedEvent>& events,
                                  const std::vector<RunCounts>& runs);

/// A count for people: times in ms, as people compare them; else the event's own unit.
std::string ValueText(const counter::NamedEvent& event, double value);
/// Below a table; empty without notes.
std::string NotesText(const std::vector<counter::EventNote>& notes);
nlohmann::ordered_json NotesJson(const std::vector<counter::EventNote>& notes);

/// Of JSON each row is a document on a line of its own, and there is no heading.
enum class RowFormat : uint8_t { kText, kCsv, kJson };
/// An event's column in rows of text or CSV, with what separates it from the one before.
std::string HeadingText(const counter::NamedEvent& event, RowFormat format);
std::string CountText(const counter::NamedEvent& event, const counter::EventCount& count, RowFormat format);
/// Counts by the events' names; null: not known.
nlohmann::ordered_json CountsByName(const std::vector<counter::NamedEvent>& events,
                                    const std::vector<counter::EventCount>& counts);
std::string JsonLine(const nlohmann::ordered_json& row);
/// Rows of counts while they are taken: a heading, and a row a time.
std::string RowsHeading(const std::vector<counter::NamedEvent>& events, RowFormat format);
std::string RowText(double seconds, const std::vector<counter::NamedEvent>& events,
                    const std::vector<counter::EventCount>& counts, RowFormat format);

}  // namespace attune::cli
