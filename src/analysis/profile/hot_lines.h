#pragma once
/// Lines of a program by CPU time and by the events that were sampled (attune run --event-samples).

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/places/code_place.h"
#include "analysis/profile/cpu_profile.h"
#include "base/result.h"
#include "model/source.h"

namespace attune::analysis {

struct LineColumn {
  std::string event;    ///< as it was asked for; kCpuTime
  std::string unit;     ///< "ns": a time; else empty: how often
  int64_t total = 0;    ///< of all lines
  int64_t samples = 0;  ///< that it was estimated from

  static constexpr const char* kCpuTime = "cpu-time";
};

/// A line, or as much as is known of a place in the code.
struct HotLine {
  CodePlace place;
  std::vector<int64_t> counts;  ///< by column
  double share = 0;             ///< the largest of its shares of a column
};

struct HotLines {
  std::vector<LineColumn> columns;  ///< CPU time, where it was sampled, then events by name
  std::vector<HotLine> lines;       ///< largest share first
};

/// The cost of a call path goes to its innermost place in the program's own code (OwnPlaceOf).
/// @param events by name (ReadEventSamples)  @cost a look-up of each call path
HotLines SumByLine(const SampleSums& cpu, const std::map<std::string, SampleSums>& events, const SiteNames& names);
/// @param range only samples of this part of the time  @cost a row a sample, and as above
Result<HotLines> FindHotLines(model::Source& source, const SiteNames& names,
                              const std::optional<model::TimeRange>& range = {});

/// Most lines in a report.
inline constexpr size_t kMaxHotLines = 100;
/// `events` and `lines`, of which there may be fewer than `lines_in_all`.
nlohmann::ordered_json HotLinesJson(const HotLines& hot, size_t most_lines);

}  // namespace attune::analysis
