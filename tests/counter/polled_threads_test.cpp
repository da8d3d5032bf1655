// Threads of real processes, by events of perf of their own.

#include "counter/polled_threads.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <map>
#include <thread>

#include "waiting_child.h"

namespace attune::counter {
namespace {

using std::chrono::milliseconds;

/// A byte for each thread that was seen.
std::array<int, 2> seen_pipe{-1, -1};

void TouchUntilSeen() {
  TouchPages();
  char byte = 0;
  (void)!read(seen_pipe[0], &byte, 1);
}

/// Two threads one after the other, and a child, each of which touches pages and lives until it was seen.
void Work() {
  close(seen_pipe[1]);
  for (int i = 0; i < 2; ++i) std::thread(TouchUntilSeen).join();
  if (fork() == 0) {
    TouchUntilSeen();
    _exit(0);
  }
  wait(nullptr);
}

struct Seen {
  std::map<pid_t, ThreadCounts> threads;
  ThreadCounting::Visit Visit() {
    return [this](const ThreadCounts& thread) { threads[thread.tid] = thread; };
  }
  double Sum() const {
    double sum = 0;
    for (const auto& [tid, thread] : threads) sum += thread.counts[0].value;
    return sum;
  }
};

TEST(PolledThreads, EachThreadHasARowAndTheRestIsNotLost) {
  auto events = ParseEvents(HostRoot(), {}, "page-faults:u");
  ASSERT_TRUE(events.ok());
  ASSERT_EQ(pipe(seen_pipe.data()), 0);
  const UniqueFd out(seen_pipe[0]), in(seen_pipe[1]);
  WaitingChild child(Work);
  PolledThreads threads(HostRoot(), KernelPerfOpen(), *events);
  const Status followed = threads.Follow(child.pid(), false);
  if (!followed.ok() && followed.error().code == Errc::kPermission) GTEST_SKIP() << followed.error().message;
  ASSERT_TRUE(followed.ok()) << followed.error().message;
  auto whole =
      CounterSet::Open(HostRoot(), KernelPerfOpen(), *events, {.pid = child.pid(), .cpus = {}, .with_children = true});
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  Seen seen;
  std::thread finish([&child] { child.Finish(); });
  size_t let_go = 1;  // the first one, which waits for the others
  do {
    ASSERT_TRUE(threads.Read(true, seen.Visit()).ok());
    for (; let_go < seen.threads.size(); ++let_go) ASSERT_EQ(write(in.get(), "x", 1), 1);
    std::this_thread::sleep_for(milliseconds(2));
  } while (!threads.HaveAllEnded());
  finish.join();
  ASSERT_TRUE(threads.End(seen.Visit()).ok());
  whole->Read();
  EXPECT_EQ(seen.Sum(), whole->Counts()[0].value) << "with what no thread that was seen has counted";
  for (const auto& [tid, thread] : seen.threads) EXPECT_TRUE(thread.HasEnded());
  EXPECT_EQ(seen.threads[0].ran_on, -1);
  seen.threads.erase(0);  // what they counted before they were seen
  EXPECT_EQ(seen.threads.size(), 4u);
  EXPECT_EQ(seen.threads[child.pid()].pid, child.pid());
  for (const auto& [tid, thread] : seen.threads)
    EXPECT_TRUE(CpuSet::Allowed().Contains(thread.ran_on)) << thread.ran_on;
}

/// No more descriptors than are in use, until it is destroyed.
class NoDescriptorLeft {
 public:
  NoDescriptorLeft() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const UniqueFd next(dup(0));  // the lowest one that is free
    const rlimit none{static_cast<rlim_t>(next.get()), before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptorLeft() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST(PolledThreads, AThreadLivesAlsoWhereNoDescriptorIsLeftToLookForIt) {
  auto events = ParseEvents(HostRoot(), {}, "page-faults:u");
  ASSERT_TRUE(events.ok());
  WaitingChild child([] {});
  PolledThreads threads(HostRoot(), KernelPerfOpen(), *events);
  const Status followed = threads.Follow(child.pid(), false);
  if (!followed.ok() && followed.error().code == Errc::kPermission) GTEST_SKIP() << followed.error().message;
  ASSERT_TRUE(followed.ok()) << followed.error().message;
  Seen seen;
  {
    const NoDescriptorLeft none;
    ASSERT_TRUE(ThreadsOf(HostRoot(), child.pid()).empty());
    ASSERT_TRUE(threads.Read(true, seen.Visit()).ok());
  }
  EXPECT_FALSE(threads.HaveAllEnded());
  ASSERT_EQ(seen.threads.size(), 1u);
  EXPECT_FALSE(seen.threads.at(child.pid()).HasEnded());
  child.Finish();
  ASSERT_TRUE(threads.Read(true, seen.Visit()).ok());
  EXPECT_TRUE(seen.threads.at(child.pid()).HasEnded());
}

TEST(PolledThreads, AProcessThatIsNotThereIsAnError) {
  auto events = ParseEvents(HostRoot(), {}, "page-faults");
  ASSERT_TRUE(events.ok());
  PolledThreads threads(HostRoot(), KernelPerfOpen(), *events);
  EXPECT_EQ(threads.Follow(0x7ffffff0, false).error().code, Errc::kNotFound);
}

}  // namespace
}  // namespace attune::counter
