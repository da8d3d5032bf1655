/// Events that a program counted round its regions (include/attune/counters.h), and what is computed of them.

#include <algorithm>
#include <span>

#include "cli/counters/counts_report.h"
#include "cli/report/report_page.h"

namespace attune::cli {
namespace {

using analysis::RegionCount;
using analysis::RegionMetric;
using analysis::RegionSummary;

/// Events, then metrics, that any region has.
class RegionColumns {
 public:
  explicit RegionColumns(std::span<const RegionSummary> regions) {
    for (const RegionSummary& region : regions) {
      for (const RegionCount& count : region.counts)
        AddTo(events_, {count.event, {counter::Event()}, std::string(counter::UnitOf(count.event))});
      for (const RegionMetric& metric : region.metrics) AddTo(metrics_, {.name = metric.name, .unit = metric.unit});
    }
  }

  std::vector<TextTable::Column> Headings() const {
    std::vector<TextTable::Column> headings;
    for (const counter::NamedEvent& event : events_)
      headings.push_back({Printable(event.name), TextTable::Align::kRight, TextTable::Narrow::kWhole});
    for (const counter::NamedEvent& metric : metrics_)
      headings.push_back({Printable(metric.name), TextTable::Align::kRight, TextTable::Narrow::kSpared});
    headings.push_back({"region", TextTable::Align::kLeft, TextTable::Narrow::kShortened});
    return headings;
  }

  std::vector<std::string> Cells(const RegionSummary& region) const {
    std::vector<std::string> cells;
    for (const counter::NamedEvent& event : events_) {
      const auto count = std::ranges::find(region.counts, event.name, &RegionCount::event);
      cells.push_back(count != region.counts.end() ? ValueText(event, count->total) : "-");
    }
    for (const counter::NamedEvent& column : metrics_) {
      const auto metric = std::ranges::find(region.metrics, column.name, &RegionMetric::name);
      cells.push_back(metric != region.metrics.end() ? ValueText(column, metric->value) : "-");
    }
    cells.push_back(Printable(region.name));
    return cells;
  }

 private:
  static void AddTo(std::vector<counter::NamedEvent>& columns, counter::NamedEvent column) {
    if (std::ranges::find(columns, column.name, &counter::NamedEvent::name) == columns.end())
      columns.push_back(std::move(column));
  }

  std::vector<counter::NamedEvent> events_, metrics_;
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
