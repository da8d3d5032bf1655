/// A disk without room, for a while or for ever, and a file that may not grow beyond a size. The writes of this program
/// go through a disk of its own making.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>

#include "sample_data.h"
#include "store/log_writer.h"
#include "store/recording.h"

namespace {

constexpr int64_t kPlenty = INT64_MAX / 2;
/// Bytes that can be written before the disk is full.
std::atomic<int64_t> room{kPlenty};
/// The largest size that any file has had.
std::atomic<int64_t> largest_file{0};

}  // namespace

/// Takes the place of the C library's.
extern "C" ssize_t pwrite(int fd, const void* data, size_t bytes, off_t offset) {
  const auto wanted = static_cast<int64_t>(bytes);
  if (wanted > 0 && room <= 0) {
    errno = ENOSPC;
    return -1;
  }
  const int64_t count = std::min<int64_t>(wanted, room);
  room -= count;
  largest_file = std::max<int64_t>(largest_file, offset + count);
  return ::syscall(SYS_pwrite64, fd, data, static_cast<size_t>(count), offset);
}

namespace attune::store {
namespace {

using namespace std::chrono_literals;

class FullDiskTest : public testing::Test {
 protected:
  FullDiskTest() {
    room = kPlenty;
    largest_file = 0;
    options_.path = folder_ / "a.attune";
  }
  ~FullDiskTest() override { room = kPlenty; }

  void Create() {
    auto created = LogWriter::Create(options_);
    ASSERT_TRUE(created.ok()) << created.error().message;
    writer_ = *std::move(created);
    for (const auto& batch : session_.Metadata()) writer_->Consume(batch);
  }

  static std::vector<model::Gap> Gaps(model::Source& source) {
    std::vector<model::Gap> gaps;
    const auto meta = source.Meta();
    for (const model::Gap& gap : meta->gaps) {
      if (gap.reason == model::GapReason::kDiskFull) gaps.push_back(gap);
    }
    return gaps;
  }

  const TempFolder folder_;
  const SampleSession session_;
  LogOptions options_;
  std::unique_ptr<LogWriter> writer_;
};

TEST_F(FullDiskTest, TheRecordingGoesOnWhenThereIsRoom) {
  Create();
  session_.FeedRows(*writer_, 0, 1000);
  ASSERT_TRUE(writer_->Flush());
  const uint64_t whole = std::filesystem::file_size(options_.path);
  room = 100;  // a part of a frame
  session_.FeedRows(*writer_, 1000, 2000);
  EXPECT_EQ(writer_->Flush().error().code, Errc::kNoSpace);
  session_.FeedRows(*writer_, 2000, 3000);
  EXPECT_EQ(writer_->Flush().error().code, Errc::kNoSpace);
  EXPECT_EQ(std::filesystem::file_size(options_.path), whole);
  EXPECT_EQ(session_.CountRightRows(*writer_), 3000);
  ASSERT_TRUE(writer_->LastDiskFull());
  EXPECT_EQ(writer_->LastDiskFull()->until_ns, 0);
  auto other = OpenRecording(options_.path);
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(session_.CountRightRows(**other), 1000);

  room = kPlenty;
  EXPECT_TRUE(writer_->Flush());
  session_.FeedRows(*writer_, 3000, 4000);
  EXPECT_TRUE(writer_->Close());
  EXPECT_EQ(session_.CountRightRows(**other), 4000);  // one who followed the file all the time
  const DiskFull full = *writer_->LastDiskFull();
  EXPECT_GT(full.until_ns, full.since_ns);
  EXPECT_EQ(full.lost_rows, 0);
  EXPECT_EQ(writer_->LostRows(), 0u);
  auto source = OpenRecording(options_.path);
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(session_.CountRightRows(**source), 4000);
  EXPECT_EQ(SampleSession::CountEvents(**source), 8000);
  EXPECT_THAT((*source)->Meta()->damage, testing::IsEmpty());
  const std::vector<model::Gap> expected{{0, full.since_ns, full.until_ns, 0, model::GapReason::kDiskFull}};
  EXPECT_EQ(Gaps(**source), expected);
  EXPECT_EQ(Gaps(*writer_), expected);
}

TEST_F(FullDiskTest, ItIsTriedAgainWithoutNewRows) {
  options_.flush_ns = 1'000'000;
  Create();
  room = 0;
  session_.FeedRows(*writer_, 0, 100);
  while (!writer_->LastDiskFull()) writer_->WaitForNews(writer_->Version(), 1ms);
  room = kPlenty;
  while (writer_->LastDiskFull()->until_ns == 0) writer_->WaitForNews(writer_->Version(), 1ms);
  // The rows that did not wait for room yet are written by the next flush.
  int64_t rows = 0;
  while (rows < 100) {
    writer_->WaitForNews(writer_->Version(), 1ms);
    auto source = OpenRecording(options_.path);
    ASSERT_TRUE(source.ok());
    rows = session_.CountRightRows(**source);
  }
  EXPECT_EQ(rows, 100);
}

TEST_F(FullDiskTest, BeyondABoundTheOldestRowsAreGivenUpAndDefinitionsAreNot) {
  options_.max_waiting_cells = 50'000;
  options_.flush_ns = 1'000'000;
  Create();
  ASSERT_TRUE(writer_->Flush());
  room = 0;
  for (int64_t row = 0; row < 10'000; row += 100) {
    session_.FeedRows(*writer_, row, row + 100, 100);
    const model::Label label{SampleSession::TimeOf(row), "label"};
    writer_->Consume(std::make_shared<const model::Batch>(model::ToBatch(std::span(&label, 1))));
  }
  EXPECT_FALSE(writer_->Flush());
  room = kPlenty;
  EXPECT_TRUE(writer_->Flush());
  EXPECT_TRUE(writer_->Close());
  auto source = OpenRecording(options_.path);
  ASSERT_TRUE(source.ok());
  const int64_t kept = session_.CountRightRows(**source) + SampleSession::CountEvents(**source);
  EXPECT_GT(kept, 5'000);
  EXPECT_EQ(kept + static_cast<int64_t>(writer_->LostRows()), 30'000);
  EXPECT_EQ(session_.CountRightRows(**source, {SampleSession::TimeOf(9'000), INT64_MAX}), 1'000);  // the newest
  EXPECT_EQ((*source)->Meta()->labels.size(), 101u);
  const std::vector<model::Gap> gaps = Gaps(**source);
  ASSERT_EQ(gaps.size(), 1u);
  EXPECT_EQ(gaps[0].count, static_cast<int64_t>(writer_->LostRows()));
  EXPECT_EQ(gaps[0].count, writer_->LastDiskFull()->lost_rows);
}

TEST_F(FullDiskTest, ADiskThatStaysFullEndsTheRecordingAtItsClose) {
  Create();
  session_.FeedRows(*writer_, 0, 1000);
  ASSERT_TRUE(writer_->Flush());
  room = 0;
  session_.FeedRows(*writer_, 1000, 1100);
  EXPECT_EQ(writer_->Close().error().code, Errc::kNoSpace);
  EXPECT_EQ(writer_->LostRows(), 300u);
  auto source = OpenRecording(options_.path);
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(session_.CountRightRows(**source), 1000);
}

/// Many streams whose values do not compress.
class Load {
 public:
  static constexpr model::StreamId kStreams = 20;
  static constexpr size_t kColumns = 8;

  static std::vector<model::Batch> Metadata() {
    std::vector<model::Series> series;
    std::vector<model::Stream> streams;
    for (model::StreamId id = 1; id <= kStreams; ++id) {
      model::Stream& stream = streams.emplace_back(model::Stream{id, 1'000'000, {}});
      for (size_t i = 0; i < kColumns; ++i) {
        const auto number = static_cast<model::SeriesId>(series.size() + 1);
        series.push_back({number, 1, model::SeriesKind::kGauge, 0, model::kAbsent, "load", std::to_string(number), ""});
        stream.series.push_back(number);
      }
    }
    return {model::ToBatch(series), model::ToBatch(streams)};
  }

  model::BatchPtr Next(model::StreamId stream, size_t rows) {
    model::Batch batch;
    batch.table = model::Sample::kTable;
    batch.stream = stream;
    batch.rows = rows;
    batch.ints.resize(kColumns + 1);
    for (size_t row = 0; row < rows; ++row) {
      batch.ints[0].push_back(SampleSession::TimeOf(next_row_++));
      for (size_t i = 1; i <= kColumns; ++i) batch.ints[i].push_back(Noise());
    }
    return std::make_shared<const model::Batch>(std::move(batch));
  }
  int64_t rows() const { return next_row_; }

 private:
  int64_t Noise() {  // xorshift
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<int64_t>(state_ | 1);
  }

  int64_t next_row_ = 0;
  uint64_t state_ = 88172645463325252u;
};

TEST_F(FullDiskTest, ALargestSizeIsNeverExceededWhateverComes) {
  for (const uint64_t max_bytes : {256u << 10, 1u << 20}) {
    SCOPED_TRACE(max_bytes);
    largest_file = 0;
    options_.path = folder_ / std::to_string(max_bytes);
    options_.max_bytes = max_bytes;
    options_.flush_ns = 1'000'000;
    Create();
    Load load;
    for (model::Batch& batch : Load::Metadata()) {
      writer_->Consume(std::make_shared<const model::Batch>(std::move(batch)));
    }
    for (int round = 0; round < 16; ++round) {
      for (model::StreamId stream = 1; stream <= Load::kStreams; ++stream) {
        // Once all at a time, once row by row, as events of a program that starts to wait.
        writer_->Consume(load.Next(stream, round % 2 == 0 ? 2000 : 3));
        const model::Gap gap{stream, load.rows(), load.rows() + 1, 1, model::GapReason::kMissed};
        writer_->Consume(std::make_shared<const model::Batch>(model::ToBatch(std::span(&gap, 1))));
      }
      if (round % 2 == 1) {
        ASSERT_TRUE(writer_->Flush()) << writer_->state().error().message;
      }
    }
    writer_->Consume(load.Next(1, 1));
    ASSERT_TRUE(writer_->Close()) << writer_->state().error().message;
    EXPECT_LE(largest_file, static_cast<int64_t>(max_bytes));
    auto source = OpenRecording(options_.path);
    ASSERT_TRUE(source.ok());
    const auto meta = (*source)->Meta();
    EXPECT_THAT(meta->damage, testing::IsEmpty());
    EXPECT_EQ(meta->series.size(), Load::kStreams * Load::kColumns);
    EXPECT_EQ((*source)->Extent().t1_ns, SampleSession::TimeOf(load.rows() - 1) + 1);  // it holds the last part
    int64_t kept = 0;
    for (model::StreamId stream = 1; stream <= Load::kStreams; ++stream) {
      EXPECT_TRUE((*source)->ReadSamples(stream, {}, SampleSession::kAll, [&](const model::SampleBlock& block) {
        kept += static_cast<int64_t>(block.t_ns.size());
        return true;
      }));
    }
    int64_t given_up = 0;
    int64_t missed = 0;
    for (const model::Gap& gap : meta->gaps) {
      if (gap.reason == model::GapReason::kRolled) given_up += gap.count;
      if (gap.reason == model::GapReason::kMissed) missed += gap.count;
    }
    EXPECT_EQ(missed, 16 * Load::kStreams);
    EXPECT_LT(meta->gaps.size(), 400u);
    EXPECT_GT(kept * static_cast<int64_t>(sizeof(int64_t) * Load::kColumns), static_cast<int64_t>(max_bytes) / 8);
    EXPECT_EQ(kept + given_up, load.rows());
  }
}

TEST_F(FullDiskTest, ALargestSizeThatIsTooSmallNamesTheLeastThatWorks) {
  options_.max_bytes = 8 << 10;
  Create();
  const Status refused = writer_->CheckMaxBytes();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kInvalidArgument);
  EXPECT_EQ(refused.error().hint, "give --max-size at least 64kB");
  session_.FeedRows(*writer_, 0, 10'000);  // so that it is written anew
  writer_->Discard();
  static_cast<void>(writer_->Close());
  EXPECT_FALSE(std::filesystem::exists(options_.path));
  options_.max_bytes = 64 << 10;
  options_.path += "2";
  Create();
  EXPECT_TRUE(writer_->CheckMaxBytes());
}

/// A program of which ever more is to be said.
TEST_F(FullDiskTest, DefinitionsThatOutgrowALargestSizeEndTheRecording) {
  options_.max_bytes = 64 << 10;
  Create();
  std::string text(1000, ' ');
  model::ElementId id = 10;
  while (writer_->Flush()) {
    ASSERT_LT(id, 10'000u);
    std::ranges::generate(text,
                          [state = id]() mutable { return static_cast<char>(state = state * 48271 % 0x7fffffff); });
    const model::Element element{id++, 1, model::ElementKind::kRegion, 0, 0, 0, "", text};
    writer_->Consume(std::make_shared<const model::Batch>(model::ToBatch(std::span(&element, 1))));
    session_.FeedRows(*writer_, id * 10, id * 10 + 10);
  }
  EXPECT_EQ(writer_->state().error().code, Errc::kTooLarge);
  EXPECT_THAT(writer_->state().error().hint, testing::StartsWith("give --max-size at least"));
  EXPECT_FALSE(writer_->Close());
  EXPECT_LE(largest_file, 64 << 10);
  auto source = OpenRecording(options_.path);
  ASSERT_TRUE(source.ok());
  EXPECT_GT(session_.CountRightRows(**source), 0);
}

}  // namespace
}  // namespace attune::store
