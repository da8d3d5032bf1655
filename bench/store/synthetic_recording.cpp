#include "store/synthetic_recording.h"

#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <random>
#include <vector>

#include "store/log_writer.h"

namespace attune::bench {
namespace {

using model::Batch;

constexpr int64_t kStartNs = 1'000'000'000'000;
/// Rows of half a second, which is how long a session gathers a frame.
constexpr int64_t kRowsAFrame = 500;
/// Rows that the sampler delivers at once.
constexpr int64_t kRowsABatch = 50;

/// How often a counter moves, in parts of 2^32 of the rows, and by how much at most.
struct Motion {
  uint32_t chance;
  uint32_t step;
};

Motion MotionOf(int64_t series) {
  const int64_t place = series % 20;
  if (place == 0) return {UINT32_MAX, 1000};     // each row: cycles, switches
  if (place <= 2) return {UINT32_MAX / 10, 32};  // page faults
  if (place <= 8) return {UINT32_MAX / 200, 8};  // interrupts of a device
  return {UINT32_MAX / 20'000, 2};               // errors, things that are not in use
}

class Generator {
 public:
  explicit Generator(int64_t series) {
    for (int64_t i = 0; i < series; ++i) {
      motions_.push_back(MotionOf(i));
      values_.push_back(static_cast<int64_t>(random_() % 1'000'000'000));
    }
  }

  model::BatchPtr Rows(int64_t first, int64_t end) {
    Batch batch;
    batch.table = model::Sample::kTable;
    batch.stream = 1;
    batch.rows = static_cast<size_t>(end - first);
    batch.ints.resize(motions_.size() + 1);
    for (int64_t row = first; row < end; ++row) {
      batch.ints[0].push_back(kStartNs + row * kSyntheticPeriodNs + 5000 + static_cast<int64_t>(random_() % 4096));
    }
    for (size_t i = 0; i < motions_.size(); ++i) {
      std::vector<int64_t>& column = batch.ints[i + 1];
      column.reserve(batch.rows);
      for (size_t row = 0; row < batch.rows; ++row) column.push_back(NextValue(i));
    }
    return std::make_shared<const Batch>(std::move(batch));
  }

 private:
  int64_t NextValue(size_t series) {
    const uint64_t random = random_();
    const bool moves = static_cast<uint32_t>(random) <= motions_[series].chance;
    if (moves) values_[series] += static_cast<int64_t>((random >> 32) % motions_[series].step) + 1;
    return values_[series];
  }

  std::mt19937_64 random_{20260101};
  std::vector<Motion> motions_;
  std::vector<int64_t> values_;
};

template <class Row>
void Publish(model::Sink& sink, const std::vector<Row>& rows) {
  sink.Consume(std::make_shared<const Batch>(model::ToBatch(rows)));
}

void PublishMetadata(model::Sink& sink, int64_t count) {
  const model::Element machine{.id = 1, .kind = model::ElementKind::kMachine, .host = "bench", .name = "bench"};
  std::vector<model::Series> series;
  model::Stream stream{1, kSyntheticPeriodNs, {}};
  for (int64_t i = 0; i < count; ++i) {
    const auto id = static_cast<model::SeriesId>(i + 1);
    series.push_back({.id = id,
                      .element = 1,
                      .kind = model::SeriesKind::kCounter,
                      .sensor = "bench",
                      .signal = "counter" + std::to_string(i),
                      .unit = "1"});
    stream.series.push_back(id);
  }
  Publish(sink, std::vector{machine});
  Publish(sink, series);
  Publish(sink, std::vector{stream});
}

[[noreturn]] void Fail(const std::string& why) {
  std::fprintf(stderr, "store_bench: %s\n", why.c_str());
  std::exit(1);
}

}  // namespace

TemporaryFile::TemporaryFile(const std::string& name) {
  folder_ = (std::filesystem::temp_directory_path() / "attune-bench-XXXXXX").string();
  if (::mkdtemp(folder_.data()) == nullptr) Fail("cannot make a folder like " + folder_);
  path_ = folder_ + "/" + name;
}

TemporaryFile::~TemporaryFile() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

uint64_t WriteSyntheticRecording(const std::string& path, int64_t values, int64_t series) {
  auto writer = store::LogWriter::Create({.path = path});
  if (!writer) Fail(writer.error().message);
  PublishMetadata(**writer, series);
  Generator generator(series);
  const int64_t rows = values / series;
  for (int64_t row = 0; row < rows; row += kRowsABatch) {
    (*writer)->Consume(generator.Rows(row, std::min(rows, row + kRowsABatch)));
    if ((row + kRowsABatch) % kRowsAFrame != 0) continue;
    if (const Status status = (*writer)->Flush(); !status) Fail(status.error().message);
  }
  if (const Status status = (*writer)->Close(); !status) Fail(status.error().message);
  if ((*writer)->LostRows() != 0) Fail("rows were lost while writing");
  return (*writer)->FileBytes();
}

}  // namespace attune::bench
