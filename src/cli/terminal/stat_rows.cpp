#include "cli/terminal/stat_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.h"
#include "base/units.h"
#include "cli/terminal/terminal.h"

namespace attune::cli {
namespace {

constexpr uint64_t kRowsBetweenHeadings = 25;
constexpr size_t kTimeWidth = 12;
constexpr size_t kLeastWidth = 6;  ///< smallest width of a column
constexpr int kMostDecimals = 6;

std::string TimeOfDay(int64_t real_ns) {
  const std::string full = FormatRealTime(real_ns);
  return fmt::format("{}.{:03}", full.substr(full.find(' ') + 1), real_ns / 1'000'000 % 1000);
}

void SettleDecimals(StatColumn& column, const model::Series& series) {
  if (column.decimals == StatColumn::kOfScale) column.decimals = std::clamp(-series.scale, 0, kMostDecimals);
}

std::string Number(const std::optional<double>& value, int decimals) {
  return value ? fmt::format("{:.{}f}", *value, std::max(decimals, 0)) : "-";
}

/// The shortest text that is read as the same number, never with an exponent. Empty: missing
std::string AllDigits(const std::optional<double>& value) {
  if (!value) return "";
  if (*value == std::round(*value)) return fmt::format("{:.0f}", *value);
  std::string text = fmt::format("{}", *value);
  return text.find('e') == std::string::npos ? text : fmt::format("{:.20f}", *value);
}

bool Shows(const StatColumn& column, const model::Series& series) {
  return column.sensor == series.sensor && column.signal == series.signal;
}

/// From a value in the series's unit to what the column shows.
double FactorOf(const StatColumn& column, const model::Series& series) {
  if (!column.percent) return column.factor;
  return 100 / series.LargestRate();
}

}  // namespace

Error NoLargestRate(const StatColumn& column) {
  return {Errc::kInvalidArgument,
          fmt::format("{}.{}: nothing is known of its largest rate", column.sensor, column.signal),
          fmt::format("leave the % out; attune list signals {} shows the maxima", column.sensor)};
}

std::vector<StatColumn> DefaultStatColumns(int cpus, int64_t page_bytes) {
  const double percent = 100.0 / (std::max(cpus, 1) * 1e9);
  const double page_mb = static_cast<double>(page_bytes) / (1 << 20);
  return {
      {"run", "cpu", "running"},
      {"blk", "cpu", "blocked"},
      {"us%", "cpu", "user", percent, 1},
      {"ni%", "cpu", "nice", percent, 1},
      {"sy%", "cpu", "system", percent, 1},
      {"id%", "cpu", "idle", percent, 1},
      {"wa%", "cpu", "iowait", percent, 1},
      {"st%", "cpu", "steal", percent, 1},
      {"cs/s", "cpu", "context_switches"},
      {"int/s", "cpu", "interrupts"},
      {"forks/s", "cpu", "forks"},
      {"freeMB", "vmstat", "nr_free_pages", page_mb},
      {"fault/s", "vmstat", "pgfault"},
      {"maj/s", "vmstat", "pgmajfault"},
      {"inkB/s", "vmstat", "pgpgin"},
      {"outkB/s", "vmstat", "pgpgout"},
      {"swin/s", "vmstat", "pswpin"},
      {"swout/s", "vmstat", "pswpout"},
  };
}

StatRows::StatRows(std::vector<StatColumn> columns, bool discrete, StatFormat format, int64_t interval_ns, FILE* out)
    : columns_(std::move(columns)), discrete_(discrete), format_(format), interval_ns_(interval_ns), out_(out) {}

Status StatRows::FindSeries(const model::Metadata& meta) {
  ATTUNE_CHECK_OK(CheckMaxima(meta));
  Assign(meta);
  if (!uses_.empty()) return {};
  return Error{Errc::kUnavailable, "none of the signals is available here",
               "attune list signals shows what is; attune doctor says why others are not"};
}

Status StatRows::CheckMaxima(const model::Metadata& meta) const {
  for (const StatColumn& column : columns_) {
    for (const model::Series& series : meta.series) {
      if (!column.percent || !Shows(column, series) || series.max_per_second > 0) continue;
      return NoLargestRate(column);
    }
  }
  return {};
}

/// Elements in the order of their numbers; signals of one element keep their heading.
void StatRows::Assign(const model::Metadata& meta) {
  std::vector<StatColumn> assigned;
  for (StatColumn& column : columns_) {
    std::vector<std::pair<const model::Element*, const model::Series*>> found;
    for (const model::Series& series : meta.series) {
      const model::Element* element = meta.FindElement(series.element);
      if (element != nullptr && Shows(column, series)) found.emplace_back(element, &series);
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.first->os_id < b.first->os_id; });
    if (!found.empty()) SettleDecimals(column, *found.front().second);
    const bool together = !discrete_ && (found.size() <= 1 || found.front().second->sum != model::SumRule::kNone);
    if (together) assigned.push_back(column);
    for (const auto& [element, series] : found) {
      if (!together) {
        assigned.push_back(column);
        if (found.size() > 1) assigned.back().heading = element->name + ":" + column.heading;
      }
      uses_[series->id] = {assigned.size() - 1, FactorOf(column, *series), series->sum};
    }
  }
  if (uses_.empty()) return;
  columns_ = std::move(assigned);
  series_seen_ = meta.series.size();
}

/// Elements that came later, into the columns that there are: one each where they do not add up.
void StatRows::AssignNew(const model::Metadata& meta) {
  for (; series_seen_ < meta.series.size(); ++series_seen_) {
    const model::Series& series = meta.series[series_seen_];
    const bool adds_up = !discrete_ && series.sum != model::SumRule::kNone;
    for (size_t i = 0; i < columns_.size(); ++i) {
      const bool is_used = std::ranges::any_of(uses_, [i](const auto& use) { return use.second.column == i; });
      if (!Shows(columns_[i], series) || (is_used && !adds_up)) continue;
      uses_[series.id] = {i, FactorOf(columns_[i], series), series.sum};
      SettleDecimals(columns_[i], series);
    }
  }
}

/// Rows come as often as asked for, until somebody changes the interval of sampling: then as often as that says.
void StatRows::FollowInterval(const model::Metadata& meta) {
  std::map<model::SeriesId, int64_t> newest;
  for (const model::Stream& stream : meta.streams) {
    for (const model::SeriesId series : stream.series) {
      if (uses_.contains(series) && stream.interval_ns > 0) newest[series] = stream.interval_ns;
    }
  }
  int64_t shortest_ns = 0;
  for (const auto& [series, interval_ns] : newest) {
    if (shortest_ns == 0 || interval_ns < shortest_ns) shortest_ns = interval_ns;
  }
  if (sampled_ns_ != 0 && shortest_ns != sampled_ns_) interval_ns_ = shortest_ns;
  sampled_ns_ = shortest_ns;
}

Result<std::map<int64_t, StatRows::Row>> StatRows::ReadRows(model::Source& source, model::TimeRange range) {
  model::ViewRequest request{.range = range,
                             .pixels = static_cast<uint32_t>(
                                 std::clamp<int64_t>((range.t1_ns - range.t0_ns) / interval_ns_ * 2, 1000, 1'000'000))};
  for (const auto& [series, use] : uses_) request.series.push_back(series);
  ATTUNE_TRY(const std::vector<model::SeriesView> views, source.View(request));
  std::vector<model::SumOfElements> nothing(columns_.size());
  for (const auto& [series, use] : uses_) nothing[use.column] = model::SumOfElements(use.rule);
  std::map<int64_t, Row> rows;
  for (const model::SeriesView& view : views) {
    const Use& use = uses_.at(view.series);
    std::map<int64_t, std::pair<double, double>> slots;  // sum and weight of the values in a row
    for (size_t i = 0; i < view.t_ns.size(); ++i) {
      // Sensors wake a little after the grid's points, each at its own moment.
      const int64_t slot = view.t_ns[i] / interval_ns_;
      Row& row = rows[slot];
      if (row.values.empty()) row.values = nothing;
      if (row.t_ns == 0) row.t_ns = view.t_ns[i];
      if (std::isnan(view.mean[i])) continue;
      const auto weight = static_cast<double>(view.count[i]);
      slots[slot].first += view.mean[i] * weight;
      slots[slot].second += weight;
    }
    for (const auto& [slot, sum] : slots) rows[slot].values[use.column].Add(sum.first / sum.second * use.factor);
  }
  return rows;
}

size_t StatRows::LineWidth(const std::vector<StatColumn>& columns) {
  size_t width = kTimeWidth;
  for (const StatColumn& column : columns) width += 1 + std::max(kLeastWidth, column.heading.size());
  return width;
}

void StatRows::PrintHeading() {
  if (format_ == StatFormat::kJson) return;
  std::string line = format_ == StatFormat::kCsv ? "time" : fmt::format("{:<{}}", "time", kTimeWidth);
  for (const StatColumn& column : columns_) {
    line += format_ == StatFormat::kCsv
                ? "," + CsvField(column.heading)
                : fmt::format(" {:>{}}", column.heading, std::max(kLeastWidth, column.heading.size()));
  }
  if (format_ == StatFormat::kText) line = Styled(out_, Style::kBold, line);
  std::fprintf(out_, "%s\n", line.c_str());
}

void StatRows::PrintRow(const Row& row, int64_t real_ns) {
  const bool heading_due = format_ == StatFormat::kText ? printed_ % kRowsBetweenHeadings == 0 : printed_ == 0;
  if (heading_due) PrintHeading();
  ++printed_;
  if (format_ == StatFormat::kJson) {
    nlohmann::ordered_json json{{"t_real_ns", real_ns}};
    for (size_t i = 0; i < columns_.size(); ++i) {
      const std::optional<double> value = row.values[i].Value();
      json[columns_[i].heading] = value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
    }
    std::fprintf(out_, "%s\n", json.dump().c_str());
    return;
  }
  std::string line = format_ == StatFormat::kCsv
                         ? fmt::format("{}.{:09}", real_ns / 1'000'000'000, real_ns % 1'000'000'000)
                         : TimeOfDay(real_ns);
  for (size_t i = 0; i < columns_.size(); ++i) {
    line += format_ == StatFormat::kCsv ? "," + AllDigits(row.values[i].Value())
                                        : fmt::format(" {:>{}}", Number(row.values[i].Value(), columns_[i].decimals),
                                                      std::max(kLeastWidth, columns_[i].heading.size()));
  }
  std::fprintf(out_, "%s\n", line.c_str());
}

void StatRows::PrintLabels(const model::Metadata& meta, int64_t until_ns) {
  for (; labels_printed_ < meta.labels.size() && meta.labels[labels_printed_].t_ns <= until_ns; ++labels_printed_) {
    const model::Label& label = meta.labels[labels_printed_];
    const int64_t real_ns = label.t_ns + meta.real_minus_monotonic_ns;
    if (format_ == StatFormat::kText)
      std::fprintf(out_, "%s -- %s\n", TimeOfDay(real_ns).c_str(), Printable(label.text).c_str());
    if (format_ == StatFormat::kJson)
      std::fprintf(out_, "%s\n",
                   nlohmann::ordered_json{{"t_real_ns", real_ns}, {"label", label.text}}
                       .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
                       .c_str());
    if (format_ == StatFormat::kCsv)
      std::fprintf(out_, "%ld.%09ld,%s\n", real_ns / 1'000'000'000, real_ns % 1'000'000'000,
                   CsvField("label: " + label.text).c_str());
  }
}

Status StatRows::Print(model::Source& source, bool final) {
  const auto meta = source.Meta();
  if (uses_.empty()) {
    // The very first moments: the sensors have not announced themselves yet.
    const Status found = FindSeries(*meta);
    if (!found.ok()) return final ? found : Status();
  }
  AssignNew(*meta);
  FollowInterval(*meta);
  const model::TimeRange extent = source.Extent();
  if (extent.t1_ns <= extent.t0_ns) return {};
  const int64_t from_ns = std::max(extent.t0_ns, printed_until_ns_);
  ATTUNE_TRY(const auto rows, ReadRows(source, {from_ns, extent.t1_ns}));
  const int64_t newest_slot = (extent.t1_ns - 1) / interval_ns_;
  for (const auto& [slot, row] : rows) {
    // The newest slot may still lack a sensor; the first has no rates yet.
    if (slot * interval_ns_ < printed_until_ns_ || (slot == newest_slot && !final)) continue;
    const bool first = printed_until_ns_ == INT64_MIN;
    printed_until_ns_ = (slot + 1) * interval_ns_;
    if (first) continue;
    PrintLabels(*meta, row.t_ns);
    PrintRow(row, row.t_ns + meta->real_minus_monotonic_ns);
  }
  if (final) PrintLabels(*meta, INT64_MAX);
  return {};
}

}  // namespace attune::cli
