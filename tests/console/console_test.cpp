/// Console files, and the folder of the console's runs.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/host_root.h"
#include "base/unique_fd.h"
#include "console/console_file.h"
#include "console/console_runs.h"
#include "console/inherited.h"
#include "session/core/job.h"
#include "track/process_usage.h"

namespace attune::console {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr const char* kWhole = R"(
program = "./solver"   # in `folder`
arguments = ["-n", "1000", ""]
folder = "/work"
input = "in.dat"

[environment]
GREETING = "caf\u00e9"
EMPTY = ""

[openmp]
threads = 2

[mpi]
ranks = 4
implementation = "/bin/sh"
hosts = "hosts.txt"
arguments = ["--oversubscribe"]

[observe]
level = "blame"
sensors = ["cpu:sum", "vmstat@10ms"]
interval = "10ms"
trace-stream = true
no-interpose = false
)";

RunDescription Parsed(std::string_view text) {
  const auto run = ParseConsoleFile(text, "run.toml");
  EXPECT_TRUE(run.ok()) << (run.ok() ? "" : run.error().message);
  return run.ok() ? *run : RunDescription();
}

Error Refused(std::string_view text) {
  const auto run = ParseConsoleFile(text, "run.toml");
  EXPECT_FALSE(run.ok()) << text;
  return run.ok() ? Error() : run.error();
}

TEST(ConsoleFile, SaysWhatIsRun) {
  const RunDescription run = Parsed(kWhole);
  EXPECT_EQ(run.program, "./solver");
  EXPECT_THAT(run.arguments, ElementsAre("-n", "1000", ""));
  EXPECT_EQ(run.folder, "/work");
  EXPECT_THAT(run.environment, ElementsAre(Pair("EMPTY", ""), Pair("GREETING", "caf\xc3\xa9")));
  EXPECT_THAT(EnvironmentOf(run), ::testing::Contains(Pair("OMP_NUM_THREADS", "2")));
  EXPECT_TRUE(run.is_mpi);
  ASSERT_THAT(run.observe, SizeIs(5));
  EXPECT_EQ(run.observe[0].name, "sensors") << "in the order of the options";
  EXPECT_THAT(run.observe[0].values, ElementsAre("cpu:sum", "vmstat@10ms"));
  EXPECT_EQ(run.observe[2].name, "no-interpose");
  EXPECT_FALSE(run.observe[2].on) << "a switch that is false goes before a default";
  EXPECT_EQ(run.observe[3].name, "level");
  EXPECT_EQ(run.observe[3].place, "run.toml:21:9");
  EXPECT_EQ(run.observe[4].name, "trace-stream");
  EXPECT_TRUE(run.observe[4].on);
  const auto command = CommandOf(run);
  ASSERT_TRUE(command.ok());
  EXPECT_THAT(*command, ElementsAre("/bin/sh", "-n", "4", "-machinefile", "hosts.txt", "--oversubscribe", "./solver",
                                    "-n", "1000", ""));
}

TEST(ConsoleFile, NeedsAProgramOnly) {
  const RunDescription run = Parsed("program = 'ls'");
  EXPECT_FALSE(run.is_mpi);
  EXPECT_THAT(EnvironmentOf(run), IsEmpty());
  EXPECT_THAT(*CommandOf(run), ElementsAre("ls"));
}

TEST(ConsoleFile, SaysTheSameWrittenAgain) {
  RunDescription run = Parsed(kWhole);
  run.arguments = {"\"quoted\"", "back\\slash", "line\nbreak", "\x7f", "caf\xc3\xa9", "\xf0\x9f\x98\x80", "\\u00e9"};
  run.environment = {{"a b", "1"}, {"caf\xc3\xa9", "\x01"}};
  const RunDescription again = Parsed(ToToml(run));
  EXPECT_EQ(ToJson(again), ToJson(run));
  EXPECT_EQ(ToToml(again), ToToml(run));
  EXPECT_EQ(again.arguments, run.arguments);
  EXPECT_EQ(again.environment, run.environment);
}

TEST(ConsoleFile, MistakesNameLineAndColumnAndWhatToDo) {
  const auto expect = [](std::string_view text, std::string_view message, std::string_view hint) {
    const Error error = Refused(text);
    EXPECT_EQ(error.code, Errc::kInvalidArgument);
    EXPECT_THAT(error.message, HasSubstr(message));
    EXPECT_THAT(error.hint, HasSubstr(hint)) << error.message;
  };
  expect("", "run.toml:1:1: the file lacks 'program'", "docs/console.md");
  expect("program = 7", "run.toml:1:11: the file: 'program' is not a text", "");
  expect("program = 'a'\nargument = ['b']", "run.toml:2:1: the file has the unknown key 'argument'",
         "did you mean arguments");
  expect("program = 'a'\narguments = ['b', 3]", "run.toml:2:19: the file: 'arguments' has something that is not a text",
         "");
  expect("program = \"a\\u0000b\"", "run.toml:1:11: the file: 'program' has a character of number 0", "");
  expect("program = 'a'\n[environment]\nN = 4", "run.toml:3:5: [environment]: 'N' is not a text", "N = \"4\"");
  expect("program = 'a'\n[environment]\n'A=B' = '4'", "run.toml:3:1: [environment]: 'A=B' is no name", "");
  expect("program = 'a'\n[mpi]\nimplementation = 'mpich'", "[mpi] lacks 'ranks'", "docs/console.md");
  expect("program = 'a'\n[mpi]\nranks = 0", "run.toml:3:9: [mpi]: 'ranks' is 0", "");
  expect("program = 'a'\n[openmp]\nthreads = 2\n[environment]\nOMP_NUM_THREADS = '3'", "say the same twice",
         "leave one of them out");
  expect("program = 'a'\n[observe]\nlevel = 'all'", "run.toml:3:9: [observe] level:", "");
  expect("program = 'a'\n[observe]\n  interval = '10'", "run.toml:3:14: [observe] interval:", "");
  expect("program = 'a'\n[observe]\noutput = 'x'", "run.toml:3:1: [observe] has the unknown key 'output'", "");
  expect("program = 'a'\nprogram = 'b'", "run.toml:2:", "toml.io");
  expect("program = 'caf\xc3\xa9'", "run.toml:1:15: a character that is no ASCII text", "u00e9");
  const auto missing = CommandOf(Parsed("program = 'a'\n[mpi]\nranks = 2\nimplementation = 'no-such-mpi'"));
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().message, StartsWith("run.toml:2:1: [mpi]: no launcher of MPI is here: no-such-mpi"));
}

TEST(ConsoleRuns, StateAndProcessAreReadAsTheyWereWritten) {
  const RunState state{.host = "a",
                       .keeper = {1, 2},
                       .launcher = {3, 4},
                       .start_real_ns = 5,
                       .end_real_ns = 6,
                       .exit_code = 7,
                       .exit_signal = 8};
  const auto read = RunStateFromJson(ToJson(state));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(ToJson(*read), ToJson(state));
  EXPECT_FALSE(RunStateFromJson("[]").ok());
  EXPECT_FALSE(RunStateFromJson("{").ok());
  EXPECT_EQ(RunStateFromJson(R"({"exit_code": "x", "keeper": 3})")->exit_code, 0);
  ASSERT_TRUE(ProcessIdFromText("4711 88\n"));
  EXPECT_EQ(ProcessIdFromText("4711 88\n")->start_ticks, 88);
  for (const char* wrong : {"", "4711", "4711 ", "-1 5", "4711 8x", "x 8"}) EXPECT_FALSE(ProcessIdFromText(wrong));
}

class ConsoleRunsTest : public ::testing::Test {
 protected:
  ConsoleRunsTest() { EXPECT_NE(mkdtemp(path_.data()), nullptr); }
  ~ConsoleRunsTest() override { fs::remove_all(path_); }

  void Write(uint64_t run, const std::string& file, const std::string& text) const {
    std::ofstream(runs_.PathOf(run, file)) << text;
  }
  RunStage Stage(uint64_t run) const { return runs_.Find(run)->stage; }

  std::string path_ = "/tmp/attune-runs-XXXXXX";
  RunFolder runs_ = RunFolder("");

  void SetUp() override { runs_ = RunFolder(path_ + "/runs"); }
};

TEST_F(ConsoleRunsTest, NumbersRunsAndListsTheNewestFirst) {
  EXPECT_THAT(*runs_.List(), IsEmpty()) << "a folder that is not there yet";
  EXPECT_EQ(*runs_.Make(Parsed("program = '/bin/sleep'\narguments = ['1']")), 1);
  EXPECT_EQ(*runs_.Make(Parsed("program = 'b'\n[mpi]\nranks = 3")), 2);
  fs::remove_all(runs_.PathOf(1));
  EXPECT_EQ(*runs_.Make(Parsed("program = 'c'")), 3) << "a number is given once";
  fs::create_directory(path_ + "/runs/other");
  const auto list = *runs_.List();
  ASSERT_THAT(list, SizeIs(2));
  EXPECT_EQ(list[0].number, 3);
  EXPECT_EQ(list[1].title, "b (3 ranks)");
  EXPECT_EQ(runs_.Find(9).error().code, Errc::kNotFound);
}

TEST_F(ConsoleRunsTest, StagesComeFromWhatIsOnDisk) {
  const uint64_t run = *runs_.Make(Parsed("program = 'sleep'"));
  EXPECT_EQ(Stage(run), RunStage::kLost) << "nobody keeps it";
  const UniqueFd lock(open(runs_.PathOf(run, "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(flock(lock.get(), LOCK_EX), 0);
  EXPECT_EQ(Stage(run), RunStage::kStarting);

  const pid_t program = fork();
  if (program == 0) {
    pause();
    _exit(0);
  }
  Write(run, "program.pid", std::to_string(program) + " " + std::to_string(session::StartTicks(program)) + "\n");
  RunState state{.keeper = {getpid(), session::StartTicks(getpid())},
                 .launcher = {getpid(), session::StartTicks(getpid())}};
  Write(run, "state.json", ToJson(state));
  EXPECT_EQ(Stage(run), RunStage::kRuns);
  state.launcher = {};
  Write(run, "state.json", ToJson(state));
  EXPECT_EQ(Stage(run), RunStage::kUnrecorded);
  ASSERT_EQ(flock(lock.get(), LOCK_UN), 0);
  EXPECT_EQ(Stage(run), RunStage::kUnrecorded) << "without its keeper too";

  EXPECT_TRUE(runs_.Stop(run, false).ok());
  int status = 0;
  ASSERT_EQ(waitpid(program, &status, 0), program);
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
  EXPECT_TRUE(runs_.Find(run)->stop_asked);
  EXPECT_EQ(Stage(run), RunStage::kLost);
  EXPECT_EQ(runs_.Stop(run, true).error().code, Errc::kNotFound);
  state.end_real_ns = 1;
  Write(run, "state.json", ToJson(state));
  EXPECT_EQ(Stage(run), RunStage::kEnded);
  fs::remove(runs_.PathOf(run, "program.pid"));
  EXPECT_EQ(Stage(run), RunStage::kFailed) << "its program never began";
}

TEST_F(ConsoleRunsTest, ARunThatEndedByItselfIsNotSaidToBeStopped) {
  const uint64_t run = *runs_.Make(Parsed("program = 'sleep'"));
  Write(run, "program.pid", std::to_string(getpid()) + " 1\n");  // the number is another one's by now
  for (const bool kill : {false, true}) EXPECT_EQ(runs_.Stop(run, kill).error().code, Errc::kNotFound);
  EXPECT_FALSE(runs_.Find(run)->stop_asked);
}

/// The number that a process wrote there, once it is `sleep` and sleeps.
pid_t SleeperIn(const std::string& path) {
  pid_t pid = 0;
  while (pid == 0) {
    if (!(std::ifstream(path) >> pid)) usleep(1000);
  }
  const HostRoot host;
  for (auto stat = track::ReadProcStat(host, pid); stat.ok() && (stat->name != "sleep" || stat->state != 'S');
       stat = track::ReadProcStat(host, pid))
    usleep(1000);
  return pid;
}

TEST_F(ConsoleRunsTest, KillsWhatLostItsParentButNothingOfAttune) {
  const uint64_t run = *runs_.Make(Parsed("program = 'sh'"));
  const std::string folder = runs_.PathOf(run);
  const pid_t keeper = fork();
  if (keeper == 0) {
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    setenv("FOLDER", folder.c_str(), 1);
    // The session's process: it knows the job, and is nobody's child but the keeper's.
    static_cast<void>(system("(ATTUNE_JOB=$FOLDER sleep 1000 & echo $! >$FOLDER/session)"));
    execl("/bin/sh", "sh", "-c",
          "(ATTUNE_JOB=$FOLDER ATTUNE_SESSION=x sleep 1000 & echo $! >$FOLDER/orphan)\n"
          "sh -c 'echo $$ >$FOLDER/program; exec sleep 1000' & wait; exec sleep 1000",
          nullptr);
    _exit(127);
  }
  const pid_t session = SleeperIn(folder + "/session"), orphan = SleeperIn(folder + "/orphan"),
              program = SleeperIn(folder + "/program");
  Write(run, "program.pid", std::to_string(program) + " " + std::to_string(session::StartTicks(program)) + "\n");
  Write(run, "state.json", ToJson({.keeper = {keeper, session::StartTicks(keeper)}}));
  EXPECT_TRUE(runs_.Stop(run, true).ok());
  const HostRoot host;
  for (const pid_t pid : {program, orphan}) {
    for (auto stat = track::ReadProcStat(host, pid); stat.ok() && stat->state != 'Z';
         stat = track::ReadProcStat(host, pid))
      usleep(1000);
  }
  EXPECT_EQ(track::ReadProcStat(host, session)->state, 'S');
  for (const pid_t pid : {session, keeper}) kill(pid, SIGKILL);
  waitpid(keeper, nullptr, 0);
}

TEST_F(ConsoleRunsTest, ProcessesOfOtherHostsAreLeftAlone) {
  const uint64_t run = *runs_.Make(Parsed("program = 'sleep'"));
  Write(run, "program.pid", std::to_string(getpid()) + " " + std::to_string(session::StartTicks(getpid())) + "\n");
  Write(run, "state.json", ToJson(RunState{.host = "another host"}));
  EXPECT_FALSE(runs_.Find(run)->is_here);
  EXPECT_EQ(Stage(run), RunStage::kRuns);
  EXPECT_THAT(runs_.Stop(run, true).error().message, HasSubstr("is on another host"));
}

TEST_F(ConsoleRunsTest, OutputComesInPartsThatEndBetweenCharacters) {
  const uint64_t run = *runs_.Make(Parsed("program = 'a'"));
  EXPECT_EQ(runs_.Output(run, {})->bytes, 0) << "there is none yet";
  const UniqueFd lock(open(runs_.PathOf(run, "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(flock(lock.get(), LOCK_EX), 0);
  Write(run, "program.pid", "1 1");
  Write(run, "output.txt", "caf\xc3");
  const auto first = *runs_.Output(run, 0);
  EXPECT_EQ(first.text, "caf");
  Write(run, "output.txt", "caf\xc3\xa9!");
  EXPECT_EQ(runs_.Output(run, first.next)->text, "\xc3\xa9!");
  EXPECT_EQ(runs_.Output(run, 99)->text, "") << "beyond the end";
  Write(run, "output.txt", std::string(1'000'000, 'x') + "end");
  const auto newest = *runs_.Output(run, {});
  EXPECT_EQ(newest.next, 1'000'003);
  EXPECT_LT(newest.text.size(), 200'000);
  EXPECT_TRUE(newest.text.ends_with("end"));
}

TEST(Inherited, SurvivesTheWayToAnotherProcess) {
  const Inherited now = Inherited::Now();
  const auto read = Inherited::Parse(now.ToText());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->ToText(), now.ToText());
  EXPECT_FALSE(Inherited::Parse("18 0-3").ok());
  const mode_t before = umask(0077);
  read->Restore();
  EXPECT_EQ(umask(before), now.file_mask);
}

}  // namespace
}  // namespace attune::console
