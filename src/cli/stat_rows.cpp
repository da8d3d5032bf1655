#include "cli/stat_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "cli/terminal.h"

namespace attune::cli {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
constexpr uint64_t kRowsBetweenHeadings = 25;
constexpr size_t kTimeWidth = 12;

std::string TimeOfDay(int64_t real_ns) {
  const std::string full = FormatRealTime(real_ns);
  return fmt::format("{}.{:03}", full.substr(full.find(' ') + 1), real_ns / 1'000'000 % 1000);
}

std::string Number(double value, int decimals) {
  return std::isnan(value) ? "-" : fmt::format("{:.{}f}", value, decimals);
}

std::string CsvField(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

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

StatRows::StatRows(std::vector<StatColumn> columns, StatFormat format, int64_t interval_ns, FILE* out)
    : columns_(std::move(columns)), format_(format), interval_ns_(interval_ns), out_(out) {}

Status StatRows::FindSeries(const model::Metadata& meta) {
  for (const model::Series& series : meta.series) {
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].sensor == series.sensor && columns_[i].signal == series.signal) column_of_[series.id] = i;
    }
  }
  if (!column_of_.empty()) return {};
  return Error{Errc::kUnavailable, "none of the signals is available here",
               "attune list signals shows what is; attune doctor says why others are not"};
}

Result<std::map<int64_t, StatRows::Row>> StatRows::ReadRows(model::Source& source, model::TimeRange range) {
  model::ViewRequest request{.range = range,
                             .pixels = static_cast<uint32_t>(
                                 std::clamp<int64_t>((range.t1_ns - range.t0_ns) / interval_ns_ * 2, 1000, 1'000'000))};
  for (const auto& [series, column] : column_of_) request.series.push_back(series);
  ATTUNE_TRY(const std::vector<model::SeriesView> views, source.View(request));
  std::map<int64_t, Row> rows;
  for (const model::SeriesView& view : views) {
    const size_t column = column_of_.at(view.series);
    for (size_t i = 0; i < view.t_ns.size(); ++i) {
      // Sensors wake a little after the grid's points, each at its own moment: half an interval of tolerance.
      const int64_t slot = view.t_ns[i] / interval_ns_;
      Row& row = rows[slot];
      if (row.values.empty()) row.values.assign(columns_.size(), kMissing);
      if (row.t_ns == 0) row.t_ns = view.t_ns[i];
      if (std::isnan(view.mean[i])) continue;
      double& value = row.values[column];
      value = (std::isnan(value) ? 0 : value) + view.mean[i] * columns_[column].factor;
    }
  }
  return rows;
}

void StatRows::PrintHeading() {
  if (format_ == StatFormat::kJson) return;
  std::string line = format_ == StatFormat::kCsv ? "time" : fmt::format("{:<{}}", "time", kTimeWidth);
  for (const StatColumn& column : columns_) {
    line += format_ == StatFormat::kCsv
                ? "," + CsvField(column.heading)
                : fmt::format(" {:>{}}", column.heading, std::max<size_t>(6, column.heading.size()));
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
    for (size_t i = 0; i < columns_.size(); ++i)
      json[columns_[i].heading] =
          std::isnan(row.values[i]) ? nlohmann::ordered_json() : nlohmann::ordered_json(row.values[i]);
    std::fprintf(out_, "%s\n", json.dump().c_str());
    return;
  }
  std::string line = format_ == StatFormat::kCsv
                         ? fmt::format("{}.{:09}", real_ns / 1'000'000'000, real_ns % 1'000'000'000)
                         : TimeOfDay(real_ns);
  for (size_t i = 0; i < columns_.size(); ++i) {
    const std::string value = Number(row.values[i], columns_[i].decimals);
    line += format_ == StatFormat::kCsv
                ? "," + (value == "-" ? "" : value)
                : fmt::format(" {:>{}}", value, std::max<size_t>(6, columns_[i].heading.size()));
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
  if (column_of_.empty()) {
    // The very first moments: the sensors have not announced themselves yet.
    const Status found = FindSeries(*meta);
    if (!found.ok()) return final ? found : Status();
  }
  const model::TimeRange extent = source.Extent();
  if (extent.t1_ns <= extent.t0_ns) return {};
  const int64_t from_ns = last_slot_ == INT64_MIN ? extent.t0_ns : (last_slot_ + 1) * interval_ns_;
  ATTUNE_TRY(const auto rows, ReadRows(source, {from_ns, extent.t1_ns}));
  const int64_t newest_slot = (extent.t1_ns - 1) / interval_ns_;
  for (const auto& [slot, row] : rows) {
    // The newest slot may still lack a sensor; the first has no rates yet.
    if (slot <= last_slot_ || (slot == newest_slot && !final)) continue;
    const bool first = last_slot_ == INT64_MIN;
    last_slot_ = slot;
    if (first) continue;
    PrintLabels(*meta, row.t_ns);
    PrintRow(row, row.t_ns + meta->real_minus_monotonic_ns);
  }
  if (final) PrintLabels(*meta, INT64_MAX);
  std::fflush(out_);
  return {};
}

}  // namespace attune::cli
