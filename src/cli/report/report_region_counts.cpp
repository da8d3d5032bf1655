/// Events that a program counted round its regions (include/attune/counters.h), and what can be computed of them.

#include <algorithm>
#include <set>
#include <span>

#include "cli/counters/counts_report.h"
#include "cli/report/report_page.h"
#include "counter/event_group.h"

namespace attune::cli {
namespace {

using analysis::RegionCount;
using analysis::RegionSummary;

/// Events, then the metrics of all groups whose events were counted.
class RegionColumns {
 public:
  explicit RegionColumns(std::span<const RegionSummary> regions) {
    for (const RegionSummary& region : regions) {
      for (const RegionCount& count : region.counts) {
        if (std::ranges::find(events_, count.event, &counter::NamedEvent::name) == events_.end())
          events_.push_back({count.event, {counter::Event()}, analysis::ThreadCounts::IsTime(count.event) ? "ns" : ""});
      }
    }
    // A user's file that cannot be read is told by what is asked for it: attune list groups.
    if (const auto groups = counter::AllGroups(); groups.ok()) {
      for (const counter::EventGroup& group : *groups) metrics_.AddRecorded(group, events_);
    }
    columns_ = events_;
    for (counter::NamedEvent& metric : metrics_.Columns()) columns_.push_back(std::move(metric));
    // One metric may be in several groups.
    std::set<std::string> names;
    for (const counter::NamedEvent& column : columns_) is_shown_.push_back(names.insert(column.name).second);
  }

  std::vector<TextTable::Column> Headings() const {
    std::vector<TextTable::Column> headings;
    for (size_t i = 0; i < columns_.size(); ++i) {
      const auto narrow = i < events_.size() ? TextTable::Narrow::kWhole : TextTable::Narrow::kSpared;
      if (is_shown_[i]) headings.push_back({Printable(columns_[i].name), TextTable::Align::kRight, narrow});
    }
    headings.push_back({"region", TextTable::Align::kLeft, TextTable::Narrow::kShortened});
    return headings;
  }

  std::vector<std::string> Cells(const RegionSummary& region) const {
    std::vector<counter::EventCount> values(events_.size());
    for (size_t i = 0; i < events_.size(); ++i) {
      const auto count = std::ranges::find(region.counts, events_[i].name, &RegionCount::event);
      if (count != region.counts.end()) values[i] = {.value = count->total, .is_known = true};
    }
    metrics_.Complete(values, static_cast<double>(region.total_ns) * 1e-9);
    std::vector<std::string> cells;
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (is_shown_[i]) cells.push_back(values[i].is_known ? ValueText(columns_[i], values[i].value) : "-");
    }
    cells.push_back(Printable(region.name));
    return cells;
  }

 private:
  std::vector<counter::NamedEvent> events_, columns_;
  counter::GroupMetrics metrics_;
  std::vector<bool> is_shown_;
};

}  // namespace

void PrintRegionCounts(const ReportPage& page) {
  std::vector<RegionSummary> regions = page.summary.program.regions;
  std::erase_if(regions, [](const RegionSummary& region) { return region.counts.empty(); });
  if (regions.empty()) return;
  page.Heading("Events in regions", "of all calls and threads; with the regions inside");
  const RegionColumns columns(regions);
  TextTable table(columns.Headings());
  const size_t shown = std::min(regions.size(), page.options.top);
  for (const RegionSummary& region : std::span(regions).first(shown)) table.AddRow(columns.Cells(region));
  page.Table(table);
  if (shown < regions.size()) page.More(Plural(static_cast<int64_t>(regions.size() - shown), "region") + " more");
}

}  // namespace attune::cli
