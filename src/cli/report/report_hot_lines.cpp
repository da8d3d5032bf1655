/// Lines of the program by CPU time and by the events that were sampled.

#include <algorithm>
#include <span>

#include "base/units.h"
#include "cli/counters/counts_report.h"
#include "cli/report/report_page.h"

namespace attune::cli {

void PrintHotLines(const ReportPage& page) {
  const analysis::HotLines& hot = page.summary.hot_lines;
  if (hot.columns.empty()) return;
  page.Heading("Hot lines", "of the program's own code, with what it called; estimated from samples");
  std::vector<TextTable::Column> headings;
  std::vector<counter::NamedEvent> events;
  for (const analysis::LineColumn& column : hot.columns) {
    headings.push_back({Printable(column.event), TextTable::Align::kRight, TextTable::Narrow::kWhole});
    events.push_back({column.event, {counter::Event()}, column.unit});
  }
  headings.push_back({"line", TextTable::Align::kLeft, TextTable::Narrow::kShortened});
  TextTable table(headings);
  const auto add = [&](const auto& count_of, const std::string& name) {
    std::vector<std::string> cells;
    for (size_t i = 0; i < events.size(); ++i) cells.push_back(ValueText(events[i], static_cast<double>(count_of(i))));
    cells.push_back(name);
    table.AddRow(std::move(cells));
  };
  const size_t shown = std::min(hot.lines.size(), page.options.top);
  for (const analysis::HotLine& line : std::span(hot.lines).first(shown))
    add([&](size_t i) { return line.counts[i]; }, Printable(analysis::PlaceText(line.place)));
  add([&](size_t i) { return hot.columns[i].total; }, "all");
  page.Table(table);
  if (shown < hot.lines.size()) page.More(Plural(static_cast<int64_t>(hot.lines.size() - shown), "line") + " more");
}

}  // namespace attune::cli
