/// The samples as CSV in long form: a value a row, with its names, so that each line can be read by itself.

#include <fmt/format.h>
#include <time.h>

#include <iterator>

#include "base/text.h"
#include "export/export_encoder.h"

namespace attune::exports {
namespace {

using model::kAbsent;

constexpr int64_t kNsPerSecond = 1'000'000'000;

/// raw * 10^scale, every digit of it.
void AppendScaled(std::string& out, int64_t raw, int scale) {
  constexpr int kMostDigits = 18;
  if (scale == 0) {
    fmt::format_to(std::back_inserter(out), "{}", raw);
  } else if (scale < 0 && scale >= -kMostDigits) {
    uint64_t unit = 1;
    for (int i = scale; i < 0; ++i) unit *= 10;
    const uint64_t size = raw < 0 ? 0 - static_cast<uint64_t>(raw) : static_cast<uint64_t>(raw);
    fmt::format_to(std::back_inserter(out), "{}{}.{:0{}}", raw < 0 ? "-" : "", size / unit, size % unit, -scale);
  } else {
    fmt::format_to(std::back_inserter(out), "{}e{}", raw, scale);
  }
}

/// "2026-01-31T14:03:09.000000001Z"
void AppendRealTime(std::string& out, int64_t real_ns) {
  const int64_t part = real_ns % kNsPerSecond;
  const int64_t fraction_ns = part < 0 ? part + kNsPerSecond : part;
  const time_t seconds = (real_ns - part) / kNsPerSecond - (part < 0 ? 1 : 0);
  tm when{};
  gmtime_r(&seconds, &when);
  fmt::format_to(std::back_inserter(out), "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}Z", when.tm_year + 1900,
                 when.tm_mon + 1, when.tm_mday, when.tm_hour, when.tm_min, when.tm_sec, fraction_ns);
}

class CsvEncoder : public ExportEncoder {
 public:
  CsvEncoder(const model::Metadata& metadata, ExportOutput& output) : metadata_(metadata), output_(output) {}

  void Begin() override { output_.bytes() += "t_ns,real_time,sensor,signal,element,unit,value\r\n"; }

  void BeginStream(const model::Stream& stream) override {
    columns_.clear();
    for (const model::SeriesId id : stream.series) {
      Column& column = columns_.emplace_back();
      const model::Series* series = metadata_.FindSeries(id);
      if (series == nullptr) {
        column.names = ",,,,";
        continue;
      }
      column.names = fmt::format("{},{},{},{},", CsvField(series->sensor), CsvField(series->signal),
                                 CsvField(metadata_.NameOf(series->element)), CsvField(series->unit));
      column.scale = series->scale;
    }
  }

  bool Samples(const model::SampleBlock& block) override {
    for (size_t row = 0; row < block.t_ns.size(); ++row) {
      time_ = fmt::format("{},", block.t_ns[row]);
      if (metadata_.real_minus_monotonic_ns != 0) {
        const auto real_ns =
            static_cast<uint64_t>(block.t_ns[row]) + static_cast<uint64_t>(metadata_.real_minus_monotonic_ns);
        AppendRealTime(time_, static_cast<int64_t>(real_ns));
      }
      time_ += ',';
      for (size_t i = 0; i < block.columns.size(); ++i) {
        const int64_t value = block.columns[i][row];
        output_.bytes() += time_;
        output_.bytes() += columns_[i].names;
        if (value != kAbsent) AppendScaled(output_.bytes(), value, columns_[i].scale);
        output_.bytes() += "\r\n";
      }
      if (!output_.Drain()) return false;
    }
    return true;
  }

 private:
  struct Column {
    std::string names;  ///< the fields between time and value
    int scale = 0;
  };

  const model::Metadata& metadata_;
  ExportOutput& output_;
  std::vector<Column> columns_;
  std::string time_;
};

}  // namespace

constinit const ExportFormat ExportFormat::kCsv{MakeEncoder<CsvEncoder>};

}  // namespace attune::exports
