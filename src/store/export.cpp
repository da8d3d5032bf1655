#include "store/export.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "store/export_encoder.h"

namespace attune::store {
namespace {

using model::TimeRange;

std::unique_ptr<ExportEncoder> MakeEncoder(ExportFormat format, const model::Metadata& metadata, ExportOutput& output) {
  switch (format) {
    case ExportFormat::kJson: return MakeJsonEncoder(metadata, output);
    case ExportFormat::kCsv: return MakeCsvEncoder(metadata, output);
    case ExportFormat::kPerfetto: break;
  }
  return MakePerfettoEncoder(metadata, output);
}

/// Each stream and the events count as one step, and within it the time does.
class ProgressMeter {
 public:
  ProgressMeter(const ExportProgress& progress, TimeRange range, size_t steps)
      : progress_(progress), range_(range), steps_(static_cast<double>(steps)) {}

  void NextStep() { Tell(++step_, 0); }
  void At(int64_t t_ns) {
    const double length = static_cast<double>(range_.t1_ns) - static_cast<double>(range_.t0_ns);
    Tell(step_, (static_cast<double>(t_ns) - static_cast<double>(range_.t0_ns)) / std::max(length, 1.0));
  }

 private:
  void Tell(double step, double part) const {
    if (progress_) progress_(std::clamp((step + part) / steps_, 0.0, 1.0));
  }

  const ExportProgress& progress_;
  const TimeRange range_;
  const double steps_;
  double step_ = 0;
};

}  // namespace

Status Export(model::Source& source, ExportFormat format, const ExportWriter& write, const ExportProgress& progress) {
  const auto metadata = source.Meta();
  const TimeRange range = source.Extent();
  ExportOutput output(write);
  const auto encoder = MakeEncoder(format, *metadata, output);
  ProgressMeter meter(progress, range, metadata->streams.size() + 1);

  encoder->Begin();
  for (const model::Stream& stream : metadata->streams) {
    encoder->BeginStream(stream);
    std::vector<uint32_t> columns(stream.series.size());
    std::iota(columns.begin(), columns.end(), 0u);
    ATTUNE_CHECK_OK(source.ReadSamples(stream.id, columns, range, [&](const model::SampleBlock& block) {
      if (!block.t_ns.empty()) meter.At(block.t_ns.back());
      return encoder->Samples(block);
    }));
    ATTUNE_CHECK_OK(output.status());
    meter.NextStep();
  }
  if (encoder->BeginEvents()) {
    ATTUNE_CHECK_OK(source.ReadEvents(range, [&](const model::EventBlock& block) {
      if (!block.t_ns.empty()) meter.At(block.t_ns.back());
      return encoder->Events(block);
    }));
    ATTUNE_CHECK_OK(output.status());
  }
  encoder->End();
  output.Flush();
  if (output.status().ok()) meter.NextStep();
  return output.status();
}

}  // namespace attune::store
