// How large a recording of kernel counters is: /proc/vmstat at 1 kHz while processes come and go, in the file, and the
// very same stream in other encodings. ATTUNE_BENCH_SECONDS says for how long (60 without it). The table goes to
// stderr.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "harness/figure.h"
#include "model/codec.h"
#include "sensor/registry.h"
#include "session/sampling/sampler.h"
#include "store/log_writer.h"
#include "store/other_encodings.h"
#include "store/process_load.h"
#include "store/synthetic_recording.h"

namespace attune::bench {
namespace {

constexpr const char* kName = "recording of vmstat at 1 kHz";
constexpr model::StreamId kStream = 1;
/// What the writer has in a frame: half a second.
constexpr size_t kRowsAFrame = 500;

[[noreturn]] void Fail(const std::string& why) {
  std::fprintf(stderr, "encoding_bench: %s\n", why.c_str());
  std::exit(1);
}

/// The metadata of one sensor's stream, as a session writes it.
void PublishStream(model::Sink& sink, const session::PreparedSensor& sensor) {
  std::vector<model::Series> series;
  model::Stream stream{kStream, sensor.interval_ns, {}};
  for (const model::SignalSpec& signal : sensor.signals) {
    series.push_back({static_cast<model::SeriesId>(series.size() + 1), 1, signal.kind, signal.scale,
                      signal.max_per_second, sensor.name, signal.signal, signal.unit});
    stream.series.push_back(series.back().id);
  }
  sink.Consume(std::make_shared<const model::Batch>(model::ToBatch(series)));
  sink.Consume(std::make_shared<const model::Batch>(model::ToBatch(std::vector{stream})));
}

/// A recording, what is in it, and what its values take.
struct Recorded {
  SampleTable table;
  uint64_t file_bytes = 0;
  uint64_t value_bytes = 0;  ///< of the columns of values, with their headers
  uint64_t processes = 0;
};

void Append(SampleTable& table, const model::Batch& samples) {
  if (samples.rows == 0) return;
  table.t_ns.insert(table.t_ns.end(), samples.ints[0].begin(), samples.ints[0].end());
  table.columns.resize(samples.ints.size() - 1);
  for (size_t i = 0; i < table.columns.size(); ++i)
    table.columns[i].insert(table.columns[i].end(), samples.ints[i + 1].begin(), samples.ints[i + 1].end());
}

/// What the columns of values take in the file: the payload of each frame of samples, written once more without its
/// column of times, which shares a compressed block with the first values.
uint64_t ValueBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  uint64_t sum = 0;
  for (size_t at = 0; at < bytes.size();) {
    const auto left = std::span(bytes).subspan(at);
    const auto header = model::ParseHeader(left);
    if (!header) Fail(header.error().message);
    const size_t size = sizeof(wire::FrameHeader) + header->payload_bytes;
    if (header->table == static_cast<uint16_t>(model::Sample::kTable)) {
      auto batch = model::DecodeFrame(left.first(size));
      if (!batch) Fail(batch.error().message);
      batch->ints.erase(batch->ints.begin());
      sum += model::EncodeFrame(*batch, model::Compression::kZstd).size() - sizeof(wire::FrameHeader);
    }
    at += size;
  }
  return sum;
}

Recorded Record(session::Sampler& sampler, const session::PreparedSensor& prepared, std::chrono::seconds length) {
  const TemporaryFile file("vmstat.attune");
  auto writer = store::LogWriter::Create({.path = file.path()});
  if (!writer) Fail(writer.error().message);
  PublishStream(**writer, prepared);
  Recorded recorded;
  {
    const ProcessLoad load;
    // The sampler's thread fills the table, and is gone when it is read.
    const Status started = sampler.Start({&kStream, 1}, [&](session::SampleChunk chunk) {
      Append(recorded.table, chunk.samples);
      (*writer)->Consume(std::make_shared<const model::Batch>(std::move(chunk.samples)));
      (*writer)->Consume(std::make_shared<const model::Batch>(model::ToBatch(chunk.gaps)));
    });
    if (!started) Fail(started.error().message);
    std::this_thread::sleep_for(length);
    sampler.Stop();
    recorded.processes = load.started();
  }
  if (const Status status = (*writer)->Close(); !status) Fail(status.error().message);
  recorded.file_bytes = (*writer)->FileBytes();
  recorded.value_bytes = ValueBytes(file.path());
  return recorded;
}

struct TableRow {
  const char* name;
  EncodedSize size;
};

void Compare(const Recorded& recorded) {
  const SampleTable& table = recorded.table;
  const auto values = static_cast<double>(table.Values());
  const auto changed = static_cast<double>(table.ChangedValues());
  const TableRow rows[] = {
      {"attune, the whole file", {recorded.file_bytes, recorded.value_bytes}},
      {"JSON, rows of rates as NUMAscope's", JsonRows(table)},
      {"varint, row by row", VarintRows(table)},
      {"bitmap of what changed, varint", BitmapRows(table)},
      {"Gorilla", Gorilla(table)},
      {"varint by columns, zstd", VarintColumnsZstd(table, kRowsAFrame)},
  };
  std::fprintf(stderr, "%zu rows of %zu values, %.2f %% of which changed; %llu processes were started meanwhile\n",
               table.t_ns.size(), table.columns.size(), 100 * changed / values,
               static_cast<unsigned long long>(recorded.processes));
  std::fprintf(stderr,
               "| encoding | bytes a value, everything | bytes a changed value, without times |\n|---|---|---|\n");
  for (const TableRow& row : rows)
    std::fprintf(stderr, "| %s | %.4f | %.2f |\n", row.name, static_cast<double>(row.size.all) / values,
                 static_cast<double>(row.size.values) / changed);

  const std::string note =
      fmt::format("{} rows of {} values, {:.1f} % of which changed, while {} processes were started", table.t_ns.size(),
                  table.columns.size(), 100 * changed / values, recorded.processes);
  Report({std::string(kName) + ", everything", static_cast<double>(recorded.file_bytes) / values, "bytes/value", 0.06,
          Better::kLower, note});
  Report({std::string(kName) + ", values", static_cast<double>(recorded.value_bytes) / changed, "bytes/changed value",
          1.2, Better::kLower,
          "without times: bytes of the columns of values by values that differ from the one before"});
  // The last is the recording's own idea without index and levels of detail: these may cost a sixth.
  const double least[] = {1, 20, 8, 2, 2, 0.85};
  for (size_t i = 1; i < std::size(rows); ++i) {
    Report({fmt::format("{}, by the recording", rows[i].name),
            static_cast<double>(rows[i].size.all) / static_cast<double>(recorded.file_bytes), "ratio", least[i],
            Better::kHigher, "bytes of the same stream; the recording has index and level of detail besides"});
  }
}

int64_t SecondsFromEnvironment() {
  const char* text = std::getenv("ATTUNE_BENCH_SECONDS");
  if (text == nullptr) return 60;
  char* end = nullptr;
  const long long seconds = std::strtoll(text, &end, 10);
  if (*end != '\0' || seconds < 1 || seconds > 3600)
    Fail(fmt::format("ATTUNE_BENCH_SECONDS: '{}' is no number from 1 to 3600", text));
  return seconds;
}

int Run() {
  const std::chrono::seconds length(SecondsFromEnvironment());
  std::vector<session::SensorRequest> requests;
  auto sensor = sensor::MakeSensor("vmstat");
  if (!sensor) Fail(sensor.error().message);
  requests.push_back({*std::move(sensor), 1'000'000});
  const auto sampler = session::Sampler::Create(HostRoot(), std::move(requests));
  const session::PreparedSensor& prepared = sampler->Sensors().front();
  if (prepared.unavailable) {
    ReportUnavailable(kName, prepared.unavailable->message);
  } else {
    Compare(Record(*sampler, prepared, length));
  }
  return 0;
}

}  // namespace
}  // namespace attune::bench

int main() { return attune::bench::Run(); }
