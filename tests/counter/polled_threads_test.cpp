// Threads of real processes, by events of perf of their own.

#include "counter/polled_threads.h"

#include <gmock/gmock.h>

#include <chrono>
#include <map>
#include <thread>

#include "waiting_child.h"

namespace attune::counter {
namespace {

using std::chrono::milliseconds;

/// Two threads one after the other, and a child that goes on for a while, each of which touches pages.
void Work() {
  for (int i = 0; i < 2; ++i) {
    std::thread([] {
      TouchPages();
      std::this_thread::sleep_for(milliseconds(200));
    }).join();
  }
  if (fork() == 0) {
    TouchPages();
    std::this_thread::sleep_for(milliseconds(200));
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
  do {
    ASSERT_TRUE(threads.Read(false, seen.Visit()).ok());
    std::this_thread::sleep_for(milliseconds(2));
  } while (!threads.HaveAllEnded());
  finish.join();
  ASSERT_TRUE(threads.End(seen.Visit()).ok());
  whole->Read();
  EXPECT_EQ(seen.Sum(), whole->Counts()[0].value) << "with what no thread that was seen has counted";
  EXPECT_GE(seen.threads.size(), 4u);
  for (const auto& [tid, thread] : seen.threads) EXPECT_TRUE(thread.HasEnded());
  EXPECT_EQ(seen.threads[child.pid()].pid, child.pid());
}

TEST(PolledThreads, AProcessThatIsNotThereIsAnError) {
  auto events = ParseEvents(HostRoot(), {}, "page-faults");
  ASSERT_TRUE(events.ok());
  PolledThreads threads(HostRoot(), KernelPerfOpen(), *events);
  EXPECT_EQ(threads.Follow(0x7ffffff0, false).error().code, Errc::kNotFound);
}

}  // namespace
}  // namespace attune::counter
