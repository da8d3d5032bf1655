/// Recordings that were cut short or have flipped bits: everything else is read, and the loss is named.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>

#include "model/codec.h"
#include "sample_data.h"
#include "store/log_writer.h"
#include "store/recording.h"

namespace attune::store {
namespace {

/// More with ATTUNE_ROUNDS, which `./dev test --full` sets.
int Rounds() {
  const char* rounds = std::getenv("ATTUNE_ROUNDS");
  return rounds != nullptr ? std::atoi(rounds) : 150;
}

constexpr int64_t kRowsOfFile = 1500;

SampleSession Session() {
  SampleSession session;
  session.counters = 2;
  session.gauges = 1;
  return session;
}

struct WholeFrame {
  size_t begin, end;
  wire::FrameHeader header;
};

/// A good recording in memory, and where its frames are.
class DamageTest : public testing::Test {
 protected:
  void SetUp() override {
    LogOptions options;
    options.path = folder_ / "good.attune";
    auto writer = LogWriter::Create(options);
    ASSERT_TRUE(writer.ok());
    const SampleSession session = Session();
    for (const auto& batch : session.Metadata()) (*writer)->Consume(batch);
    for (int64_t row = 0; row < kRowsOfFile; row += 50) {
      session.FeedRows(**writer, row, row + 50);
      ASSERT_TRUE((*writer)->Flush());
    }
    ASSERT_TRUE((*writer)->Close());
    std::stringstream bytes;
    bytes << std::ifstream(options.path, std::ios::binary).rdbuf();
    good_ = bytes.str();
    for (size_t at = 0; at < good_.size();) {
      const auto header = model::ParseHeader(std::span(good_).subspan(at));
      ASSERT_TRUE(header.ok());
      const size_t end = at + sizeof(wire::FrameHeader) + header->payload_bytes;
      frames_.push_back({at, end, *header});
      at = end;
    }
    ASSERT_GT(frames_.size(), 60u);
  }

  Result<std::unique_ptr<model::Source>> OpenBytes(const std::string& bytes, const OpenOptions& options = {}) {
    const std::string path = folder_ / "bad.attune";
    {
      std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    }
    return OpenRecording(path, options);
  }

  /// Rows of a table in the frames that `keep` keeps.
  template <class Keep>
  int64_t RowsOf(model::Table table, const Keep& keep) const {
    int64_t rows = 0;
    for (const WholeFrame& frame : frames_) {
      if (frame.header.table == static_cast<uint16_t>(table) && keep(frame)) rows += frame.header.rows;
    }
    return rows;
  }

  /// Checks that exactly the rows of the kept frames are there, with their values, and that views add up.
  template <class Keep>
  void ExpectRows(model::Source& source, const Keep& keep) {
    const int64_t samples = RowsOf(model::Sample::kTable, keep);
    EXPECT_EQ(Session().CountRightRows(source), samples);
    EXPECT_EQ(SampleSession::CountEvents(source), RowsOf(model::Event::kTable, keep));
    if (source.Meta()->streams.empty() || source.Meta()->series.empty()) return;
    const auto view = source.View({{1}, source.Extent(), 5000});
    ASSERT_TRUE(view.ok()) << view.error().message;
    EXPECT_EQ(static_cast<int64_t>(view->at(0).t_ns.size()), samples);
  }

  const TempFolder folder_;
  std::string good_;
  std::vector<WholeFrame> frames_;
};

TEST_F(DamageTest, CutAtRandomPlaces) {
  std::mt19937_64 random(11);
  for (int round = 0; round < Rounds(); ++round) {
    const size_t cut = random() % good_.size();
    SCOPED_TRACE(cut);
    const auto source = OpenBytes(good_.substr(0, cut));
    if (cut < frames_[0].end) {
      EXPECT_FALSE(source.ok());
      continue;
    }
    ASSERT_TRUE(source.ok()) << source.error().message;
    EXPECT_FALSE((*source)->Growing());
    EXPECT_FALSE((*source)->Meta()->damage.empty());
    ExpectRows(**source, [&](const WholeFrame& frame) { return frame.end <= cut; });
  }
}

TEST_F(DamageTest, FlippedBytes) {
  std::mt19937_64 random(12);
  for (int round = 0; round < Rounds(); ++round) {
    const size_t at = random() % good_.size();
    SCOPED_TRACE(at);
    std::string bytes = good_;
    bytes[at] = static_cast<char>(bytes[at] ^ static_cast<char>(1 + random() % 255));
    const auto source = OpenBytes(bytes);
    ASSERT_TRUE(source.ok()) << source.error().message;
    EXPECT_FALSE((*source)->Growing());
    ExpectRows(**source, [&](const WholeFrame& frame) { return at < frame.begin || at >= frame.end; });
    EXPECT_FALSE((*source)->Meta()->damage.empty());
  }
}

TEST_F(DamageTest, FlippedBytesOfAFileTooLargeToCheck) {
  OpenOptions by_index;
  by_index.verify_bytes = 0;
  std::mt19937_64 random(13);
  for (int round = 0; round < Rounds(); ++round) {
    const size_t at = random() % good_.size();
    SCOPED_TRACE(at);
    std::string bytes = good_;
    bytes[at] = static_cast<char>(bytes[at] ^ static_cast<char>(1 + random() % 255));
    const auto source = OpenBytes(bytes, by_index);
    ASSERT_TRUE(source.ok()) << source.error().message;
    ExpectRows(**source, [&](const WholeFrame& frame) { return at < frame.begin || at >= frame.end; });
  }
}

TEST_F(DamageTest, AHoleIsNamedWithOffsetBytesAndTime) {
  const auto hit = std::find_if(frames_.begin() + 40, frames_.end(), [](const WholeFrame& frame) {
    return frame.header.table == static_cast<uint16_t>(model::Sample::kTable);
  });
  std::string bytes = good_;
  std::fill(bytes.begin() + static_cast<ptrdiff_t>(hit->begin), bytes.begin() + static_cast<ptrdiff_t>(hit->end), 'x');
  const auto source = OpenBytes(bytes);
  ASSERT_TRUE(source.ok());
  const auto metadata = (*source)->Meta();
  ASSERT_EQ(metadata->damage.size(), 1u);
  EXPECT_THAT(metadata->damage[0], testing::HasSubstr(std::to_string(hit->begin)));
  EXPECT_THAT(metadata->damage[0], testing::HasSubstr(std::to_string(hit->end - hit->begin) + " bytes"));
  ASSERT_EQ(metadata->gaps.size(), 1u);
  EXPECT_EQ(metadata->gaps[0].reason, model::GapReason::kDamaged);
  EXPECT_LE(metadata->gaps[0].t0_ns, hit->header.last_ns);
  EXPECT_GE(metadata->gaps[0].t1_ns, hit->header.first_ns);
}

TEST_F(DamageTest, DamageFoundWhileReadingIsNamedOnce) {
  OpenOptions by_index;
  by_index.verify_bytes = 0;
  const auto hit = std::find_if(frames_.begin() + 40, frames_.end(), [](const WholeFrame& frame) {
    return frame.header.table == static_cast<uint16_t>(model::Sample::kTable);
  });
  std::string bytes = good_;
  bytes[hit->end - 1] = static_cast<char>(bytes[hit->end - 1] ^ 1);
  const auto source = OpenBytes(bytes, by_index);
  ASSERT_TRUE(source.ok());
  EXPECT_TRUE((*source)->Meta()->damage.empty());  // the index was believed
  const uint64_t version = (*source)->Version();
  EXPECT_EQ(Session().CountRightRows(**source), kRowsOfFile - hit->header.rows);
  EXPECT_EQ(Session().CountRightRows(**source), kRowsOfFile - hit->header.rows);
  EXPECT_EQ((*source)->Meta()->damage.size(), 1u);
  EXPECT_GT((*source)->Version(), version);
}

TEST_F(DamageTest, ANewerVersionIsSaidToBeOne) {
  std::string bytes = good_;
  for (const WholeFrame& frame : frames_) bytes[frame.begin + 4] = 9;
  const auto source = OpenBytes(bytes);
  ASSERT_FALSE(source.ok());
  EXPECT_EQ(source.error().code, Errc::kUnavailable);
}

}  // namespace
}  // namespace attune::store
