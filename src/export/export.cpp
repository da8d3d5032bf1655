#include "export/export.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "base/units.h"
#include "export/export_encoder.h"

namespace attune::exports {
namespace {

using model::TimeRange;

using Streams = std::vector<const model::Stream*>;

/// All series of a stream are of one sensor. "" where none of them is known.
std::string SensorOf(const model::Metadata& metadata, const model::Stream& stream) {
  for (const model::SeriesId id : stream.series) {
    if (const model::Series* series = metadata.FindSeries(id); series != nullptr) return series->sensor;
  }
  return "";
}

/// @param sensor empty: all streams  @param only_one the format holds one sensor
Result<Streams> StreamsOf(const model::Metadata& metadata, const std::string& sensor, bool only_one) {
  Streams streams;
  std::set<std::string> sensors;
  for (const model::Stream& stream : metadata.streams) {
    const std::string name = SensorOf(metadata, stream);
    if (!name.empty()) sensors.insert(name);
    if (sensor.empty() || name == sensor) streams.push_back(&stream);
  }
  const std::vector<std::string> names(sensors.begin(), sensors.end());
  if (!sensor.empty() && streams.empty()) {
    const std::string nearest = DidYouMean(sensor, names);
    return Error{Errc::kNotFound, fmt::format("the recording has no sensor '{}'", sensor),
                 nearest.empty() ? fmt::format("it has {}", fmt::join(names, ", ")) : nearest};
  }
  if (only_one && sensor.empty() && names.size() != 1) {
    return Error{Errc::kInvalidArgument, fmt::format("the format holds one sensor; the recording has {}", names.size()),
                 names.empty() ? "" : fmt::format("give --sensor with one of {}", fmt::join(names, ", "))};
  }
  return streams;
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

/// Whether it is neither in Metadata, nor read as samples and events are.
bool IsReadWhole(const model::TableSchema& schema) {
  const model::Storage storage = schema.text.storage;
  return (storage == model::Storage::kTimed || storage == model::Storage::kPlain) && !schema.text.has_own_reader;
}

}  // namespace

Status Export(model::Source& source, const ExportFormat& format, const ExportWriter& write,
              const ExportProgress& progress, const std::string& sensor, const PairReader& pairs) {
  const auto metadata = source.Meta();
  const TimeRange range = source.Extent();
  ATTUNE_TRY(const Streams streams, StreamsOf(*metadata, sensor, format.holds_one_sensor));
  ExportOutput output(write);
  const auto encoder = format.make(*metadata, streams, output);
  ProgressMeter meter(progress, range, streams.size() + 1);

  encoder->Begin();
  for (const model::Stream* stream : streams) {
    encoder->BeginStream(*stream);
    std::vector<uint32_t> columns(stream->series.size());
    std::iota(columns.begin(), columns.end(), 0u);
    ATTUNE_CHECK_OK(source.ReadSamples(stream->id, columns, range, [&](const model::SampleBlock& block) {
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
  for (const model::TableSchema& schema : model::AllSchemas()) {
    if (!IsReadWhole(schema) || !encoder->BeginTable(schema)) continue;
    ATTUNE_CHECK_OK(
        source.ReadTable(schema.table, [&](const model::Batch& batch) { return encoder->Rows(schema, batch); }));
    ATTUNE_CHECK_OK(output.status());
  }
  if (pairs && encoder->BeginPairs()) {
    ATTUNE_CHECK_OK(pairs(source, [&](const model::Message& sent, const model::Message& received) {
      return encoder->Pair(sent, received);
    }));
    ATTUNE_CHECK_OK(output.status());
  }
  if (encoder->BeginStates()) {
    ATTUNE_TRY(const analysis::PlacedAccount placed, analysis::PlaceAccount(source));
    encoder->States(placed.parts);
    ATTUNE_CHECK_OK(output.status());
  }
  encoder->End();
  output.Flush();
  if (output.status().ok()) meter.NextStep();
  return output.status();
}

}  // namespace attune::exports
