#include "sink/plugin_sink.h"
#include "environment.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace attune::sink {
namespace {

namespace fs = std::filesystem;
using model::BatchPtr;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr int64_t kRealMinusMonotonicNs = 1000;

template <class Row>
BatchPtr Rows(const std::vector<Row>& rows) {
  return std::make_shared<const model::Batch>(model::ToBatch(rows));
}

/// What was reported, and a way to wait for it.
class Reports {
 public:
  SinkReport Callback() {
    return [this](const std::string& text) {
      const std::lock_guard lock(mutex_);
      texts_.push_back(text);
      news_.notify_all();
    };
  }
  std::vector<std::string> WaitFor(size_t count) {
    std::unique_lock lock(mutex_);
    news_.wait(lock, [&] { return texts_.size() >= count; });
    return texts_;
  }
  std::vector<std::string> All() {
    const std::lock_guard lock(mutex_);
    return texts_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable news_;
  std::vector<std::string> texts_;
};

class SinkTest : public testing::Test {
 protected:
  SinkTest() {
    std::string name = (fs::temp_directory_path() / "attune-sink-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    auto metadata = std::make_shared<model::Metadata>();
    metadata->info = {{"program", "xz -T2"}};
    metadata->elements = {
        {1, 0, model::ElementKind::kMachine, model::kAbsent, model::kAbsent, model::kAbsent, "node", "node"},
        {2, 1, model::ElementKind::kProcess, 4711, 5, model::kAbsent, "node", "xz"},
        {3, 2, model::ElementKind::kThread, 4712, 5, model::kAbsent, "node", "worker"}};
    metadata->series = {{1, 1, model::SeriesKind::kGauge, 0, model::kAbsent, "mem", "free", "bytes"},
                        {2, 3, model::SeriesKind::kCounter, 6, model::kAbsent, "thread", "cpu", "ns"}};
    metadata->streams = {{1, 1'000'000, {1, 2}}};
    metadata->processes = {{2, 0, 4711, 5}};
    metadata->processes[0].command = "xz -T2 big\ntar";
    metadata->real_minus_monotonic_ns = kRealMinusMonotonicNs;
    metadata_ = metadata;
  }
  void TearDown() override { fs::remove_all(folder_); }

  SinkOptions Options(const std::string& mode) {
    SinkOptions options;
    options.choice = {"bad_sink", Environment("ATTUNE_BUILD") + "/tests/sink/bad_sink.so", mode};
    options.folder = folder_;
    options.program = Environment("ATTUNE_BIN");
    options.metadata = [this] { return metadata_; };
    options.report = reports_.Callback();
    options.restart_delay_ns = 1'000'000;
    return options;
  }
  std::unique_ptr<PluginSink> Start(const std::string& mode) { return Start(Options(mode)); }
  static std::unique_ptr<PluginSink> Start(SinkOptions options) {
    auto sink = PluginSink::Start(std::move(options));
    EXPECT_TRUE(sink.ok()) << sink.error().message;
    return sink.ok() ? *std::move(sink) : nullptr;
  }
  /// `rows` rows of stream 1 from a time on.
  static BatchPtr Samples(int64_t t_ns, size_t rows = 1) {
    model::Batch batch;
    batch.table = model::Sample::kTable;
    batch.stream = 1;
    batch.rows = rows;
    batch.ints.resize(3);
    for (size_t row = 0; row < rows; ++row) {
      batch.ints[0].push_back(t_ns + static_cast<int64_t>(row));
      batch.ints[1].push_back(10 * t_ns);
      batch.ints[2].push_back(model::kAbsent);
    }
    return std::make_shared<const model::Batch>(std::move(batch));
  }
  std::vector<std::string> Written() const {
    std::ifstream file(folder_ / "out");
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

  fs::path folder_;
  std::shared_ptr<const model::Metadata> metadata_;
  Reports reports_;
};

TEST_F(SinkTest, IsToldEverythingInOrder) {
  const auto sink = Start("count=out");  // a relative path: where attune was started
  ASSERT_NE(sink, nullptr);
  sink->Consume(Samples(100, 2));
  sink->Consume(Rows(std::vector<model::Label>{{101, "phase 2"}}));
  sink->Consume(Rows(std::vector<model::Gap>{{1, 100, 200, 7, model::GapReason::kMissed}}));
  model::Process ended = metadata_->processes[0];
  ended.user_ns = 5;
  sink->Consume(Rows(std::vector{ended}));
  ended.end_ns = 300;
  ended.exit_code = 3;
  sink->Consume(Rows(std::vector{ended}));
  sink->Consume(Rows(std::vector{ended}));
  model::Alarm alarm;
  alarm.alarm = "heat";
  sink->Consume(Rows(std::vector{alarm}));
  const SinkTotals totals = sink->Finish();
  EXPECT_THAT(Written(),
              ElementsAre("open xz -T2", "element 1 node host=node", "element 2 node/xz host=node pid=4711 process=xz",
                          "element 3 node/xz/worker host=node pid=4711 process=xz thread=worker tid=4712",
                          "series 1 mem.free of 1 e0 bytes", "series 2 thread.cpu of 3 e6 ns",
                          "process start 4711 xz -T2 big?tar -9223372036854775808",
                          "row 1 100 1100 missing 0 1:1000 2:-9223372036854775808",
                          "row 1 101 1101 missing 0 1:1000 2:-9223372036854775808", "label 101 phase 2",
                          "gap mem missed 7", "process exit 4711 xz -T2 big?tar 3", "alarm heat raised", "close"));
  EXPECT_EQ(totals.written, 4u);
  EXPECT_EQ(totals.dropped, 0u);
  EXPECT_EQ(totals.problem, "");
  EXPECT_THAT(reports_.All(), IsEmpty());
}

TEST_F(SinkTest, ACrashIsANewStartWithTheWholeBacklog) {
  const auto sink = Start("crash");
  ASSERT_NE(sink, nullptr);
  uint64_t handed = 0;
  std::vector<std::string> reports;
  // Each process dies of its sixth batch.
  for (int start = 0; start <= 3; ++start) {
    for (int i = 0; i < 6; ++i, handed += 2) ASSERT_TRUE(sink->ConsumePatiently(Samples(handed)));
    reports = reports_.WaitFor(static_cast<size_t>(start) + 1);
    EXPECT_EQ(reports.back(), start < 3 ? "sink bad_sink crashed (SIGSEGV); it is started again"
                                        : "sink bad_sink crashed (SIGSEGV); it is not used any more");
  }
  EXPECT_FALSE(sink->ConsumePatiently(Samples(0)));
  sink->Consume(Samples(0));
  const SinkTotals totals = sink->Finish();
  EXPECT_EQ(totals.restarts, 3);
  EXPECT_EQ(totals.written + totals.dropped, handed + 2);
  EXPECT_GE(totals.dropped, 8u + 2) << "the batch of each crash, and the one after the end";
  EXPECT_EQ(totals.problem, "crashed (SIGSEGV)");
}

TEST_F(SinkTest, AfterARestartItIsToldWhatThereIsOnceMore) {
  auto options = Options("count=out");
  const auto sink = Start(std::move(options));
  ASSERT_NE(sink, nullptr);
  // The process is killed from outside: by its name's file, which only it has open.
  sink->Consume(Samples(100));
  while (sink->Totals().written == 0) std::this_thread::yield();
  for (const auto& entry : fs::directory_iterator("/proc")) {
    std::error_code error;
    std::ifstream command(entry.path() / "cmdline");
    std::string text{std::istreambuf_iterator<char>(command), {}};
    if (text.find("plugin-host") == std::string::npos || fs::read_symlink(entry.path() / "cwd", error) != folder_)
      continue;
    ASSERT_EQ(::kill(std::stoi(entry.path().filename()), SIGTERM), 0);
  }
  EXPECT_THAT(reports_.WaitFor(1).back(), HasSubstr("crashed (SIGTERM); it is started again"));
  sink->Consume(Samples(200));
  sink->Finish();
  const auto lines = Written();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "element 1 node host=node"), 2);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "series 2 thread.cpu of 3 e6 ns"), 2);
  EXPECT_THAT(lines, Contains(StartsWith("row 1 200 1200")));
}

TEST_F(SinkTest, AHangIsEnded) {
  auto options = Options("hang");
  options.answer_ns = 2'000'000'000;
  options.max_restarts = 0;
  const auto sink = Start(std::move(options));
  ASSERT_NE(sink, nullptr);
  for (int i = 0; i < 6; ++i) sink->Consume(Samples(i));
  EXPECT_THAT(reports_.WaitFor(1).back(),
              HasSubstr("did not answer within 2 s and was ended; it is not used any more"));
}

TEST_F(SinkTest, AnExitAndRubbishAreNoEnd) {
  for (const auto& [mode, words] :
       {std::pair("exit", "ended by itself with exit code 3"), std::pair("scribble", "crashed (SIGKILL)")}) {
    auto options = Options(mode);
    options.max_restarts = 0;
    const auto sink = Start(std::move(options));
    ASSERT_NE(sink, nullptr);
    const size_t before = reports_.All().size();
    for (int i = 0; i < 6; ++i) sink->Consume(Samples(i));
    EXPECT_THAT(reports_.WaitFor(before + 1).back(), HasSubstr(words)) << mode;
  }
}

TEST_F(SinkTest, ASlowOneDropsAndCounts) {
  auto options = Options("slow");
  options.max_queued_cells = 300;
  const auto sink = Start(std::move(options));
  ASSERT_NE(sink, nullptr);
  constexpr uint64_t kBatches = 4000;
  // Large enough to fill the socket's buffers too.
  for (uint64_t i = 0; i < kBatches; ++i) sink->Consume(Samples(static_cast<int64_t>(i), 90));
  EXPECT_THAT(reports_.All(), ElementsAre(HasSubstr("is too slow")));
  const SinkTotals before = sink->Totals();
  EXPECT_GT(before.dropped, 0u);
  EXPECT_EQ(before.written + before.pending + before.dropped, kBatches * 180);
}

TEST_F(SinkTest, WhatWasDroppedIsToldWithTheNextRows) {
  auto options = Options("count=out");
  options.max_queued_cells = 30;
  const auto sink = Start(std::move(options));
  ASSERT_NE(sink, nullptr);
  sink->Consume(Samples(100, 1000));  // more than there ever is room for
  sink->Consume(Samples(2000));
  const SinkTotals totals = sink->Finish();
  EXPECT_EQ(totals.dropped, 2000u);
  EXPECT_EQ(totals.written, 2u);
  EXPECT_THAT(Written(), Contains(StartsWith("row 1 2000 3000 missing 1000")));
}

TEST_F(SinkTest, MetadataIsNeverLost) {
  auto options = Options("count=out");
  options.max_queued_cells = 30;
  const auto sink = Start(std::move(options));
  ASSERT_NE(sink, nullptr);
  std::vector<model::Element> many(1000, metadata_->elements[0]);
  sink->Consume(Rows(many));  // more than there is room for: told anew
  sink->Consume(Samples(100));
  sink->Finish();
  EXPECT_THAT(Written(), Contains(StartsWith("row 1 100 1100")));
}

TEST_F(SinkTest, WhatItSaysOfItselfIsTold) {
  const auto sink = Start("complain");
  ASSERT_NE(sink, nullptr);
  for (int i = 0; i < 10; ++i) sink->Consume(Samples(i));
  EXPECT_THAT(reports_.WaitFor(1), ElementsAre("sink bad_sink: the server is away"));
  const SinkTotals totals = sink->Finish();
  EXPECT_EQ(totals.written, 15u);
  EXPECT_EQ(totals.dropped, 5u) << "2 that it gave up, and 3 that were pending at its end";
  EXPECT_EQ(totals.problem, "the server is away");
}

TEST_F(SinkTest, WhatItRefusesIsCounted) {
  const auto sink = Start("lose");
  ASSERT_NE(sink, nullptr);
  sink->Consume(Samples(1));
  EXPECT_EQ(sink->Finish().dropped, 2u);
}

TEST_F(SinkTest, TheEndIsBounded) {
  const auto crashing = Start("crash-at-the-end");
  ASSERT_NE(crashing, nullptr);
  crashing->Consume(Samples(1));
  EXPECT_EQ(crashing->Finish().problem, "crashed (SIGSEGV)");
  const auto hanging = Start("hang-at-the-end");
  ASSERT_NE(hanging, nullptr);
  EXPECT_THAT(hanging->Finish().problem, HasSubstr("did not end within 7 s"));
}

TEST_F(SinkTest, WhatIsWrongIsSaid) {
  const auto message = [&](const std::string& mode) {
    const auto sink = PluginSink::Start(Options(mode));
    return sink.ok() ? "" : sink.error().message;
  };
  EXPECT_EQ(message("refuse"), "sink bad_sink: no database of ours");
  EXPECT_THAT(message("crash-in-open"), HasSubstr("crashed (SIGSEGV) in its open()"));
  EXPECT_THAT(message("hang-in-open"), HasSubstr("did not answer within 5 s in its open()"));
  auto renamed = Options("");
  fs::copy(renamed.choice.file, folder_ / "other.so");
  renamed.choice.file = folder_ / "other.so";
  EXPECT_THAT(PluginSink::Start(std::move(renamed)).error().message, HasSubstr("this is the sink 'bad_sink'"));
}

}  // namespace
}  // namespace attune::sink
