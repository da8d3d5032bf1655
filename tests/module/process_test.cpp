#include "module/module_process.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>
#include <map>

#include "base/clock.h"

namespace attune::modules {
namespace {

using testing::HasSubstr;

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

class ModuleTest : public testing::Test {
 protected:
  static ModuleOptions Options(const std::string& argument, const std::string& file = "bad_module") {
    ModuleOptions options{.choice = {file, Environment("ATTUNE_BUILD") + "/tests/module/" + file + ".so", argument},
                          .open = {}};
    options.program = Environment("ATTUNE_BIN");
    options.open.core_capacity = {1024, 512};
    options.open_ns = options.answer_ns = 600'000'000'000;  // more than any start on a busy machine takes
    return options;
  }
  /// For one that hangs: whoever answers in time is another test's.
  static ModuleOptions Impatient(const std::string& argument) {
    ModuleOptions options = Options(argument);
    (argument == "hang-open" ? options.open_ns : options.answer_ns) = kImpatientNs;
    return options;
  }
  static constexpr int64_t kImpatientNs = 300'000'000;
  static Notice Sample(int tid, double faults) {
    Notice notice{.t_ns = 1000, .interval_ns = 500, .kind = NoticeKind::kTickSample, .pid = 10, .tid = tid};
    notice.core_type = 1;
    notice.counters = 1;
    notice.counts[0] = faults;
    return notice;
  }
  /// Exchanges until it fails. @return why
  std::string Failure(ModuleProcess& process) {
    while (true) {
      const Status status = process.Exchange(visit);
      if (!status.ok()) return status.error().message;
    }
  }

  std::vector<ValueRow> rows;
  const ModuleProcess::Visit visit = [this](const ValueRow& row) { rows.push_back(row); };
};

TEST_F(ModuleTest, TellsWhatItIsAndMakesValues) {
  auto process = ModuleProcess::Start(Options(""));
  ASSERT_TRUE(process.ok()) << process.error().message;
  const ModuleHello& hello = process->hello();
  EXPECT_EQ(hello.counters, (std::vector<std::string>{"page-faults"}));
  ASSERT_EQ(hello.virtuals.size(), 23u);
  EXPECT_EQ(hello.virtuals[1].metric, ATTUNE_METRIC_IPC);
  EXPECT_TRUE(hello.virtuals[22].is_of_machine);
  EXPECT_TRUE(hello.wants_starts && hello.wants_migrations && hello.wants_switches && hello.wants_samples);
  EXPECT_EQ(hello.interval_ns, 20'000'000);
  for (const NoticeKind kind : {NoticeKind::kFork, NoticeKind::kExec, NoticeKind::kSwitchIn, NoticeKind::kSwitchOut,
                                NoticeKind::kExit, NoticeKind::kFree}) {
    Notice notice = Sample(11, 0);
    notice.kind = kind;
    process->Notify(notice);
  }
  process->Notify(Sample(11, 5));
  process->Tick(2000);
  ASSERT_TRUE(process->Drain(visit).ok());
  ASSERT_EQ(rows.size(), 16u + 7u);
  EXPECT_EQ(rows[3].value, 8) << "3, and the count";
  EXPECT_EQ(rows[2].value, 1) << "type of the core";
  EXPECT_EQ(rows[3].tid, 11);
  std::map<std::string, double> of_machine;
  for (const ValueRow& row : rows) {
    if (row.tid == 0) of_machine[hello.virtuals[row.virtual_counter].name] = row.value;
  }
  EXPECT_EQ(
      of_machine,
      (std::map<std::string, double>{
          {"forks", 1}, {"execs", 1}, {"exits", 1}, {"frees", 1}, {"migrations", 0}, {"switches", 2}, {"ticks", 1}}));
  EXPECT_EQ(process->wrong(), 0u);
}

TEST_F(ModuleTest, TakesMoreThanAMessageHoldsAndThousandsOfThreads) {
  auto process = ModuleProcess::Start(Options(""));
  ASSERT_TRUE(process.ok());
  for (int tid = 1; tid <= 5000; ++tid) process->Notify(Sample(tid, tid));
  ASSERT_TRUE(process->Drain(visit).ok());
  ASSERT_EQ(rows.size(), 16u * 5000u);
  EXPECT_EQ(rows.back().tid, 5000);
  EXPECT_EQ(rows.back().value, 5015);
  EXPECT_EQ(process->lost(), 0u);
}

TEST_F(ModuleTest, IsConfiguredAndAsked) {
  auto process = ModuleProcess::Start(Options(""));
  ASSERT_TRUE(process.ok());
  EXPECT_TRUE(process->Ask(Word::kConfigure, "setting=fast", visit).ok());
  EXPECT_EQ(process->Ask(Word::kReadConfiguration, "", visit).value_or("?"), "setting=fast\n");
  EXPECT_EQ(process->Ask(Word::kReadConfiguration, "setting", visit).value_or("?"), "fast");
  EXPECT_EQ(process->Ask(Word::kDump, "3", visit).value_or("?"), "cpu 3\nknows nothing\n");
  EXPECT_EQ(process->Ask(Word::kMetric, "77 2", visit).value_or("?"), "77.5");
  EXPECT_EQ(process->Ask(Word::kMetric, "1 2", visit).error().code, Errc::kInvalidArgument);
  const auto refused = process->Ask(Word::kConfigure, "other=1", visit);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("other=1"));
  EXPECT_TRUE(process->Ask(Word::kConfigure, "setting=slow", visit).ok()) << "a refusal is no end";
}

TEST_F(ModuleTest, OneThatCannotBeOpenedSaysWhy) {
  const std::map<std::string, std::string> cases{{"crash-open", "crashed (SIGABRT)"},
                                                 {"hang-open", "did not answer in its open()"},
                                                 {"fail-open", "there is none of it here"},
                                                 {"fail-enable", "could not be enabled"},
                                                 {"wrong-name", "'a b0' is no name"}};
  for (const auto& [argument, why] : cases) {
    const auto process = ModuleProcess::Start(argument == "hang-open" ? Impatient(argument) : Options(argument));
    ASSERT_FALSE(process.ok()) << argument;
    EXPECT_THAT(process.error().message, HasSubstr(why)) << argument;
  }
  const auto other = ModuleProcess::Start(Options("", "other_name"));
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.error().message, HasSubstr("its file is called like it"));
  EXPECT_FALSE(ModuleProcess::Start(Options("", "no_such_file")).ok());
}

TEST_F(ModuleTest, OneThatCrashesIsGone) {
  auto process = ModuleProcess::Start(Options("crash-sample"));
  ASSERT_TRUE(process.ok());
  process->Notify(Sample(11, 1));
  EXPECT_THAT(Failure(*process), HasSubstr("crashed (SIGSEGV)"));
  EXPECT_FALSE(process->Exchange(visit).ok());
  EXPECT_FALSE(process->Ask(Word::kDump, "", visit).ok());
}

TEST_F(ModuleTest, OneThatCrashesWhenItIsAskedIsGone) {
  auto process = ModuleProcess::Start(Options(""));
  ASSERT_TRUE(process.ok());
  const auto answer = process->Ask(Word::kConfigure, "crash=1", visit);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, Errc::kUnavailable);
}

TEST_F(ModuleTest, OneThatHangsIsEnded) {
  auto process = ModuleProcess::Start(Impatient("hang-sample"));
  ASSERT_TRUE(process.ok());
  for (int i = 0; i < 100'000; ++i) process->Notify(Sample(11, 1));
  EXPECT_GT(process->lost(), 0u) << "the oldest, rather than memory without end";
  EXPECT_THAT(Failure(*process), HasSubstr("did not answer for 300 ms"));
}

TEST_F(ModuleTest, OneThatHangsInItsEndIsEnded) {
  const int64_t begin_ns = MonotonicNs();
  {
    const auto process = ModuleProcess::Start(Impatient("hang-close"));
    ASSERT_TRUE(process.ok());
  }
  EXPECT_GE(MonotonicNs() - begin_ns, kImpatientNs);
}

TEST_F(ModuleTest, ValuesThatCanBeNoneAreLeftOut) {
  auto process = ModuleProcess::Start(Options("lie"));
  ASSERT_TRUE(process.ok());
  process->Notify(Sample(11, 1));
  ASSERT_TRUE(process->Drain(visit).ok());
  EXPECT_TRUE(rows.empty());
  EXPECT_EQ(process->wrong(), 3u);
}

TEST(ModuleChannel, HellosComeBack) {
  const ModuleHello hello{.failure = "",
                          .name = "mine",
                          .description = "what it does",
                          .interval_ns = 50'000'000,
                          .wants_starts = true,
                          .wants_migrations = false,
                          .wants_switches = true,
                          .wants_samples = true,
                          .counters = {"cycles", "a|b"},
                          .virtuals = {{"ipc", "1", "instructions a cycle", false, ATTUNE_METRIC_IPC},
                                       {"power", "W", "", true, ATTUNE_METRIC_POWER}}};
  const auto decoded = DecodeHello(Encode(hello));
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(*decoded, hello);
  const ModuleOpen open{.argument = "a=\"b\"", .root = "/tmp/x", .core_capacity = {1024, 446}};
  EXPECT_EQ(DecodeOpen(Encode(open)).value_or(ModuleOpen()), open);
}

TEST(ModuleChannel, NonsenseIsRefused) {
  for (const char* text : {"", "[]", "7", "{\"virtuals\":[1]}", "{\"virtuals\":[{\"name\":\"\"}]}",
                           "{\"counters\":[1]}", "{\"virtuals\":[{\"name\":\"a/b\"}]}"})
    EXPECT_FALSE(DecodeHello(text).ok()) << text;
}

}  // namespace
}  // namespace attune::modules
