#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <random>

#include "model/series_values.h"
#include "sample_data.h"
#include "store/lod_builder.h"
#include "store/log_writer.h"
#include "store/recording.h"

namespace attune::store {
namespace {

using model::SeriesView;
using model::TimeRange;

std::unique_ptr<LogWriter> Create(const std::string& path) {
  LogOptions options;
  options.path = path;
  auto writer = LogWriter::Create(options);
  EXPECT_TRUE(writer.ok()) << writer.error().message;
  return *std::move(writer);
}

SeriesView ViewOf(model::Source& source, model::SeriesId series, TimeRange range, uint32_t pixels) {
  auto views = source.View({{series}, range, pixels});
  EXPECT_TRUE(views.ok()) << views.error().message;
  return views->at(0);
}

int64_t Sum(const std::vector<int64_t>& counts) { return std::accumulate(counts.begin(), counts.end(), int64_t{0}); }

/// The samples of one series, in the order of time, as ReadSamples gives them.
struct Raw {
  std::vector<int64_t> t_ns, value;
};
Raw ReadRaw(model::Source& source, uint32_t column) {
  Raw raw;
  const auto status = source.ReadSamples(1, {&column, 1}, SampleSession::kAll, [&](const model::SampleBlock& block) {
    raw.t_ns.insert(raw.t_ns.end(), block.t_ns.begin(), block.t_ns.end());
    raw.value.insert(raw.value.end(), block.columns[0].begin(), block.columns[0].end());
    return true;
  });
  EXPECT_TRUE(status.ok());
  return raw;
}

/// Checks a view of a counter against its samples: the counts, the extreme rates, the mean over everything.
void ExpectViewFits(model::Source& source, uint32_t column, TimeRange range, uint32_t pixels) {
  const SeriesView view = ViewOf(source, column + 1, range, pixels);
  const Raw raw = ReadRaw(source, column);
  int64_t rows = 0;
  double low = INFINITY;
  double high = -INFINITY;
  for (size_t i = 0; i < raw.t_ns.size(); ++i) {
    if (raw.t_ns[i] < range.t0_ns || raw.t_ns[i] >= range.t1_ns) continue;
    ++rows;
    const model::Growth growth =
        i == 0 ? model::Growth{std::nan(""), 0}
               : model::GrowthBetween(raw.t_ns[i - 1], raw.value[i - 1], raw.t_ns[i], raw.value[i]);
    if (std::isnan(growth.amount)) continue;
    low = std::min(low, growth.PerSecond());
    high = std::max(high, growth.PerSecond());
  }
  EXPECT_EQ(Sum(view.count), rows);
  EXPECT_LE(view.t_ns.size(), 2 * pixels);
  EXPECT_TRUE(std::is_sorted(view.t_ns.begin(), view.t_ns.end()));
  double view_low = INFINITY;
  double view_high = -INFINITY;
  for (size_t i = 0; i < view.t_ns.size(); ++i) {
    if (std::isnan(view.low[i])) continue;
    view_low = std::min(view_low, view.low[i]);
    view_high = std::max(view_high, view.high[i]);
    EXPECT_LE(view.low[i], view.mean[i] * (1 + 1e-9) + 1e-3);
    EXPECT_GE(view.high[i] * (1 + 1e-9) + 1e-3, view.mean[i]);
  }
  if (rows > 0 && low <= high) {
    EXPECT_NEAR(view_low, low, 1e-3);
    EXPECT_NEAR(view_high, high, 1e-3);
  }
}

TEST(View, IsExactWhereThereAreFewSamples) {
  const TempFolder folder;
  const SampleSession session;
  auto writer = Create(folder / "a.attune");
  session.Feed(*writer, 100);
  const SeriesView counter = ViewOf(*writer, 2, {SampleSession::TimeOf(0), SampleSession::TimeOf(50)}, 100);
  EXPECT_TRUE(counter.exact);
  ASSERT_EQ(counter.t_ns.size(), 50u);
  EXPECT_TRUE(std::isnan(counter.mean[0]));  // nothing before it to grow from
  for (size_t i = 1; i < 50; ++i) EXPECT_DOUBLE_EQ(counter.mean[i], 2000);
  const SeriesView gauge = ViewOf(*writer, 5, {SampleSession::TimeOf(20), SampleSession::TimeOf(22)}, 100);
  ASSERT_EQ(gauge.t_ns.size(), 2u);
  EXPECT_DOUBLE_EQ(gauge.mean[0], static_cast<double>(session.ValueOf(4, 20)) / 100);  // scale 10^-2
}

/// A CPU that is always busy, sampled each millisecond, as ticks of 10 ms.
TEST(View, IsOfNoLessTimeThanACounterCountsIn) {
  const TempFolder folder;
  auto writer = Create(folder / "a.attune");
  constexpr int64_t kMs = 1'000'000, kRows = 50'000;
  const auto consume = [&writer](model::Batch batch) {
    writer->Consume(std::make_shared<const model::Batch>(std::move(batch)));
  };
  const model::Element machine{.id = 1, .kind = model::ElementKind::kMachine, .name = "host"};
  const model::Series user{
      .id = 1, .element = 1, .kind = model::SeriesKind::kCounter, .scale = 7, .max_per_second = 100, .unit = "ns"};
  consume(model::ToBatch(std::vector{machine}));
  consume(model::ToBatch(std::vector{user}));
  consume(model::ToBatch(std::vector{model::Stream{1, kMs, {1}}}));
  for (int64_t row = 0; row < kRows; row += 100) {
    model::Batch batch{.table = model::Sample::kTable, .stream = 1, .rows = 100};
    batch.ints.resize(2);
    for (int64_t i = row; i < row + 100; ++i) {
      batch.ints[0].push_back(i * kMs);
      batch.ints[1].push_back(i / 10);
    }
    consume(std::move(batch));
  }
  ASSERT_TRUE(writer->Flush());
  for (const uint32_t pixels : {100U, 5'000U, 100'000U}) {
    const SeriesView view = ViewOf(*writer, 1, {20 * kMs, kRows * kMs}, pixels);
    EXPECT_EQ(view.exact, pixels == 100'000);
    double ns = 0;
    for (size_t i = 0; i < view.t_ns.size(); ++i) {
      EXPECT_LE(view.high[i], 1e9 * 1.000001) << pixels << " at " << view.t_ns[i];
      ns += view.mean[i] * static_cast<double>(view.count[i]) * 1e-3;
    }
    EXPECT_NEAR(ns, (kRows - 20) * kMs, 20 * kMs) << pixels;
  }
}

TEST(View, ShowsEverySpikeAndCountsEverySample) {
  const TempFolder folder;
  const SampleSession session;
  constexpr int64_t kRows = 150'000;
  auto writer = Create(folder / "a.attune");
  session.Feed(*writer, kRows, 500);
  ASSERT_TRUE(writer->Flush());
  session.FeedRows(*writer, kRows, kRows + 77);
  const auto check = [&](model::Source& source) {
    std::mt19937_64 random(7);
    for (int round = 0; round < 40; ++round) {
      int64_t a = static_cast<int64_t>(random() % (kRows + 200));
      int64_t b = static_cast<int64_t>(random() % (kRows + 200));
      if (a > b) std::swap(a, b);
      const TimeRange range{SampleSession::TimeOf(a) + static_cast<int64_t>(random() % 3) - 1,
                            SampleSession::TimeOf(b) + 1};
      ExpectViewFits(source, static_cast<uint32_t>(random() % 4), range, 1 + static_cast<uint32_t>(random() % 2000));
    }
    ExpectViewFits(source, 1, source.Extent(), 1);
    const SeriesView all = ViewOf(source, 1, source.Extent(), 1000);
    EXPECT_FALSE(all.exact);
    for (size_t i = 1; i + 1 < all.high.size(); ++i) {
      if (all.count[i] >= 1000) {
        EXPECT_NEAR(all.high[i], 1'001'000, 1e-3);
      }
    }
    EXPECT_EQ(Sum(ViewOf(source, 3, SampleSession::kAll, 500).count), kRows + 77);
  };
  check(*writer);  // levels of detail in the file and in memory, rows in memory
  ASSERT_TRUE(writer->Close());
  check(*writer);
  auto closed = OpenRecording(folder / "a.attune");
  ASSERT_TRUE(closed.ok());
  check(**closed);
}

TEST(View, GivesMeansOfLevels) {
  const TempFolder folder;
  const SampleSession session;
  auto writer = Create(folder / "a.attune");
  session.Feed(*writer, 17 * 3000);  // the gauges repeat after 17 rows
  ASSERT_TRUE(writer->Flush());
  const SeriesView view = ViewOf(*writer, 6, writer->Extent(), 3);
  ASSERT_FALSE(view.exact);
  double sum = 0;
  for (size_t i = 0; i < view.mean.size(); ++i) {
    sum += view.mean[i] * static_cast<double>(view.count[i]);
    EXPECT_DOUBLE_EQ(view.low[i], 5);
    EXPECT_DOUBLE_EQ(view.high[i], 5.16);
  }
  EXPECT_NEAR(sum / static_cast<double>(Sum(view.count)), 5.08, 1e-9);
}

/// More columns than the cache of columns takes of one frame.
TEST(View, ReadsTheSamplesOnceWhereTheRecordingsBucketsAreTooLong) {
  const TempFolder folder;
  const std::string path = folder / "a.attune";
  SampleSession session;
  session.counters = 70;
  constexpr int64_t kRows = 20'000, kRowsOfFrame = 500;
  auto writer = Create(path);
  session.Feed(*writer, kRowsOfFrame);
  for (int64_t row = kRowsOfFrame; row < kRows; row += kRowsOfFrame) {
    ASSERT_TRUE(writer->Flush());
    session.FeedRows(*writer, row, row + kRowsOfFrame);
  }
  ASSERT_TRUE(writer->Close());
  auto source = OpenRecording(path);
  ASSERT_TRUE(source.ok());
  model::ViewRequest request{{}, {SampleSession::TimeOf(0), SampleSession::TimeOf(kRows)}, kRows / 20};
  for (int i = 0; i < session.Columns(); ++i) request.series.push_back(static_cast<model::SeriesId>(i + 1));
  const auto first = (*source)->View(request);
  ASSERT_TRUE(first.ok());
  // The middle of the file: each view reads the first and the last frame of samples.
  const auto bytes = static_cast<int64_t>(std::filesystem::file_size(path));
  std::fstream file(path, std::ios::in | std::ios::out);
  file.seekp(bytes / 3).write(std::string(static_cast<size_t>(bytes / 8), '\0').data(), bytes / 8);
  file.close();
  const auto second = (*source)->View(request);
  ASSERT_TRUE(second.ok());
  for (size_t i = 0; i < first->size(); ++i) {
    EXPECT_EQ(Sum(first->at(i).count), kRows);
    EXPECT_EQ(first->at(i).t_ns, second->at(i).t_ns);
    EXPECT_EQ(first->at(i).count, second->at(i).count);
    EXPECT_THAT(second->at(i).mean, testing::Pointwise(testing::NanSensitiveDoubleEq(), first->at(i).mean));
    EXPECT_THAT(second->at(i).high, testing::Pointwise(testing::NanSensitiveDoubleEq(), first->at(i).high));
  }
  EXPECT_LT(ReadRaw(**source, 0).t_ns.size(), kRows);
}

/// One counter and one gauge with values of our own.
struct OwnStream {
  std::vector<int64_t> t_ns, counter, gauge;

  void Feed(LogWriter& writer) const {
    SampleSession two;
    two.counters = 1;
    two.gauges = 1;
    for (const auto& batch : two.Metadata()) writer.Consume(batch);
    model::Batch batch;
    batch.table = model::Sample::kTable;
    batch.stream = 1;
    batch.rows = t_ns.size();
    batch.ints = {t_ns, counter, gauge};
    writer.Consume(std::make_shared<const model::Batch>(std::move(batch)));
  }
};

TEST(View, A32BitCounterThatWrapsIsAMissingPointNotASpike) {
  const TempFolder folder;
  OwnStream stream;
  constexpr int64_t kStep = 100'000'000;  // wraps every 43 rows
  int64_t wraps = 0;
  for (int64_t row = 0; row < 5'000; ++row) {
    stream.t_ns.push_back(SampleSession::TimeOf(row));
    stream.counter.push_back(row * kStep % (int64_t{1} << 32));
    stream.gauge.push_back(1);
    wraps += row > 0 && stream.counter.back() < stream.counter[stream.counter.size() - 2] ? 1 : 0;
  }
  auto writer = Create(folder / "a.attune");
  stream.Feed(*writer);
  ASSERT_TRUE(writer->Flush());
  const double rate = kStep * 1e9 / static_cast<double>(SampleSession::TimeOf(1) - SampleSession::TimeOf(0));
  for (const uint32_t pixels : {10u, 5'000u}) {
    const SeriesView counter = ViewOf(*writer, 1, writer->Extent(), pixels);
    EXPECT_EQ(counter.exact, pixels == 5'000);
    int64_t missing = 0;
    for (size_t i = 0; i < counter.mean.size(); ++i) {
      missing += std::isnan(counter.mean[i]) ? 1 : 0;
      if (std::isnan(counter.mean[i])) continue;
      EXPECT_NEAR(counter.low[i], rate, rate * 1e-6);
      EXPECT_NEAR(counter.high[i], rate, rate * 1e-6);
      EXPECT_NEAR(counter.mean[i], rate, rate * 1e-6) << "the time of the wrap counts for nothing";
    }
    EXPECT_EQ(missing, pixels == 5'000 ? wraps + 1 : 0) << "each wrap, and the first sample";
  }
}

TEST(View, LeavesOutWhereACounterGoesBackwards) {
  const TempFolder folder;
  OwnStream stream;
  for (int64_t row = 0; row < 60'000; ++row) {
    stream.t_ns.push_back(SampleSession::TimeOf(row));
    stream.counter.push_back(row % 1000 * 5 + (row < 30'000 ? INT64_MAX / 2 : 0));  // resets each second
    stream.gauge.push_back(row % 10 == 3 ? model::kAbsent : 1);
  }
  auto writer = Create(folder / "a.attune");
  stream.Feed(*writer);
  ASSERT_TRUE(writer->Flush());
  for (const uint32_t pixels : {10u, 300u, 40'000u}) {
    const SeriesView counter = ViewOf(*writer, 1, writer->Extent(), pixels);
    EXPECT_EQ(Sum(counter.count), 60'000);
    for (size_t i = 0; i < counter.high.size(); ++i) {
      if (!std::isnan(counter.high[i])) {
        EXPECT_NEAR(counter.high[i], 5000, 1e-3) << "pixels " << pixels;
      }
    }
    const SeriesView gauge = ViewOf(*writer, 2, writer->Extent(), pixels);
    for (size_t i = 0; i < gauge.mean.size(); ++i) {
      if (!std::isnan(gauge.mean[i])) {
        EXPECT_DOUBLE_EQ(gauge.mean[i], 0.01) << "pixels " << pixels;
      }
    }
  }
  const SeriesView exact = ViewOf(*writer, 1, {SampleSession::TimeOf(999), SampleSession::TimeOf(1002)}, 100);
  ASSERT_EQ(exact.mean.size(), 3u);
  EXPECT_TRUE(std::isnan(exact.mean[1]));
  EXPECT_DOUBLE_EQ(exact.mean[2], 5000);
}

TEST(View, ASeriesGoesOnThroughManyStreams) {
  const TempFolder folder;
  OwnStream first;
  first.t_ns = {SampleSession::TimeOf(0)};
  first.counter = {0};
  first.gauge = {0};
  auto writer = Create(folder / "a.attune");
  first.Feed(*writer);
  constexpr int64_t kRows = 200;
  constexpr model::StreamId kStreams = 40;
  for (model::StreamId id = 2; id <= kStreams; ++id) {
    // A device came or went: the same series in another stream, with other columns.
    const model::Stream stream{id, SampleSession::kPeriodNs,
                               id % 2 == 0 ? std::vector<model::SeriesId>{2, 1} : std::vector<model::SeriesId>{1}};
    writer->Consume(std::make_shared<const model::Batch>(model::ToBatch(std::span(&stream, 1))));
    model::Batch batch;
    batch.table = model::Sample::kTable;
    batch.stream = id;
    batch.rows = kRows;
    batch.ints.resize(1 + stream.series.size());
    for (int64_t row = (id - 2) * kRows; row < (id - 1) * kRows; ++row) {
      batch.ints[0].push_back(SampleSession::TimeOf(row + 1));
      for (size_t i = 1; i < batch.ints.size(); ++i) batch.ints[i].push_back((row + 1) * 5);
    }
    writer->Consume(std::make_shared<const model::Batch>(std::move(batch)));
    ASSERT_TRUE(writer->Flush());
  }
  for (const uint32_t pixels : {10u, 300u, 32'000u}) {
    const SeriesView counter = ViewOf(*writer, 1, writer->Extent(), pixels);
    EXPECT_EQ(Sum(counter.count), 1 + kRows * (kStreams - 1)) << "pixels " << pixels;
    for (size_t i = 0; i < counter.mean.size(); ++i) {
      if (std::isnan(counter.mean[i])) continue;
      EXPECT_NEAR(counter.mean[i], 5000, 1e-3) << "pixels " << pixels;
    }
    EXPECT_EQ(Sum(ViewOf(*writer, 2, writer->Extent(), pixels).count), 1 + kRows * (kStreams / 2));
  }
}

TEST(View, ResolvesBurstsBetweenPauses) {
  const TempFolder folder;
  OwnStream stream;
  int64_t t_ns = SampleSession::kStartNs;
  std::mt19937_64 random(3);
  for (int64_t row = 0; row < 80'000; ++row) {
    t_ns += row % 5000 == 0 ? 10'000'000'000 : static_cast<int64_t>(random() % 2000);  // equal times occur
    stream.t_ns.push_back(t_ns);
    stream.counter.push_back(row * row);
    stream.gauge.push_back(row);
  }
  auto writer = Create(folder / "a.attune");
  stream.Feed(*writer);
  ASSERT_TRUE(writer->Flush());
  for (const uint32_t pixels : {1u, 7u, 160u, 1000u}) {
    const SeriesView view = ViewOf(*writer, 2, writer->Extent(), pixels);
    EXPECT_EQ(Sum(view.count), 80'000) << pixels;
    // No bucket may hold rows of two bursts unless its pixel does.
    if (pixels == 1000) {
      for (size_t i = 0; i < view.count.size(); ++i) EXPECT_LE(view.high[i] - view.low[i], 50) << i;  // scaled 1/100
    }
  }
}

TEST(View, ExplainsAWrongRequest) {
  const TempFolder folder;
  auto writer = Create(folder / "a.attune");
  SampleSession().Feed(*writer, 10);
  const auto unknown = writer->View({{99}, {0, 1}, 100});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, Errc::kNotFound);
  EXPECT_FALSE(writer->View({{1}, {0, 1}, 0}).ok());
  const SeriesView empty = ViewOf(*writer, 1, {5, 5}, 100);
  EXPECT_TRUE(empty.t_ns.empty());
}

TEST(LodBuilder, TilesTimeAndKeepsEveryRow) {
  const std::array series = {model::Series{.id = 1, .kind = model::SeriesKind::kCounter}, model::Series{.id = 2}};
  LodBuilder builder(1, series);
  std::map<model::StreamId, int64_t> rows_of_level;
  std::map<model::StreamId, int64_t> end_of_level;
  int64_t row = 0;
  for (int round = 0; round < 3000; ++round) {
    model::Batch batch;
    batch.ints.resize(3);
    for (int i = 0; i < 97; ++i, ++row) {
      batch.ints[0].push_back(row / 3 * 1000);  // three rows of each time
      batch.ints[1].push_back(row);
      batch.ints[2].push_back(-row);
      ++batch.rows;
    }
    for (const model::Batch& lod : builder.Add(batch)) {
      for (size_t i = 0; i < lod.rows; ++i) {
        const auto [end, is_first] = end_of_level.try_emplace(lod.stream, lod.ints[0][i]);
        EXPECT_EQ(lod.ints[0][i], end->second);
        end->second = lod.ints[1][i];
        rows_of_level[lod.stream] += lod.ints[2][i];
        EXPECT_EQ(lod.ints[0][i] / 1000 * 3, -lod.ints[kLodFixedColumns + kLodSeriesColumns + 2][i]);  // its first row
      }
    }
  }
  ASSERT_EQ(rows_of_level.size(), 3u);
  for (const auto& [stream, rows] : rows_of_level) EXPECT_EQ(rows, end_of_level[stream] / 1000 * 3);
}

}  // namespace
}  // namespace attune::store
