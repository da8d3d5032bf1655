#include "live/feed.h"
#include "base/clock.h"

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <numeric>

#include "model/codec.h"
#include "synthetic_source.h"

namespace attune::live {
namespace {

using model::Table;
using testing::Each;
using testing::SizeIs;

struct Decoded {
  std::map<std::string, std::string> envelope;
  std::vector<model::Batch> frames;
  const model::Batch* Find(Table table, uint32_t stream = 0) const {
    for (const auto& batch : frames) {
      if (batch.table == table && (stream == 0 || batch.stream == stream)) return &batch;
    }
    return nullptr;
  }
};

Decoded Decode(std::string_view bytes) {
  Decoded decoded;
  while (!bytes.empty()) {
    const auto header = model::ParseHeader(bytes);
    EXPECT_TRUE(header.ok());
    const size_t size = sizeof(wire::FrameHeader) + header->payload_bytes;
    auto batch = model::DecodeFrame(bytes.substr(0, size));
    EXPECT_TRUE(batch.ok());
    if (decoded.envelope.empty()) {
      for (size_t i = 0; i < batch->rows; ++i) decoded.envelope[batch->texts[0][i]] = batch->texts[1][i];
    } else {
      decoded.frames.push_back(*std::move(batch));
    }
    bytes.remove_prefix(size);
  }
  return decoded;
}

/// A page: keeps the points of each series as docs/live.md says.
class Page {
 public:
  void Take(const Decoded& message) {
    for (const model::Batch& batch : message.frames) {
      if (batch.table != model::ViewRow::kTable) continue;
      auto& points = points_[batch.stream];
      const int64_t from_ns = batch.rows > 0 ? batch.ints[1][0] : model::kAbsent;
      points.erase(from_ns == model::kAbsent ? points.begin() : points.lower_bound(from_ns), points.end());
      for (size_t i = 0; i < batch.rows; ++i) points[batch.ints[0][i]] = batch.ints[3][i];
    }
  }
  int64_t Count(uint32_t series) const {
    int64_t sum = 0;
    if (const auto found = points_.find(series); found != points_.end()) {
      for (const auto& [t_ns, count] : found->second) sum += count;
    }
    return sum;
  }
  size_t Points(uint32_t series) const { return points_.at(series).size(); }
  int64_t LastStart(uint32_t series) const { return points_.at(series).rbegin()->first; }

 private:
  std::map<uint32_t, std::map<int64_t, int64_t>> points_;
};

class FeedTest : public testing::Test {
 protected:
  Decoded Next(Feed& feed) {
    const auto message = feed.Next();
    EXPECT_TRUE(message.has_value());
    return message ? Decode(*message) : Decoded{};
  }
  ViewSpec Follow(std::vector<model::SeriesId> series, int64_t length_ns, uint32_t pixels = 100) {
    ViewSpec view;
    view.id = ++view_id_;
    view.series = std::move(series);
    view.follow_ns = length_ns;
    view.pixels = pixels;
    return view;
  }
  ViewSpec Fixed(std::vector<model::SeriesId> series, int64_t t0_ns, int64_t t1_ns, uint32_t pixels = 100) {
    ViewSpec view = Follow(std::move(series), 0, pixels);
    view.range = {t0_ns, t1_ns};
    return view;
  }

  SyntheticSource source_;
  FeedContext context_{.source = source_, .session = "s", .origin_ns = source_.start_ns(), .title = "title"};
  const model::SeriesId cpu_ = source_.Find("user", "cpu1");
  const model::SeriesId memory_ = source_.Find("free_memory", "synthetic");
  uint64_t view_id_ = 0;
};

TEST_F(FeedTest, HelloNamesTheSession) {
  const Decoded hello = Decode(Feed::Hello(context_));
  EXPECT_EQ(hello.envelope.at("message"), "hello");
  EXPECT_EQ(hello.envelope.at("session"), "s");
  EXPECT_EQ(hello.envelope.at("title"), "title");
  EXPECT_EQ(hello.envelope.at("origin_ns"), std::to_string(source_.start_ns()));
}

TEST_F(FeedTest, SendsMetadataOnceAndThenOnlyWhatChanged) {
  Feed feed(context_);
  const Decoded first = Next(feed);
  ASSERT_NE(first.Find(model::Series::kTable), nullptr);
  EXPECT_EQ(first.Find(model::Series::kTable)->rows, source_.Meta()->series.size());
  EXPECT_EQ(first.Find(model::Element::kTable)->rows, source_.Meta()->elements.size());
  EXPECT_EQ(first.envelope.at("info.host"), "synthetic");
  EXPECT_FALSE(feed.Next()) << "nothing changed";

  const auto process = source_.StartProcess(0, 77, "xz");
  const Decoded second = Next(feed);
  EXPECT_EQ(second.Find(model::Series::kTable), nullptr);
  ASSERT_NE(second.Find(model::Process::kTable), nullptr);
  EXPECT_EQ(second.Find(model::Process::kTable)->rows, 1u);
  source_.EndProcess(process, 3, 0);
  const auto ended = model::RowsFrom<model::Process>(*Next(feed).Find(model::Process::kTable));
  ASSERT_THAT(ended, SizeIs(1));
  EXPECT_EQ(ended[0].exit_code, 3);
}

TEST_F(FeedTest, ResumesMetadataFromARevision) {
  Feed before(context_);
  const auto revision = std::stoull(Next(before).envelope.at("revision"));
  source_.AddLabel(source_.now_ns(), "meanwhile");
  Feed after(context_);
  after.Resume(revision);
  const Decoded message = Next(after);
  EXPECT_EQ(message.Find(model::Series::kTable), nullptr);
  ASSERT_NE(message.Find(model::Label::kTable), nullptr);
  EXPECT_EQ(model::RowsFrom<model::Label>(*message.Find(model::Label::kTable))[0].text, "meanwhile");

  Feed foreign(context_);
  foreign.Resume(revision + 1000);
  EXPECT_NE(Next(foreign).Find(model::Series::kTable), nullptr) << "a revision that never was starts over";
}

TEST_F(FeedTest, SendsAlarmsWhenAnyChanged) {
  Feed feed(context_);
  EXPECT_EQ(Next(feed).Find(model::Alarm::kTable)->rows, 0u);
  model::Alarm alarm;
  alarm.t_ns = source_.now_ns();
  alarm.id = 1;
  alarm.alarm = "storage.space";
  alarm.text = "4.5 % of / are free";
  source_.AddAlarm(alarm);
  const Decoded raised = Next(feed);
  EXPECT_EQ(raised.Find(model::Label::kTable), nullptr) << "no label changed";
  ASSERT_NE(raised.Find(model::Alarm::kTable), nullptr);
  EXPECT_THAT(model::RowsFrom<model::Alarm>(*raised.Find(model::Alarm::kTable)), testing::ElementsAre(alarm));

  model::Alarm cleared = alarm;
  cleared.state = model::AlarmState::kCleared;
  cleared.t_ns += kSecondNs;
  source_.AddAlarm(cleared);
  EXPECT_THAT(model::RowsFrom<model::Alarm>(*Next(feed).Find(model::Alarm::kTable)),
              testing::ElementsAre(alarm, cleared));
}

TEST_F(FeedTest, CountsAddUpWhileFollowing) {
  source_.AdvanceBy(3 * kSecondNs);
  Feed feed(context_);
  Page page;
  feed.SetView(Follow({cpu_, memory_}, 3600 * kSecondNs));
  page.Take(Next(feed));
  for (const int64_t step_ms : {1, 10, 33, 250, 7, 2000, 15, 999, 60'000, 5}) {
    source_.AdvanceBy(step_ms * 1'000'000);
    if (const auto message = feed.Next()) page.Take(Decode(*message));
    const model::TimeRange all{source_.start_ns(), source_.now_ns()};
    EXPECT_EQ(page.Count(cpu_), static_cast<int64_t>(source_.CountSamples(cpu_, all)));
    EXPECT_EQ(page.Count(memory_), static_cast<int64_t>(source_.CountSamples(memory_, all)));
  }
}

TEST_F(FeedTest, PointsThatTheClientHasDoNotComeAgain) {
  source_.AdvanceBy(3 * kSecondNs + kSecondNs / 20);
  Feed feed(context_);
  feed.SetView(Follow({cpu_, memory_}, 10 * kSecondNs));
  EXPECT_NE(Next(feed).Find(model::ViewRow::kTable), nullptr);
  source_.AddLabel(source_.now_ns() - kSecondNs, "nothing else");
  const Decoded label = Next(feed);
  EXPECT_NE(label.Find(model::Label::kTable), nullptr);
  EXPECT_EQ(label.Find(model::ViewRow::kTable), nullptr);
  source_.AdvanceBy(kSecondNs / 100);
  const Decoded more = Next(feed);
  EXPECT_NE(more.Find(model::ViewRow::kTable, cpu_), nullptr);
  EXPECT_EQ(more.Find(model::ViewRow::kTable, memory_), nullptr);
}

TEST_F(FeedTest, ManySmallUpdatesLeaveABoundedNumberOfPoints) {
  Feed feed(context_);
  Page page;
  feed.SetView(Follow({cpu_}, 10 * kSecondNs, 50));
  page.Take(Next(feed));
  for (int i = 0; i < 1000; ++i) {
    source_.AdvanceBy(kSecondNs / 100);
    page.Take(Next(feed));
  }
  EXPECT_EQ(page.Count(cpu_), 1000);
  EXPECT_LE(page.Points(cpu_), 50u * 4);
}

TEST_F(FeedTest, AClientThatWasAwayCatchesUpWithOneMessage) {
  source_.AdvanceBy(5 * kSecondNs);
  Feed feed(context_);
  Page page;
  feed.SetView(Follow({cpu_}, 60 * kSecondNs));
  page.Take(Next(feed));
  for (int i = 0; i < 100; ++i) source_.AdvanceBy(kSecondNs / 10);
  page.Take(Next(feed));
  EXPECT_EQ(page.Count(cpu_), static_cast<int64_t>(source_.CountSamples(cpu_, {source_.start_ns(), source_.now_ns()})));
  EXPECT_FALSE(feed.Next());
}

TEST_F(FeedTest, AReconnectContinuesWithoutAGap) {
  source_.AdvanceBy(20 * kSecondNs);
  Page page;
  Feed before(context_);
  before.SetView(Follow({cpu_}, 600 * kSecondNs));
  page.Take(Next(before));
  source_.AdvanceBy(7 * kSecondNs);

  Feed after(context_);
  ViewSpec view = Follow({cpu_}, 600 * kSecondNs);
  view.have = {page.LastStart(cpu_) - source_.start_ns()};
  after.SetView(view);
  const Decoded message = Next(after);
  ASSERT_NE(message.Find(model::ViewRow::kTable, cpu_), nullptr);
  EXPECT_EQ(message.Find(model::ViewRow::kTable, cpu_)->ints[1][0], page.LastStart(cpu_))
      << "only what is new was sent";
  page.Take(message);
  EXPECT_EQ(page.Count(cpu_), static_cast<int64_t>(source_.CountSamples(cpu_, {source_.start_ns(), source_.now_ns()})));
}

TEST_F(FeedTest, ValuesArriveAsTheSourceHasThem) {
  source_.AdvanceBy(kSecondNs);
  Feed feed(context_);
  feed.SetView(Fixed({cpu_, memory_}, 0, kSecondNs, 1000));
  const Decoded message = Next(feed);
  const auto expected =
      source_.View({.series = {cpu_}, .range = {source_.start_ns(), source_.now_ns()}, .pixels = 1000}).value()[0];
  const model::Batch& batch = *message.Find(model::ViewRow::kTable, cpu_);
  ASSERT_EQ(batch.rows, expected.t_ns.size());
  ASSERT_TRUE(expected.exact);
  EXPECT_THAT(batch.ints, SizeIs(5)) << "exact points need no low and high";
  EXPECT_EQ(batch.ints[4][0], model::kAbsent) << "the first sample of a counter has no rate";
  for (size_t i = 1; i < batch.rows; ++i) {
    const double value = static_cast<double>(batch.ints[4][i]) * std::pow(10.0, static_cast<double>(batch.ints[2][i]));
    EXPECT_NEAR(value, expected.mean[i], 1e9 * 1e-8);
    EXPECT_EQ(batch.ints[0][i], expected.t_ns[i]);
  }
  const model::Batch& whole = *message.Find(model::ViewRow::kTable, memory_);
  EXPECT_THAT(whole.ints[2], Each(0)) << "whole numbers travel as they are";
}

TEST_F(FeedTest, BucketsHaveLowAndHigh) {
  source_.AdvanceBy(60 * kSecondNs);
  Feed feed(context_);
  feed.SetView(Fixed({cpu_}, 0, 60 * kSecondNs, 20));
  const Decoded message = Next(feed);
  const model::Batch& batch = *message.Find(model::ViewRow::kTable, cpu_);
  ASSERT_THAT(batch.ints, SizeIs(7));
  for (size_t i = 0; i < batch.rows; ++i) {
    EXPECT_LE(batch.ints[5][i], batch.ints[4][i]);
    EXPECT_GE(batch.ints[6][i], batch.ints[4][i]);
  }
  EXPECT_EQ(std::accumulate(batch.ints[3].begin(), batch.ints[3].end(), int64_t{0}), 6000);
}

TEST_F(FeedTest, AFixedRangeIsSentOnceWhenItIsOver) {
  source_.AdvanceBy(30 * kSecondNs);
  Feed feed(context_);
  feed.SetView(Fixed({cpu_}, 0, 10 * kSecondNs));
  EXPECT_NE(Next(feed).Find(model::ViewRow::kTable, cpu_), nullptr);
  source_.AdvanceBy(kSecondNs);
  const Decoded later = Next(feed);
  EXPECT_EQ(later.Find(model::ViewRow::kTable, cpu_), nullptr);
  EXPECT_NE(later.envelope.at("extent_t1_ns"), "") << "the page still learns how far the data goes";
}

TEST_F(FeedTest, AFixedRangeIsFilledWhileItGrows) {
  source_.AdvanceBy(5 * kSecondNs);
  Feed feed(context_);
  Page page;
  feed.SetView(Fixed({cpu_}, 0, 10 * kSecondNs));
  page.Take(Next(feed));
  EXPECT_EQ(page.Count(cpu_), 500);
  for (int i = 0; i < 20; ++i) {
    source_.AdvanceBy(kSecondNs);
    page.Take(Next(feed));
  }
  EXPECT_EQ(page.Count(cpu_), 1000);
}

TEST_F(FeedTest, ARecordingIsSentOnceAndThenQuiet) {
  source_.AdvanceBy(5 * kSecondNs);
  source_.Finish();
  Feed feed(context_);
  feed.SetView(Follow({cpu_}, 2 * kSecondNs));
  const Decoded message = Next(feed);
  EXPECT_EQ(message.envelope.at("growing"), "0");
  EXPECT_EQ(message.envelope.at("view_t1_ns"), std::to_string(source_.Extent().t1_ns));
  EXPECT_FALSE(feed.Next());
}

TEST_F(FeedTest, GapsOfTheViewComeAsCoarseAsItsPixels) {
  source_.AdvanceBy(kSecondNs);
  for (int i = 0; i < 50; ++i) {
    source_.SkipFor(20'000'000);
    source_.AdvanceBy(40'000'000);
  }
  Feed feed(context_);
  feed.SetView(Fixed({cpu_}, 0, 100 * kSecondNs, 100));
  const auto coarse = model::RowsFrom<model::Gap>(*Next(feed).Find(model::Gap::kTable));
  EXPECT_LT(coarse.size(), 5u);
  int64_t lost = 0;
  for (const model::Gap& gap : coarse) lost += gap.count;
  EXPECT_EQ(lost, 50 * 2);

  feed.SetView(Fixed({cpu_}, 0, 4 * kSecondNs, 8000));
  EXPECT_THAT(model::RowsFrom<model::Gap>(*Next(feed).Find(model::Gap::kTable)), SizeIs(50));
}

TEST_F(FeedTest, UnknownSeriesAreLeftOut) {
  source_.AdvanceBy(kSecondNs);
  Feed feed(context_);
  feed.SetView(Follow({999, cpu_}, kSecondNs));
  const Decoded message = Next(feed);
  EXPECT_EQ(message.Find(model::ViewRow::kTable, 999), nullptr);
  EXPECT_NE(message.Find(model::ViewRow::kTable, cpu_), nullptr);
}

TEST_F(FeedTest, AFailingSourceIsReported) {
  source_.AdvanceBy(kSecondNs);
  source_.FailViews(Error{Errc::kIo, "x.attune: offset 4096: reading failed", ""});
  Feed feed(context_);
  feed.SetView(Follow({cpu_}, kSecondNs));
  EXPECT_EQ(Next(feed).envelope.at("error"), "x.attune: offset 4096: reading failed");
}

TEST_F(FeedTest, ATellsNothingNewButThatTheEndCame) {
  source_.AdvanceBy(kSecondNs);
  Feed feed(context_);
  EXPECT_EQ(Next(feed).envelope.at("growing"), "1");
  source_.Finish();
  EXPECT_EQ(Next(feed).envelope.at("growing"), "0");
  EXPECT_FALSE(feed.Next());
}

}  // namespace
}  // namespace attune::live
