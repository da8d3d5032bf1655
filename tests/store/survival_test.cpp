/// What happens to a recording when the writer is killed, when the disk is full, and when it reaches its largest size.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <atomic>
#include <cstdlib>
#include <random>

#include "sample_data.h"
#include "store/log_writer.h"
#include "store/recording.h"

namespace attune::store {
namespace {

LogOptions LogAt(const std::string& path) {
  LogOptions options;
  options.path = path;
  return options;
}

const model::Gap* FindGap(const model::Metadata& metadata, model::GapReason reason) {
  for (const model::Gap& gap : metadata.gaps) {
    if (gap.reason == reason) return &gap;
  }
  return nullptr;
}

/// Counts in memory that a child shares with its parent.
struct SharedCounts {
  std::atomic<int64_t> created{0}, flushed_rows{0};
};

[[noreturn]] void RecordUntilKilled(const std::string& path, SharedCounts& counts) {
  LogOptions options = LogAt(path);
  options.flush_ns = 1'000'000;
  auto writer = LogWriter::Create(options);
  if (!writer) ::_exit(1);
  const SampleSession session;
  counts.created = 1;
  for (const auto& batch : session.Metadata()) (*writer)->Consume(batch);
  for (int64_t row = 0;; row += 25) {
    session.FeedRows(**writer, row, row + 25);
    if (row % 4 != 0) continue;
    if (!(*writer)->Flush()) ::_exit(1);
    counts.flushed_rows = row + 25;
  }
}

TEST(Killed, KeepsEverythingThatWasFlushed) {
  const char* rounds = std::getenv("ATTUNE_ROUNDS");
  const int kills = rounds != nullptr ? std::atoi(rounds) / 5 : 15;
  void* memory = ::mmap(nullptr, sizeof(SharedCounts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  std::mt19937_64 random(5);
  for (int round = 0; round < kills; ++round) {
    const TempFolder folder;
    auto* counts = new (memory) SharedCounts;
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) RecordUntilKilled(folder / "a.attune", *counts);
    while (counts->created == 0) ::usleep(100);
    ::usleep(static_cast<useconds_t>(random() % 40'000));  // the random moment of the kill
    const int64_t flushed = counts->flushed_rows;
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    auto source = OpenRecording(folder / "a.attune");
    ASSERT_TRUE(source.ok()) << source.error().message;
    EXPECT_FALSE((*source)->Growing());
    EXPECT_GE(SampleSession().CountRightRows(**source), flushed);
    EXPECT_GE(SampleSession::CountEvents(**source), 2 * flushed);
    EXPECT_FALSE((*source)->Meta()->damage.empty());  // it says that the recording was not closed
  }
  ::munmap(memory, sizeof(SharedCounts));
}

/// Feeds until the disk is full and checks what is left of the recording and what a live reader still sees.
void ExpectCleanEnd(const std::string& path, Errc why) {
  auto writer = LogWriter::Create(LogAt(path));
  ASSERT_TRUE(writer.ok()) << writer.error().message;
  const SampleSession session;
  for (const auto& batch : session.Metadata()) (*writer)->Consume(batch);
  int64_t rows = 0;
  while ((*writer)->Flush()) {
    session.FeedRows(**writer, rows, rows + 100);
    rows += 100;
    ASSERT_LT(rows, 10'000'000) << "the disk is never full";
  }
  session.FeedRows(**writer, rows, rows + 100);
  rows += 100;
  EXPECT_EQ((*writer)->state().error().code, why);
  EXPECT_THAT((*writer)->state().error().message, testing::HasSubstr(path));
  EXPECT_EQ(session.CountRightRows(**writer), rows);  // the file and what is still in memory
  EXPECT_FALSE((*writer)->Close());
  const auto live = (*writer)->Meta();
  const model::Gap* gap = FindGap(*live, model::GapReason::kDiskFull);
  ASSERT_NE(gap, nullptr);

  auto source = OpenRecording(path);
  ASSERT_TRUE(source.ok()) << source.error().message;
  const int64_t kept = session.CountRightRows(**source);
  EXPECT_GT(kept, 0);
  EXPECT_LT(kept, rows);
  EXPECT_EQ(kept + SampleSession::CountEvents(**source) + static_cast<int64_t>((*writer)->LostRows()), 3 * rows);
  const auto meta = (*source)->Meta();
  for (const std::string& damage : meta->damage) {
    EXPECT_THAT(damage, testing::Not(testing::HasSubstr("cannot be read")));  // it ends with a whole frame
  }
  EXPECT_LE(gap->t0_ns, SampleSession::TimeOf(kept));
  EXPECT_GE(gap->t1_ns, SampleSession::TimeOf(rows - 1));
}

TEST(FullDisk, AFileSizeLimitEndsTheRecordingCleanly) {
  const TempFolder folder;
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit limit = before;
  limit.rlim_cur = 100'000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  ExpectCleanEnd(folder / "a.attune", Errc::kTooLarge);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
}

TEST(FullDisk, AFullFileSystemEndsTheRecordingCleanly) {
  const TempFolder folder;
  const std::string mount = folder / "";
  if (::mount("tmpfs", mount.c_str(), "tmpfs", 0, "size=256k") != 0) GTEST_SKIP() << "mounting a tmpfs needs root";
  ExpectCleanEnd(folder / "a.attune", Errc::kNoSpace);
  EXPECT_EQ(::umount2(mount.c_str(), MNT_DETACH), 0);
}

/// A session whose values do not compress.
struct NoisySession {
  int64_t rows = 0;

  static int64_t Noise(int64_t row) {  // splitmix64
    uint64_t z = static_cast<uint64_t>(row) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<int64_t>(z ^ (z >> 31));
  }

  void Feed(LogWriter& writer, int64_t count) {
    model::Batch batch;
    batch.table = model::Sample::kTable;
    batch.stream = SampleSession::kStream;
    batch.rows = static_cast<size_t>(count);
    batch.ints.resize(2);
    for (int64_t i = 0; i < count; ++i, ++rows) {
      batch.ints[0].push_back(SampleSession::TimeOf(rows));
      batch.ints[1].push_back(Noise(rows));
    }
    writer.Consume(std::make_shared<const model::Batch>(std::move(batch)));
  }

  static int64_t Count(model::Source& source, int64_t& first_row) {
    int64_t count = 0;
    first_row = -1;
    const uint32_t column = 0;
    EXPECT_TRUE(source.ReadSamples(1, {&column, 1}, SampleSession::kAll, [&](const model::SampleBlock& block) {
      for (size_t i = 0; i < block.t_ns.size(); ++i, ++count) {
        const int64_t row = (block.t_ns[i] - SampleSession::kStartNs) / SampleSession::kPeriodNs;
        if (first_row < 0) first_row = row;
        EXPECT_EQ(row, first_row + count);
        EXPECT_EQ(block.columns[0][i], Noise(row));
      }
      return true;
    }));
    return count;
  }
};

TEST(Rolling, KeepsTheNewestAndTheBound) {
  const TempFolder folder;
  LogOptions options = LogAt(folder / "a.attune");
  options.max_bytes = 1u << 20;
  auto created = LogWriter::Create(options);
  ASSERT_TRUE(created.ok());
  LogWriter& writer = **created;
  SampleSession one;
  one.counters = 0;
  one.gauges = 1;
  for (const auto& batch : one.Metadata()) writer.Consume(batch);
  writer.Consume(std::make_shared<const model::Batch>(model::ToBatch(SampleSession::Sites())));
  auto other = OpenRecording(options.path);
  ASSERT_TRUE(other.ok());
  NoisySession session;
  for (int round = 0; round < 400; ++round) {
    session.Feed(writer, 1000);
    ASSERT_TRUE(writer.Flush()) << writer.state().error().message;
    ASSERT_LE(std::filesystem::file_size(options.path), options.max_bytes);
  }
  session.Feed(writer, 10);
  const auto check = [&](model::Source& source) {
    int64_t first_row = 0;
    const int64_t count = NoisySession::Count(source, first_row);
    EXPECT_GT(count, 20'000);
    EXPECT_EQ(first_row + count, session.rows);
    const auto metadata = source.Meta();
    EXPECT_EQ(metadata->series.size(), 1u);
    EXPECT_EQ(metadata->labels.size(), 1u);
    EXPECT_EQ(metadata->processes.size(), 1u);
    EXPECT_EQ(metadata->sites, SampleSession::Sites());
    EXPECT_EQ(metadata->real_minus_monotonic_ns, 7);
    ASSERT_EQ(metadata->gaps.size(), 1u);
    EXPECT_EQ(metadata->gaps[0].reason, model::GapReason::kRolled);
    EXPECT_EQ(metadata->gaps[0].t0_ns, SampleSession::TimeOf(0));
    EXPECT_EQ(metadata->gaps[0].t1_ns, SampleSession::TimeOf(first_row));
    EXPECT_EQ(metadata->gaps[0].count, first_row);
    EXPECT_EQ(source.Extent().t0_ns, SampleSession::TimeOf(first_row));
    const auto view = source.View({{1}, SampleSession::kAll, 100});
    ASSERT_TRUE(view.ok());
    int64_t in_view = 0;
    for (const int64_t rows : view->at(0).count) in_view += rows;
    EXPECT_EQ(in_view, count);
    EXPECT_TRUE(metadata->damage.empty());
  };
  check(writer);
  EXPECT_TRUE(writer.Close());
  EXPECT_LE(std::filesystem::file_size(options.path), options.max_bytes);
  check(writer);
  EXPECT_FALSE((*other)->Growing());  // it has followed the file from one rewriting to the next
  check(**other);
  auto closed = OpenRecording(options.path);
  ASSERT_TRUE(closed.ok());
  check(**closed);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(std::filesystem::path(options.path).parent_path()), {}),
            1);
}

}  // namespace
}  // namespace attune::store
