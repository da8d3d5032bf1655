#include "store/recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/stat.h>

#include <fstream>
#include <thread>

#include "sample_data.h"
#include "store/log_writer.h"

namespace attune::store {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

LogOptions At(const std::string& path) {
  LogOptions options;
  options.path = path;
  return options;
}

std::unique_ptr<LogWriter> MustCreate(const LogOptions& options) {
  auto writer = LogWriter::Create(options);
  EXPECT_TRUE(writer.ok()) << writer.error().message;
  return *std::move(writer);
}

std::unique_ptr<model::Source> MustOpen(const std::string& path, const OpenOptions& options = {}) {
  auto source = OpenRecording(path, options);
  EXPECT_TRUE(source.ok()) << source.error().message;
  return *std::move(source);
}

TEST(Recording, ReadsBackWhatWasWritten) {
  const TempFolder folder;
  const SampleSession session;
  {
    auto writer = MustCreate(At(folder / "a.attune"));
    session.Feed(*writer, 5000);
    EXPECT_TRUE(writer->Close());
  }
  struct stat status{};
  ASSERT_EQ(::stat((folder / "a.attune").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);

  auto source = MustOpen(folder / "a.attune");
  EXPECT_FALSE(source->Growing());
  EXPECT_EQ(session.CountRightRows(*source), 5000);
  EXPECT_EQ(SampleSession::CountEvents(*source), 10000);
  EXPECT_EQ(source->Extent().t0_ns, SampleSession::TimeOf(0));
  EXPECT_EQ(source->Extent().t1_ns, SampleSession::TimeOf(4999) + SampleSession::kPeriodNs / 2 + 1);
  const auto metadata = source->Meta();
  EXPECT_THAT(metadata->damage, IsEmpty());
  EXPECT_EQ(metadata->elements.size(), 4u);
  EXPECT_EQ(metadata->series.size(), 6u);
  EXPECT_EQ(metadata->FindElement(4)->name, "compress");
  EXPECT_EQ(metadata->processes.at(0).command, "worker --fast");
  EXPECT_EQ(metadata->labels.at(0).t_ns, SampleSession::TimeOf(5));
  EXPECT_EQ(metadata->real_minus_monotonic_ns, 7);
  int64_t clocks = 0;
  EXPECT_TRUE(source->ReadTable(model::ClockReading::kTable, [&](const model::Batch& batch) {
    clocks += static_cast<int64_t>(batch.rows);
    return true;
  }));
  EXPECT_EQ(clocks, 1);
}

TEST(Recording, ReadsRangesAndColumns) {
  const TempFolder folder;
  const SampleSession session;
  auto writer = MustCreate(At(folder / "a.attune"));
  session.Feed(*writer, 3000);
  ASSERT_TRUE(writer->Flush());
  session.FeedRows(*writer, 3000, 3500);  // these are still in memory
  const model::TimeRange range{SampleSession::TimeOf(2900) + 1, SampleSession::TimeOf(3100)};
  EXPECT_EQ(session.CountRightRows(*writer, range), 199);
  EXPECT_EQ(SampleSession::CountEvents(*writer, range), 399);
  const std::vector<uint32_t> columns{5, 0};
  EXPECT_TRUE(writer->ReadSamples(1, columns, range, [&](const model::SampleBlock& block) {
    const int64_t row = (block.t_ns[0] - SampleSession::kStartNs) / SampleSession::kPeriodNs;
    EXPECT_EQ(block.columns[0][0], session.ValueOf(5, row));
    EXPECT_EQ(block.columns[1][0], session.ValueOf(0, row));
    return false;
  }));
}

TEST(Recording, ReadsATableWithinARange) {
  const TempFolder folder;
  const SampleSession session;
  auto writer = MustCreate(At(folder / "a.attune"));
  for (int64_t second = 0; second < 10; ++second) {
    const model::Message row{.t_ns = SampleSession::kStartNs + second * 1'000'000'000, .rank = 1, .tag = second};
    auto batch = model::ToBatch(std::span(&row, 1));
    batch.sequence = static_cast<uint64_t>(second);
    writer->Consume(std::make_shared<const model::Batch>(std::move(batch)));
    if (second % 2 == 1 || second > 7) continue;  // the last ones are still in memory
    EXPECT_TRUE(writer->Flush());
  }
  const auto tags = [](model::Source& source, model::TimeRange range) {
    std::vector<int64_t> found;
    EXPECT_TRUE(model::ReadTableWithin(source, model::Message::kTable, range, [&](const model::Batch& batch) {
      for (const model::Message& row : model::RowsFrom<model::Message>(batch)) {
        if (row.t_ns >= range.t0_ns && row.t_ns < range.t1_ns) found.push_back(row.tag);
      }
      return true;
    }));
    return found;
  };
  const auto at = [](int64_t second) { return SampleSession::kStartNs + second * 1'000'000'000; };
  EXPECT_THAT(tags(*writer, {at(3), at(6)}), testing::ElementsAre(3, 4, 5));
  EXPECT_THAT(tags(*writer, {at(6) + 1, INT64_MAX}), testing::ElementsAre(7, 8, 9));
  EXPECT_THAT(tags(*writer, {at(20), INT64_MAX}), IsEmpty());
  int64_t batches = 0;
  EXPECT_TRUE(writer->ReadTableWithin(model::Message::kTable, {at(0), at(1)}, [&](const model::Batch&) {
    ++batches;
    return true;
  }));
  EXPECT_EQ(batches, 1) << "the others are not read";
}

TEST(LogWriter, IsReadableWhileItGrows) {
  const TempFolder folder;
  const SampleSession session;
  auto writer = MustCreate(At(folder / "a.attune"));
  auto other = MustOpen(folder / "a.attune");
  EXPECT_TRUE(other->Growing());
  session.Feed(*writer, 100);
  EXPECT_EQ(session.CountRightRows(*writer), 100);  // at once, from memory

  const uint64_t seen = other->Version();
  ASSERT_TRUE(writer->Flush());
  EXPECT_TRUE(other->WaitForNews(seen, std::chrono::seconds(10)));
  EXPECT_EQ(session.CountRightRows(*other), 100);
  EXPECT_THAT(other->Meta()->damage, IsEmpty());

  session.FeedRows(*writer, 100, 150);
  ASSERT_TRUE(writer->Close());
  EXPECT_FALSE(writer->Growing());
  EXPECT_EQ(session.CountRightRows(*writer), 150);
  EXPECT_FALSE(other->Growing());
  EXPECT_EQ(session.CountRightRows(*other), 150);
  EXPECT_THAT(other->Meta()->damage, IsEmpty());
  EXPECT_FALSE(other->WaitForNews(other->Version(), std::chrono::seconds(10)));
}

TEST(LogWriter, FlushesByItself) {
  const TempFolder folder;
  const SampleSession session;
  LogOptions options = At(folder / "a.attune");
  options.flush_ns = 1'000'000;
  auto writer = MustCreate(options);
  auto other = MustOpen(options.path);
  session.Feed(*writer, 100);
  uint64_t seen = 0;
  while (session.CountRightRows(*other) < 100 && other->WaitForNews(seen, std::chrono::seconds(30))) {
    seen = other->Version();
  }
  EXPECT_EQ(session.CountRightRows(*other), 100);
}

TEST(LogWriter, KeepsLittleOfWhatReadersLookedAt) {
  constexpr int64_t kFrames = 6000;
  const TempFolder folder;
  const SampleSession session;
  auto writer = MustCreate(At(folder / "a.attune"));
  session.Feed(*writer, 1);
  for (int64_t row = 1; row < kFrames; ++row) {
    session.FeedRows(*writer, row, row + 1);
    ASSERT_TRUE(writer->Flush());
  }
  const size_t before = mallinfo2().uordblks;
  model::ViewRequest request;
  request.series = {1, 2, 3, 4, 5, 6};
  request.range = writer->Extent();
  request.pixels = 4096;
  ASSERT_EQ((*writer->View(request))[0].t_ns.size(), static_cast<size_t>(kFrames));
  EXPECT_LT(mallinfo2().uordblks, before + (6u << 20)) << "of frames of one row each";
}

TEST(LogWriter, RefusesAnExistingFileUnlessForced) {
  const TempFolder folder;
  const std::string path = folder / "a.attune";
  {
    std::ofstream(path) << "precious";
  }
  const auto refused = LogWriter::Create(At(path));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::kExists);
  EXPECT_THAT(refused.error().hint, HasSubstr("--force"));
  std::string text;
  std::ifstream(path) >> text;
  EXPECT_EQ(text, "precious");

  LogOptions options = At(path);
  options.if_there = IfThere::kReplace;
  auto writer = MustCreate(options);
  SampleSession().Feed(*writer, 10);
  ASSERT_TRUE(writer->Close());
  EXPECT_EQ(SampleSession().CountRightRows(*MustOpen(path)), 10);

  options.path = "/dev/null";
  const auto device = LogWriter::Create(options);
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.error().code, Errc::kInvalidArgument);
}

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

size_t FilesIn(const TempFolder& folder) {
  const std::filesystem::directory_iterator entries(folder / "");
  return static_cast<size_t>(std::distance(begin(entries), end(entries)));
}

TEST(LogWriter, WhatItReplacesStaysUntilItTakesThePlace) {
  const TempFolder folder;
  LogOptions options = At(folder / "a.attune");
  options.if_there = IfThere::kReplace;
  std::ofstream(options.path) << "precious";
  {
    auto writer = MustCreate(options);
    SampleSession().Feed(*writer, 10);
    ASSERT_TRUE(writer->Flush());
    EXPECT_EQ(TextOf(options.path), "precious");
    // Nobody else may replace it meanwhile.
    const auto other = LogWriter::Create(options);
    ASSERT_FALSE(other.ok());
    EXPECT_EQ(other.error().code, Errc::kExists);
    EXPECT_THAT(other.error().hint, HasSubstr("another name"));
    writer->Discard();
    MustCreate(options)->Discard();  // another may now
  }
  EXPECT_EQ(TextOf(options.path), "precious");
  auto writer = MustCreate(options);
  ASSERT_TRUE(writer->TakePlace());
  EXPECT_EQ(LogWriter::Create(options).error().code, Errc::kExists) << "it is being recorded";
  SampleSession().Feed(*writer, 10);
  ASSERT_TRUE(writer->Close());
  EXPECT_EQ(SampleSession().CountRightRows(*MustOpen(options.path)), 10);
  EXPECT_EQ(FilesIn(folder), 1u);
}

TEST(LogWriter, NamesAreClaimedByManyAtOnce) {
  const TempFolder folder;
  LogOptions options = At(folder / "job.1.attune");
  options.if_there = IfThere::kNumber;
  std::vector<std::unique_ptr<LogWriter>> writers(8);
  std::vector<std::thread> threads;
  for (auto& writer : writers) threads.emplace_back([&] { writer = MustCreate(options); });
  for (std::thread& thread : threads) thread.join();
  std::vector<std::string> names;
  for (const auto& writer : writers) names.push_back(std::filesystem::path(writer->path()).filename());
  EXPECT_THAT(names,
              testing::UnorderedElementsAre("job.1.attune", "job.1-2.attune", "job.1-3.attune", "job.1-4.attune",
                                            "job.1-5.attune", "job.1-6.attune", "job.1-7.attune", "job.1-8.attune"));
}

TEST(LogWriter, ExplainsWhyItCannotCreate) {
  const TempFolder folder;
  const auto missing = LogWriter::Create(At(folder / "no/such/a.attune"));
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, Errc::kNotFound);
  EXPECT_THAT(missing.error().message, HasSubstr("no/such/a.attune"));
}

TEST(LogWriter, DeletesATemporaryRecording) {
  const TempFolder folder;
  LogOptions options = At(folder / "a.attune");
  options.temporary = true;
  auto writer = MustCreate(options);
  SampleSession().Feed(*writer, 100);
  ASSERT_TRUE(writer->Close());
  EXPECT_FALSE(std::filesystem::exists(options.path));
  EXPECT_EQ(SampleSession().CountRightRows(*writer), 100);  // its own readers go on
}

TEST(Recording, NamesWhatIsNoRecording) {
  const TempFolder folder;
  const auto code = [&](const std::string& path) {
    const auto source = OpenRecording(path);
    EXPECT_FALSE(source.ok());
    EXPECT_THAT(source.error().message, HasSubstr(path));
    return source.error().code;
  };
  EXPECT_EQ(code(folder / "missing.attune"), Errc::kNotFound);
  EXPECT_EQ(code(folder / ""), Errc::kInvalidArgument);
  {
    std::ofstream(folder / "empty.attune");
  }
  EXPECT_EQ(code(folder / "empty.attune"), Errc::kCorrupt);
  {
    std::ofstream(folder / "foreign.attune") << std::string(100000, 'x');
  }
  EXPECT_EQ(code(folder / "foreign.attune"), Errc::kCorrupt);
}

TEST(Recording, OpensByItsIndex) {
  const TempFolder folder;
  const SampleSession session;
  {
    auto writer = MustCreate(At(folder / "a.attune"));
    for (const auto& batch : session.Metadata()) writer->Consume(batch);
    for (int64_t row = 0; row < 20000; row += 4) {  // more frames than one index frame lists
      session.FeedRows(*writer, row, row + 4);
      ASSERT_TRUE(writer->Flush());
    }
    ASSERT_TRUE(writer->Close());
  }
  OpenOptions by_index;
  by_index.verify_bytes = 0;
  auto source = MustOpen(folder / "a.attune", by_index);
  EXPECT_FALSE(source->Growing());
  EXPECT_THAT(source->Meta()->damage, IsEmpty());
  EXPECT_EQ(source->Meta()->series.size(), 6u);
  EXPECT_EQ(session.CountRightRows(*source), 20000);
  EXPECT_EQ(SampleSession::CountEvents(*source), 40000);
}

}  // namespace
}  // namespace attune::store
