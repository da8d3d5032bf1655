#include "track/polling.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "track/fake_process.h"

namespace attune::track {
namespace {

using attune::fakes::FakeHost;
using attune::fakes::FakeProcess;
using model::ProcessEvent;
using model::ProcessEventKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Polling : public ::testing::Test {
 protected:
  void Put(const FakeProcess& process, std::string_view command_line = "prog") {
    process.Put(host_, command_line);
    host_.Write("/proc/loadavg", fmt::format("0.1 0.1 0.1 1/1 {}\n", ++newest_));
  }
  void Follow(int pid) {
    watcher_ = *MakePollingWatcher(host_.Root());
    ASSERT_TRUE(watcher_->Follow(pid).ok());
  }
  static constexpr std::array kKinds{"fork", "exec", "exit", "thread start", "thread exit", "name"};

  /// "fork 10 by 1", "exec 10 prog", ...
  std::vector<std::string> Poll() {
    std::vector<std::string> lines;
    const auto polled = watcher_->Poll([&](const ProcessEvent& event) {
      last_ = event;
      std::string line = fmt::format("{} {}", kKinds.at(static_cast<size_t>(event.kind)), event.pid);
      if (event.tid != event.pid) line += fmt::format("/{}", event.tid);
      if (event.kind == ProcessEventKind::kFork) line += fmt::format(" by {}", event.parent_pid);
      if (event.kind == ProcessEventKind::kExec || event.kind == ProcessEventKind::kName) line += " " + event.command;
      if (event.kind == ProcessEventKind::kExit && event.exit_code != model::kAbsent)
        line += fmt::format(" code {}", event.exit_code);
      if (event.kind == ProcessEventKind::kExit && event.exit_signal > 0)
        line += fmt::format(" signal {}", event.exit_signal);
      lines.push_back(line);
    });
    EXPECT_TRUE(polled.ok());
    EXPECT_EQ(*polled, lines.size());
    return lines;
  }

  FakeHost host_;
  std::unique_ptr<model::ProcessWatcher> watcher_;
  ProcessEvent last_;
  int newest_ = 0;
};

TEST_F(Polling, TellsWhatIsThereAndThenWhatComesAndGoes) {
  FakeProcess root{.pid = 10, .parent = 1}, child{.pid = 11, .parent = 10}, stranger{.pid = 12, .parent = 1};
  Put(root);
  Put(stranger);
  Follow(10);
  EXPECT_THAT(Poll(), ElementsAre("fork 10 by 1", "exec 10 prog"));
  EXPECT_THAT(Poll(), IsEmpty());
  Put(child, "child");
  FakeProcess grandchild{.pid = 9, .parent = 11};
  Put(grandchild, "grandchild");
  EXPECT_THAT(Poll(), ElementsAre("fork 11 by 10", "exec 11 child", "fork 9 by 11", "exec 9 grandchild"));
  host_.Remove("/proc/9");
  EXPECT_THAT(Poll(), ElementsAre("exit 9")) << "gone before it was seen as a zombie: no code";
}

TEST_F(Polling, ZombiesTellHowTheyEnded) {
  FakeProcess root{.pid = 10, .parent = 1}, child{.pid = 11, .parent = 10};
  Put(root);
  Put(child);
  Follow(10);
  EXPECT_EQ(Poll().size(), 4u);
  child.state = 'Z';
  child.wait_status = 3 << 8;
  child.user_ticks = 50;
  Put(child);
  EXPECT_THAT(Poll(), ElementsAre("exit 11 code 3"));
  EXPECT_EQ(last_.usage.user_ns, 500'000'000);
  EXPECT_THAT(Poll(), IsEmpty()) << "a zombie that stays is told of once";
  root.state = 'Z';
  root.wait_status = SIGKILL;
  Put(root);
  EXPECT_THAT(Poll(), ElementsAre("exit 10 signal 9"));
}

TEST_F(Polling, AFirstThreadThatEndedIsNotTheEndOfTheProcess) {
  FakeProcess root{.pid = 10, .state = 'Z', .parent = 1, .threads = 2};
  root.state = 'S';
  Put(root);
  host_.Write("/proc/10/task/15/stat", FakeProcess{.pid = 15, .name = "worker"}.Stat());
  Follow(10);
  EXPECT_THAT(Poll(), ElementsAre("fork 10 by 1", "exec 10 prog", "thread start 10/15", "name 10/15 worker"));
  root.state = 'Z';
  Put(root);
  EXPECT_THAT(Poll(), IsEmpty());
  root.threads = 1;
  Put(root);
  EXPECT_THAT(Poll(), ElementsAre("exit 10 code 0"));
}

TEST_F(Polling, ThreadsComeAndGo) {
  FakeProcess root{.pid = 10, .parent = 1};
  Put(root);
  Follow(10);
  Poll();
  root.threads = 2;
  Put(root);
  host_.Write("/proc/10/task/15/stat", FakeProcess{.pid = 15}.Stat());
  EXPECT_THAT(Poll(), ElementsAre("thread start 10/15"));
  host_.Remove("/proc/10/task/15");
  host_.Write("/proc/10/task/16/stat", FakeProcess{.pid = 16}.Stat());
  Put(root);
  EXPECT_THAT(Poll(), ::testing::UnorderedElementsAre("thread exit 10/15", "thread start 10/16"));
}

TEST_F(Polling, ANewStackIsAnExecAndANewNameAName) {
  FakeProcess root{.pid = 10, .parent = 1};
  Put(root);
  Follow(10);
  Poll();
  root.stack_start = 8000;
  root.name = "gzip";
  Put(root, std::string_view("gzip\0-9\0", 8));
  EXPECT_THAT(Poll(), ElementsAre("exec 10 gzip -9", "name 10 gzip"));
  root.name = "busy";
  Put(root, std::string_view("gzip\0-9\0", 8));
  EXPECT_THAT(Poll(), ElementsAre("name 10 busy"));
}

TEST_F(Polling, AReusedPidIsAnotherProcess) {
  FakeProcess root{.pid = 10, .parent = 1}, child{.pid = 11, .parent = 10};
  Put(root);
  Put(child);
  Follow(10);
  Poll();
  child.parent = 1;
  child.start_ticks = 900;
  Put(child);
  EXPECT_THAT(Poll(), ElementsAre("exit 11"));
}

TEST_F(Polling, FaultsOfAReapedChildThatNobodySawAreCounted) {
  FakeProcess root{.pid = 10, .parent = 1}, child{.pid = 11, .parent = 10};
  Put(root);
  Put(child);
  Follow(10);
  Poll();
  child.state = 'Z';
  Put(child);
  Poll();
  host_.Remove("/proc/11");
  root.children_minor_faults = 90;
  Put(root);
  Poll();
  EXPECT_EQ(watcher_->Lost(), 0u) << "its own child, seen as a zombie before";
  root.children_minor_faults = 150;
  Put(root);
  Poll();
  EXPECT_EQ(watcher_->Lost(), 1u);
  EXPECT_THAT(watcher_->Limits(), HasSubstr("can be missed"));
}

TEST_F(Polling, RefusesAProcessThatIsNotThereAndAHostWithoutProc) {
  EXPECT_EQ(MakePollingWatcher(host_.Root()).error().code, Errc::kUnavailable);
  host_.MakeFolder("/proc");
  EXPECT_EQ((*MakePollingWatcher(host_.Root()))->Follow(10).error().code, Errc::kNotFound);
}

TEST_F(Polling, FollowsARealChildToItsEnd) {
  watcher_ = *MakePollingWatcher(HostRoot());
  int gate[2];
  ASSERT_EQ(::pipe(gate), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    char byte;
    ::close(gate[1]);
    ::_exit(::read(gate[0], &byte, 1) == 0 ? 7 : 1);
  }
  ASSERT_TRUE(watcher_->Follow(pid).ok());
  EXPECT_EQ(Poll().size(), 2u);
  ::close(gate[1]);
  std::vector<std::string> lines;
  while (lines.empty()) {
    pollfd ready{watcher_->fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&ready, 1, -1), 1);
    lines = Poll();
  }
  EXPECT_THAT(lines, ElementsAre(fmt::format("exit {} code 7", pid)));
  EXPECT_EQ(::waitpid(pid, nullptr, 0), pid);
  ::close(gate[0]);
}

}  // namespace
}  // namespace attune::track
