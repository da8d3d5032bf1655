#include "analysis/profile/hot_lines.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "analysis/documents/json_rows.h"
#include "analysis/places/own_place.h"
#include "analysis/places/place_json.h"
#include "analysis/waits/sync_sums.h"
#include "counter/event.h"

namespace attune::analysis {
namespace {

class Lines {
 public:
  explicit Lines(const SiteNames& names) : names_(names) {}

  void Add(const SampleSums& samples, size_t column) {
    std::unordered_map<int64_t, int64_t> by_stack;
    for (const auto& [key, weight] : samples.weights) AddTo(by_stack[key.second], weight);
    for (const auto& [stack, weight] : by_stack) {
      std::vector<int64_t>& counts = all_[IndexOf(OwnPlaceOf(samples.PathOf(stack), names_))].counts;
      if (counts.size() <= column) counts.resize(column + 1);
      AddTo(counts[column], weight);
    }
  }

  /// @param columns of the counts
  std::vector<HotLine> Take(const std::vector<LineColumn>& columns) {
    for (HotLine& line : all_) {
      line.counts.resize(columns.size());
      for (size_t i = 0; i < columns.size(); ++i)
        line.share = std::max(line.share, PartOf(line.counts[i], columns[i].total));
    }
    std::ranges::stable_sort(all_, std::greater(), &HotLine::share);
    return std::move(all_);
  }

 private:
  size_t IndexOf(model::ElementId site) {
    const auto [known, is_new] = by_site_.try_emplace(site, 0);
    if (!is_new) return known->second;
    CodePlace place = names_.PlaceOf(site);
    // A line of an inlined function is one line; without lines a function is, and without names a place.
    const auto key = place.line != model::kAbsent ? std::tuple(place.file, std::string(), place.line)
                     : place.HasSymbol()          ? std::tuple(place.module, place.function, int64_t{0})
                                                  : std::tuple(std::string(), place.name, int64_t{0});
    const auto [line, is_new_line] = by_line_.try_emplace(key, all_.size());
    if (is_new_line) all_.push_back({.place = std::move(place), .counts = {}});
    return known->second = line->second;
  }

  const SiteNames& names_;
  std::vector<HotLine> all_;
  std::unordered_map<model::ElementId, size_t> by_site_;
  std::map<std::tuple<std::string, std::string, int64_t>, size_t> by_line_;
};

}  // namespace

HotLines SumByLine(const SampleSums& cpu, const std::map<std::string, SampleSums>& events, const SiteNames& names) {
  HotLines hot;
  Lines lines(names);
  const auto add = [&](const std::string& event, std::string_view unit, const SampleSums& samples) {
    lines.Add(samples, hot.columns.size());
    hot.columns.push_back({event, std::string(unit), samples.total, samples.samples});
  };
  if (cpu.samples_in_all > 0) add(LineColumn::kCpuTime, "ns", cpu);
  for (const auto& [event, samples] : events) add(event, counter::UnitOf(event), samples);
  hot.lines = lines.Take(hot.columns);
  return hot;
}

Result<HotLines> FindHotLines(model::Source& source, const SiteNames& names,
                              const std::optional<model::TimeRange>& range) {
  ATTUNE_TRY(const SampleSums cpu, ReadCpuSamples(source, range));
  ATTUNE_TRY(const auto events, ReadEventSamples(source, range));
  return SumByLine(cpu, events, names);
}

Json HotLinesJson(const HotLines& hot, size_t most_lines) {
  Json lines = Json::array();
  for (const HotLine& line : hot.lines) {
    if (lines.size() == most_lines) break;
    lines.push_back({{"site", PlaceJson(line.place)}, {"counts", line.counts}, {"share", line.share}});
  }
  return {{"events", JsonRows(hot.columns,
                              [](const LineColumn& column) {
                                return Json{{"event", column.event},
                                            {"unit", column.unit},
                                            {"count", column.total},
                                            {"samples", column.samples}};
                              })},
          {"lines", std::move(lines)},
          {"lines_in_all", hot.lines.size()}};
}

}  // namespace attune::analysis
