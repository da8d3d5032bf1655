/// Format of NUMAscope (https://github.com/numascale/numascope), so that its page and scripts for its files can be
/// used on a recording:
///
///   [[name,sources,rate],
///   [heading,...],
///   [us,value,...],
///   ["label",us,"text"],
///   ...]
///
/// Its page takes the time of the third row for the beginning and that of the last row for the end: both must be
/// rows of values, so that labels before and after stand beside the nearest one.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "export/export_encoder.h"

namespace attune::exports {
namespace {

using model::kAbsent;
using model::SeriesKind;

/// The page shows files of this technology only (and of an older one, whose headings it rewrites): the headings of any
/// other name stay empty there, also those of NUMAscope's own kernel recordings.
constexpr const char* kTechnology = "NumaConnect2";

/// The page hides each trace whose heading lacks the text "% wait cycles". Its legend and table do not show this
/// element.
constexpr std::string_view kVisible = "<b title='% wait cycles'></b>";

/// The place of a series that the recording does not describe: its values are left out.
constexpr size_t kNowhere = SIZE_MAX;

bool IsRate(SeriesKind kind) { return kind == SeriesKind::kCounter || kind == SeriesKind::kUpDown; }

/// One column of the file.
struct Column {
  const model::Series* series = nullptr;
  int64_t element_number = 0;  ///< CPU, node or board number, else its place among the signal's elements
  bool single = false;         ///< the signal has no other element
  int decimals = 0;
  double factor = 1;
  int64_t last_ns = kAbsent;
  int64_t last = kAbsent;
};

class NumascopeEncoder : public ExportEncoder {
 public:
  NumascopeEncoder(const model::Metadata& metadata, std::span<const model::Stream* const> streams, ExportOutput& output)
      : metadata_(metadata), output_(output) {
    FindColumns(streams);
  }

  void Begin() override {
    const auto widest = std::max_element(elements_of_.begin(), elements_of_.end(),
                                         [](const auto& a, const auto& b) { return a.second < b.second; });
    const double rate = CommonMaximum();
    output_.Append("[[\"{}\",{},{:.0f}],\n[", kTechnology, widest == elements_of_.end() ? 0 : widest->second, rate);
    for (size_t i = 0; i < columns_.size(); ++i) output_.Append("{}{}", i == 0 ? "" : ",", Heading(columns_[i], rate));
    output_.bytes() += ']';
  }

  void BeginStream(const model::Stream& stream) override {
    places_.clear();
    for (const model::SeriesId id : stream.series) {
      const auto found = place_.find(id);
      places_.push_back(found == place_.end() ? kNowhere : found->second);
    }
  }

  bool Samples(const model::SampleBlock& block) override {
    std::vector<std::optional<double>> values(columns_.size());
    for (size_t row = 0; row < block.t_ns.size(); ++row) {
      std::fill(values.begin(), values.end(), std::nullopt);
      bool any = false;
      for (size_t i = 0; i < block.columns.size(); ++i) {
        if (places_[i] == kNowhere) continue;
        auto& value = values[places_[i]];
        value = Shown(columns_[places_[i]], block.t_ns[row], block.columns[i][row]);
        any = any || value.has_value();
      }
      if (!any) continue;  // the first reading of counters has no rate
      Hold(block.t_ns[row], values);
      if (!output_.Drain()) return false;
    }
    return true;
  }

  void End() override {
    const bool first = !any_row_;
    if (held_ && first) output_.bytes() += *held_;
    while (next_label_ < metadata_.labels.size()) PutLabel(metadata_.labels[next_label_++]);
    if (held_ && !first) output_.bytes() += *held_;
    output_.bytes() += "\n]\n";
  }

 private:
  /// Signal by signal, and of each its elements, as NUMAscope orders them.
  void FindColumns(std::span<const model::Stream* const> streams) {
    std::vector<std::string> signals;
    std::map<std::string, std::vector<const model::Series*>> series_of;
    for (const model::Stream* stream : streams) {
      for (const model::SeriesId id : stream->series) {
        const model::Series* series = metadata_.FindSeries(id);
        if (series == nullptr) continue;
        auto& rows = series_of[series->signal];
        if (rows.empty()) signals.push_back(series->signal);
        if (std::find(rows.begin(), rows.end(), series) == rows.end()) rows.push_back(series);
      }
    }
    for (const std::string& signal : signals) {
      const auto& rows = series_of[signal];
      elements_of_[signal] = rows.size();
      for (size_t i = 0; i < rows.size(); ++i) AddColumn(*rows[i], i, rows.size() == 1);
    }
  }

  void AddColumn(const model::Series& series, size_t place, bool single) {
    const model::Element* element = metadata_.FindElement(series.element);
    Column column{&series, static_cast<int64_t>(place), single};
    if (element != nullptr && element->os_id != kAbsent) column.element_number = element->os_id;
    column.decimals = std::clamp(-series.scale, 0, 6);
    column.factor = series.Factor();
    place_[series.id] = columns_.size();
    columns_.push_back(column);
  }

  /// Rate that counts as 100 %: the most frequent limit per second of the series. 0: no series has a limit.
  double CommonMaximum() const {
    std::map<double, size_t> counts;
    for (const Column& column : columns_) {
      if (const double most = column.series->LargestRate(); most > 0) ++counts[most];
    }
    const auto most = std::max_element(counts.begin(), counts.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == counts.end() ? 0 : most->first;
  }

  /// "% wait_cycles:2": the page divides what begins with % by the rate of the first line, and adds up what differs in
  /// the number behind the colon.
  static std::string Heading(const Column& column, double rate) {
    const bool percent = rate > 0 && column.series->LargestRate() == rate;
    std::string text = (percent ? "% " : "") + column.series->signal;
    if (!column.single) text += fmt::format(":{}", column.element_number);
    return Json(text.append(kVisible));
  }

  static std::string Json(const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  /// Rates a second of counters (signed where they may fall), levels of the rest, in the series' unit.
  static std::optional<double> Shown(Column& column, int64_t t_ns, int64_t value) {
    if (value == kAbsent) return std::nullopt;
    if (!IsRate(column.series->kind)) return static_cast<double>(value) * column.factor;
    const int64_t before_ns = std::exchange(column.last_ns, t_ns);
    const int64_t before = std::exchange(column.last, value);
    int64_t step = 0;
    if (before == kAbsent || t_ns <= before_ns || __builtin_sub_overflow(value, before, &step)) return std::nullopt;
    if (step < 0 && column.series->kind == SeriesKind::kCounter) return std::nullopt;  // it wrapped or was reset
    const double seconds = (static_cast<double>(t_ns) - static_cast<double>(before_ns)) * 1e-9;
    return static_cast<double>(step) * column.factor / seconds;
  }

  int64_t Microseconds(int64_t t_ns) const {
    const auto real_ns = static_cast<uint64_t>(t_ns) + static_cast<uint64_t>(metadata_.real_minus_monotonic_ns);
    return static_cast<int64_t>(real_ns) / 1000;
  }

  /// A row is written when the next one comes, so that the last one can be held back.
  void Hold(int64_t t_ns, const std::vector<std::optional<double>>& values) {
    if (held_) {
      output_.bytes() += *held_;
      any_row_ = true;
      while (next_label_ < metadata_.labels.size() && metadata_.labels[next_label_].t_ns < t_ns)
        PutLabel(metadata_.labels[next_label_++]);
    }
    std::string row = fmt::format(",\n[{}", Microseconds(t_ns));
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] && std::isfinite(*values[i])) {
        fmt::format_to(std::back_inserter(row), ",{:.{}f}", *values[i], columns_[i].decimals);
      } else {
        row += ",null";
      }
    }
    held_ = row + ']';
  }

  void PutLabel(const model::Label& label) {
    output_.Append(",\n[\"label\",{},{}]", Microseconds(label.t_ns), Json(label.text));
  }

  const model::Metadata& metadata_;
  ExportOutput& output_;
  std::vector<Column> columns_;
  std::map<std::string, size_t> elements_of_;  ///< a signal's number of elements
  std::map<model::SeriesId, size_t> place_;    ///< the column of a series
  std::vector<size_t> places_;                 ///< the same for the columns of the current stream
  size_t next_label_ = 0;
  std::optional<std::string> held_;
  bool any_row_ = false;  ///< one was written
};

}  // namespace

constinit const ExportFormat ExportFormat::kNumascope{MakeEncoder<NumascopeEncoder>, /*holds_one_sensor=*/true};

}  // namespace attune::exports
