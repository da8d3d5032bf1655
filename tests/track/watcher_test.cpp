// What every way of following processes must do, on real processes of this machine. Ways that are not permitted here
// are skipped with their reason.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "kernel/process_bpf.h"
#include "track/connector.h"
#include "track/polling.h"
#include "track/process_usage.h"

namespace attune::track {
namespace {

using model::kAbsent;
using model::ProcessEvent;
using model::ProcessEventKind;
using ::testing::HasSubstr;

Result<std::unique_ptr<model::ProcessWatcher>> Make(const std::string& method) {
  if (method == "ebpf")
    return kernel::MakeBpfWatcher([](int64_t pid) { return DescribeTree(HostRoot(), pid); },
                                  kernel::FutexCounting::kAnyway);
  if (method == "connector") return MakeConnectorWatcher();
  return MakePollingWatcher(HostRoot());
}

struct Pipe {
  Pipe() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    out.reset(ends[0]);
    in.reset(ends[1]);
  }
  UniqueFd out, in;
};

/// A program that waits until it is followed, and what a watcher tells about it.
class Watchers : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto made = Make(GetParam());
    if (!made.ok()) GTEST_SKIP() << made.error().message << " (" << made.error().hint << ")";
    watcher_ = *std::move(made);
    EXPECT_EQ(watcher_->Method(), GetParam());
  }

  /// Starts `body` in a child, once it is followed.
  template <class Body>
  void Start(Body body) {
    int gate[2];
    ASSERT_EQ(::pipe2(gate, O_CLOEXEC), 0);
    root_ = ::fork();
    ASSERT_GE(root_, 0);
    if (root_ == 0) {
      char byte;
      ::close(gate[1]);
      if (::read(gate[0], &byte, 1) != 1) ::_exit(99);
      body();
      ::_exit(98);
    }
    ::close(gate[0]);
    const Status followed = watcher_->Follow(root_);
    ASSERT_TRUE(followed.ok()) << followed.error().message;
    ASSERT_EQ(::write(gate[1], "x", 1), 1);
    ::close(gate[1]);
  }

  void StartShell(const std::string& script) {
    Start([&] { ::execl("/bin/sh", "sh", "-c", script.c_str(), nullptr); });
  }

  /// Polls until what has been told is as wanted.
  template <class Condition>
  void WatchUntil(Condition condition) {
    constexpr int kPatienceMs = 1'800'000;
    const int64_t end_ns = MonotonicNs() + int64_t{kPatienceMs} * 1'000'000;
    while (!condition()) {
      pollfd ready{watcher_->fd(), POLLIN, 0};
      ASSERT_EQ(::poll(&ready, 1, kPatienceMs), 1) << "no event for a long time";
      ASSERT_LT(MonotonicNs(), end_ns);
      const auto polled = watcher_->Poll([this](const ProcessEvent& event) {
        events_.push_back(event);
        if (event.kind == ProcessEventKind::kExit) exits_[event.pid] = event;
      });
      ASSERT_TRUE(polled.ok()) << polled.error().message;
    }
  }

  /// Polls until the program's end has been told, then waits for it.
  void WatchToTheEnd() {
    WatchUntil([this] { return exits_.contains(root_); });
    ASSERT_EQ(::wait4(root_, &status_, 0, &usage_), root_);
  }

  size_t Count(ProcessEventKind kind) const {
    return static_cast<size_t>(
        std::count_if(events_.begin(), events_.end(), [&](const auto& event) { return event.kind == kind; }));
  }
  std::vector<std::string> Commands() const {
    std::vector<std::string> commands;
    for (const ProcessEvent& event : events_) {
      if (event.kind == ProcessEventKind::kExec) commands.push_back(event.command);
    }
    return commands;
  }
  bool IsPolling() const { return watcher_->Method() == "polling"; }

  std::unique_ptr<model::ProcessWatcher> watcher_;
  std::vector<ProcessEvent> events_;
  std::map<int64_t, ProcessEvent> exits_;
  pid_t root_ = 0;
  int status_ = 0;
  rusage usage_{};
};

INSTANTIATE_TEST_SUITE_P(All, Watchers, ::testing::Values("ebpf", "connector", "polling"),
                         [](const auto& each) { return std::string(each.param); });

TEST_P(Watchers, CountsCallsOfFutexOrSaysWhatWould) {
  constexpr int kCalls = 1000;
  Start([] {
    int word = 0;
    const auto call = [&word] {
      for (int i = 0; i < kCalls; ++i) ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    };
    call();
    if (::fork() == 0) {  // a child counts as well
      call();
      ::_exit(0);
    }
    ::wait(nullptr);
    ::_exit(0);
  });
  int others = 0;  // are not the program's
  for (int i = 0; i < kCalls; ++i) ::syscall(SYS_futex, &others, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  WatchToTheEnd();
  const auto calls = watcher_->FutexCalls();
  if (calls.ok()) {
    EXPECT_GE(*calls, 2 * kCalls);
    EXPECT_LE(*calls, 2 * kCalls + 10) << "what the C library does itself";
  } else {
    EXPECT_EQ(calls.error().code, Errc::kUnavailable) << calls.error().message;
    EXPECT_NE(calls.error().hint, "");
  }
}

TEST_P(Watchers, FiveHundredShortProcesses) {
  // Each third ends with another code, each tenth by a signal.
  StartShell(
      "i=0; while [ $i -lt 500 ]; do if [ $((i % 10)) = 9 ]; then sh -c 'kill -TERM $$'; else sh -c \"exit $((i % "
      "3))\"; fi; i=$((i+1)); done 2>/dev/null; exit 42");
  WatchToTheEnd();
  ASSERT_EQ(WEXITSTATUS(status_), 42);
  EXPECT_EQ(exits_[root_].exit_code, 42);
  std::map<std::string, int> ends;
  for (const auto& [pid, event] : exits_) {
    if (pid == root_) continue;
    ++ends[event.exit_signal > 0 ? "signal " + std::to_string(event.exit_signal)
                                 : "code " + std::to_string(event.exit_code)];
  }
  if (IsPolling()) {
    const size_t seen = exits_.size() - 1;
    EXPECT_LE(seen + watcher_->Lost(), 500u) << "what it says to have missed is a lower bound";
    EXPECT_THAT(watcher_->Limits(), HasSubstr("can be missed"));
    return;
  }
  EXPECT_EQ(Count(ProcessEventKind::kFork), 501u);
  EXPECT_EQ(exits_.size(), 501u);
  EXPECT_EQ(watcher_->Lost(), 0u);
  EXPECT_EQ(ends["signal 15"], 50);
  EXPECT_EQ(ends["code 0"] + ends["code 1"] + ends["code 2"], 450);
  EXPECT_EQ(ends["code 0"], 150);
  EXPECT_EQ(ends["code 1"], 150);
}

TEST_P(Watchers, TotalsAreThoseOfGetrusage) {
  const Pipe said;  // what the program had used shortly before its end
  Start([&] {
    // Half a second of work of this process alone; faults by touching memory.
    std::vector<char> memory(64u << 20);
    for (size_t i = 0; i < memory.size(); i += 4096) memory[i] = 1;
    timespec time{};
    do {
      ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    } while (time.tv_sec == 0 && time.tv_nsec < 500'000'000);
    rusage own{};
    ::getrusage(RUSAGE_SELF, &own);
    (void)!::write(said.in.get(), &own, sizeof own);
    ::_exit(memory[4096]);
  });
  WatchToTheEnd();
  rusage own{};
  ASSERT_EQ(::read(said.out.get(), &own, sizeof own), static_cast<ssize_t>(sizeof own));
  const model::ProcessUsage& usage = exits_[root_].usage;
  const auto ns = [](const timeval& time) { return time.tv_sec * 1'000'000'000LL + time.tv_usec * 1000LL; };
  const int64_t cpu_ns = ns(usage_.ru_utime) + ns(usage_.ru_stime);
  if (watcher_->Method() == "connector" && usage.user_ns == kAbsent)
    GTEST_SKIP() << "it was reaped before it could be read, as is said in Limits()";
  EXPECT_EQ(exits_[root_].exit_code, 1);
  EXPECT_NEAR(static_cast<double>(usage.user_ns + usage.system_ns), static_cast<double>(cpu_ns), 60e6);
  EXPECT_NEAR(static_cast<double>(usage.minor_faults), static_cast<double>(usage_.ru_minflt),
              0.2 * static_cast<double>(usage_.ru_minflt));
  if (watcher_->Method() == "ebpf") {
    // Giving back the memory comes after the last look: some ms of CPU time and some switches are not in it.
    EXPECT_GE(usage.user_ns + usage.system_ns, 500'000'000);
    EXPECT_LE(usage.user_ns + usage.system_ns, cpu_ns + 1'000'000);
    EXPECT_NEAR(static_cast<double>(usage.max_rss_bytes), static_cast<double>(usage_.ru_maxrss) * 1024, 1e6);
    EXPECT_GE(usage.voluntary_switches, own.ru_nvcsw);
    EXPECT_LE(usage.voluntary_switches, usage_.ru_nvcsw);
    EXPECT_GE(usage.involuntary_switches, own.ru_nivcsw);
    EXPECT_LE(usage.involuntary_switches, usage_.ru_nivcsw);
    EXPECT_EQ(usage.minor_faults, usage_.ru_minflt);
  }
}

/// Sums of each thread, by state; whoever ended its sleeps.
struct Times {
  std::map<model::TimeState, int64_t> ns;
  std::map<std::pair<model::TimeState, int64_t>, int64_t> by_waker;
  int64_t alone_ns = 0;
  int64_t longest_stretch_ns = 0;  ///< alone

  int64_t Of(model::TimeState state) const { return ns.contains(state) ? ns.at(state) : 0; }
  int64_t Sum() const {
    int64_t sum = 0;
    for (const auto& [state, part] : ns) sum += part;
    return sum;
  }
};

/// Whether a thread of this process is asleep now.
bool Sleeps(pid_t tid) {
  const std::string stat = HostRoot().ReadFile("/proc/self/task/" + std::to_string(tid) + "/stat").value_or("");
  const size_t end = stat.rfind(") ");
  return end != std::string::npos && stat[end + 2] == 'S';
}

TEST_P(Watchers, AccountsForEachMomentOfAThread) {
  constexpr int64_t kMs = 1'000'000;
  constexpr int64_t kUntoldNs = 10 * kMs;  // a kernel on full CPUs leaves out a switch now and then: a slice or two
  const auto account = watcher_->AccountForTime();
  if (!account.ok()) {
    EXPECT_NE(watcher_->Method(), "ebpf") << account.error().message;
    EXPECT_NE(account.error().hint, "");
    return;
  }
  constexpr int kRounds = 6;
  const std::array<Pipe, kRounds> pipes;
  Start([&] {
    for (const Pipe& pipe : pipes) {
      std::atomic<pid_t> tid{0};
      std::thread reader([&] {
        tid = ::gettid();
        char byte;
        (void)!::read(pipe.out.get(), &byte, 1);
      });
      while (tid == 0 || !Sleeps(tid)) std::this_thread::yield();
      const timespec pause{0, 50 * kMs};
      ::clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
      for (const int64_t end_ns = MonotonicNs() + 50 * kMs; MonotonicNs() < end_ns;) {
      }
      (void)!::write(pipe.in.get(), "x", 1);
      reader.join();
    }
    ::_exit(0);
  });
  std::map<int64_t, Times> threads, cpus;
  const auto read = [&] {
    const auto visit = [&](const model::ScheduledObject& object, std::span<const model::StateSum> sums) {
      Times& times = object.cpu != kAbsent ? cpus[object.cpu] : threads[object.tid];
      for (const model::StateSum& sum : sums) {
        times.ns[sum.state] += sum.ns;
        times.by_waker[{sum.state, sum.waker_tid}] += sum.ns;
        times.alone_ns += sum.alone_ns;
        if (sum.end_ns == 0) continue;
        EXPECT_EQ(sum.ns, 0) << "it is in the sums of the thread's running and queueing";
        EXPECT_LE(sum.end_ns, MonotonicNs());
        times.longest_stretch_ns = std::max(times.longest_stretch_ns, sum.alone_ns);
      }
    };
    ASSERT_TRUE((*account)->Read(visit).ok());
  };
  read();
  WatchToTheEnd();
  read();
  const int64_t all_cpus_ns = std::accumulate(cpus.begin(), cpus.end(), int64_t{0}, [](int64_t sum, const auto& cpu) {
    return sum + cpu.second.Of(model::TimeState::kProgram);
  });
  ASSERT_EQ(threads.erase(0), 1u) << "the machine: time without a thread";
  ASSERT_EQ(threads.size(), 1u + kRounds);
  const Times main = threads.at(root_);
  threads.erase(root_);
  EXPECT_GT(main.Of(model::TimeState::kSleep), kRounds / 2 * 50 * kMs);
  EXPECT_GT(main.Of(model::TimeState::kRunning), 0);
  EXPECT_GE(main.longest_stretch_ns, 40 * kMs) << "it computed while the other thread slept";
  EXPECT_GE(main.alone_ns, main.longest_stretch_ns);
  EXPECT_LE(main.alone_ns, main.Sum());
  const auto life_ns = [&](int64_t tid) {
    int64_t start_ns = 0, end_ns = 0;
    for (const ProcessEvent& event : events_) {
      if (event.tid != tid) continue;
      if (event.kind == ProcessEventKind::kThreadStart) start_ns = event.t_ns;
      if (event.kind == ProcessEventKind::kThreadExit) end_ns = event.t_ns;
    }
    return end_ns - start_ns;
  };
  int told = 0;
  int64_t lives_ns = 0, running_ns = main.Of(model::TimeState::kRunning);
  for (const auto& [tid, reader] : threads) {
    // The kernel's tracepoints of a thread's start and end lie some microseconds from its switches.
    EXPECT_GE(reader.Sum(), life_ns(tid) - kUntoldNs);
    lives_ns += life_ns(tid);
    running_ns += reader.Of(model::TimeState::kRunning);
    const int64_t pipe_ns = reader.Of(model::TimeState::kPipe);
    const auto woken = reader.by_waker.find({model::TimeState::kPipe, root_});
    // It slept while main slept and computed; its switch or its wake-up may be what was left out.
    if (pipe_ns < 100 * kMs || woken == reader.by_waker.end()) continue;
    ++told;
    EXPECT_LE(woken->second, pipe_ns);
    EXPECT_GE(woken->second, pipe_ns - kUntoldNs);
  }
  EXPECT_GT(told, kRounds / 2);
  EXPECT_LE(lives_ns, main.Sum() + kRounds * kUntoldNs);
  EXPECT_NEAR(static_cast<double>(all_cpus_ns), static_cast<double>(running_ns), kRounds * kUntoldNs);
}

TEST_P(Watchers, FunctionsOfTheKernelAreThoseOfItsTable) {
  EXPECT_EQ(watcher_->KernelFunction(reinterpret_cast<uintptr_t>(this)), "") << "no function of the kernel";
  if (watcher_->Method() != "ebpf") return;
  std::ifstream table("/proc/kallsyms");
  uint64_t address = 0;
  char type = 0;
  std::string name;
  int named = 0;
  for (std::string line; named < 100 && std::getline(table, line);) {
    std::istringstream words(line);
    if (!(words >> std::hex >> address >> type >> name) || type != 'T' || !name.starts_with("sched_")) continue;
    if (address == 0) GTEST_SKIP() << "the kernel hides the addresses of its functions";
    EXPECT_EQ(watcher_->KernelFunction(address + 1), name);
    ++named;
  }
  EXPECT_GT(named, 10);
}

TEST_P(Watchers, ThreadsAndNames) {
  const Pipe threads_end, program_ends;
  Start([&] {
    char byte;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        char end;
        ::prctl(PR_SET_NAME, "watched");
        (void)!::read(threads_end.out.get(), &end, 1);
      });
    }
    for (std::thread& thread : threads) thread.join();
    (void)!::read(program_ends.out.get(), &byte, 1);
    ::_exit(0);
  });
  WatchUntil([&] { return Count(ProcessEventKind::kThreadStart) == 4; });
  ASSERT_EQ(::write(threads_end.in.get(), "xxxx", 4), 4);
  WatchUntil([&] { return Count(ProcessEventKind::kThreadExit) == 4; });
  ASSERT_EQ(::write(program_ends.in.get(), "x", 1), 1);
  WatchToTheEnd();
  ASSERT_EQ(WEXITSTATUS(status_), 0);
  EXPECT_EQ(Count(ProcessEventKind::kThreadStart), 4u);
  EXPECT_EQ(Count(ProcessEventKind::kThreadExit), 4u);
  EXPECT_EQ(exits_.size(), 1u);
  std::map<int64_t, int64_t> started;
  for (const ProcessEvent& event : events_) {
    EXPECT_EQ(event.pid, root_);
    if (event.kind == ProcessEventKind::kThreadStart) started[event.tid] = event.t_ns;
    if (event.kind == ProcessEventKind::kThreadExit) {
      EXPECT_LT(started.at(event.tid), event.t_ns);
    }
  }
  if (!IsPolling()) {
    const auto named = [](const ProcessEvent& event) {
      return event.kind == ProcessEventKind::kName && event.command == "watched";
    };
    EXPECT_EQ(std::count_if(events_.begin(), events_.end(), named), 4);
  }
}

TEST_P(Watchers, ExecTellsTheArguments) {
  std::string folder = (std::filesystem::temp_directory_path() / "attune-watcher-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string first = "head -c1 " + folder + "/first", second = "head -c1 " + folder + "/second";
  std::array<UniqueFd, 2> gates;  // each command ends when there is something in its own
  for (const char* name : {"first", "second"}) {
    const std::string path = folder + "/" + name;
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    gates[name[0] == 'f' ? 0 : 1].reset(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  }
  StartShell(first + "; exec " + second);
  WatchUntil([&] { return Count(ProcessEventKind::kFork) == 2; });
  ASSERT_EQ(::write(gates[0].get(), "x", 1), 1);
  WatchUntil([&] { return std::ranges::count(Commands(), second) > 0; });
  ASSERT_EQ(::write(gates[1].get(), "x", 1), 1);
  WatchToTheEnd();
  std::filesystem::remove_all(folder);
  EXPECT_EQ(exits_.size(), 2u);
  if (watcher_->Method() == "ebpf") {
    EXPECT_THAT(Commands(), ::testing::Contains("sh -c " + first + "; exec " + second));
    EXPECT_THAT(Commands(), ::testing::Contains(first));
  }
}

TEST_P(Watchers, WhatIsThereAlreadyIsTold) {
  int gate[2], ready_pipe[2];
  ASSERT_EQ(::pipe2(gate, O_CLOEXEC), 0);
  ASSERT_EQ(::pipe2(ready_pipe, O_CLOEXEC), 0);
  root_ = ::fork();
  if (root_ == 0) {
    char byte;
    ::close(gate[1]);
    const pid_t child = ::fork();
    if (child == 0) {
      (void)!::write(ready_pipe[1], "x", 1);
      ::_exit(::read(gate[0], &byte, 1) == 0 ? 5 : 6);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ::_exit(WEXITSTATUS(status) + 1);
  }
  char byte;
  ASSERT_EQ(::read(ready_pipe[0], &byte, 1), 1);
  ASSERT_TRUE(watcher_->Follow(root_).ok());
  ::close(gate[1]);
  WatchToTheEnd();
  EXPECT_EQ(Count(ProcessEventKind::kFork), 2u);
  EXPECT_EQ(exits_.size(), 2u);
  EXPECT_EQ(exits_[root_].exit_code, 6);
  for (const int fd : {gate[0], ready_pipe[0], ready_pipe[1]}) ::close(fd);
}

TEST_P(Watchers, StrangersAreNotTold) {
  const pid_t stranger = ::fork();
  if (stranger == 0) ::_exit(0);
  ::waitpid(stranger, nullptr, 0);
  StartShell("true");
  const pid_t other = ::fork();
  if (other == 0) ::_exit(0);
  ::waitpid(other, nullptr, 0);
  WatchToTheEnd();
  for (const ProcessEvent& event : events_) EXPECT_EQ(event.pid, root_);
}

TEST_P(Watchers, NoSuchProcess) {
  const pid_t gone = ::fork();
  if (gone == 0) ::_exit(0);
  ::waitpid(gone, nullptr, 0);
  EXPECT_EQ(watcher_->Follow(gone).error().code, Errc::kNotFound);
}

}  // namespace
}  // namespace attune::track
