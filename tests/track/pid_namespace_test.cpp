// Threads of another PID namespace: whoever lives must never be taken for dead, since its slot is then given away.

#include "track/pid_namespace.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <future>
#include <thread>
#include <vector>

#include "fake_host.h"

namespace attune::track {
namespace {

using attune::fakes::FakeHost;

constexpr int32_t kDead = 5'000'000;  // greater than any number that the kernel gives

/// A thread that lives as long as this.
class LivingThread {
 public:
  LivingThread()
      : thread_([this] {
          number_.set_value(::gettid());
          end_.get_future().wait();
        }),
        tid_(number_.get_future().get()) {}
  ~LivingThread() {
    end_.set_value();
    thread_.join();
  }
  int32_t Tid() const { return tid_; }

 private:
  std::promise<int32_t> number_;
  std::promise<void> end_;
  std::thread thread_;
  int32_t tid_;
};

/// A host with a PID namespace: process 10 there is this very process, process 1 there is dead.
class PidNamespaceTest : public ::testing::Test {
 protected:
  PidNamespaceTest() {
    host_.MakeFolder("/proc/1");
    PutProcess(::getpid(), 10);
  }

  void PutProcess(int32_t ours, int32_t theirs, const std::string& space = "pid:[7]") {
    host_.Link(fmt::format("/proc/{}/ns/pid", ours), space);
    host_.Write(fmt::format("/proc/{}/status", ours), Status(ours, theirs));
    PutThread(ours, ours, theirs);
  }
  void PutThread(int32_t process, int32_t ours, int32_t theirs) {
    host_.Write(fmt::format("/proc/{}/task/{}/status", process, ours), Status(ours, theirs));
  }
  static std::string Status(int32_t ours, int32_t theirs) {
    return fmt::format("Name:\tx\nNSpid:\t{}\t{}\nNSpgid:\t1\n", ours, theirs);
  }
  static std::string ThreadStatus(int32_t tid) { return fmt::format("/proc/{}/task/{}/status", ::getpid(), tid); }

  FakeHost host_;
  const int32_t pid_ = ::getpid();
};

TEST_F(PidNamespaceTest, TellsWhoLivesAndWhoDoesNot) {
  const LivingThread thread;
  PutThread(pid_, thread.Tid(), 11);
  PutThread(pid_, kDead, 12);
  PidNamespace space(host_.Root(), 10, pid_);
  EXPECT_TRUE(space.IsAlive({10, 10}));
  EXPECT_TRUE(space.IsAlive({10, 11}));
  EXPECT_FALSE(space.IsAlive({10, 12}));
  EXPECT_FALSE(space.IsAlive({10, 13}));
  EXPECT_FALSE(space.IsAlive({20, 20}));
  EXPECT_EQ(space.Ours({10, 11}), (ThreadIds{pid_, thread.Tid()}));
  EXPECT_EQ(space.unknown(), 0u);
}

TEST_F(PidNamespaceTest, NewThreadsLiveBeyondTheLimit) {
  const LivingThread thread;
  for (int32_t i = 0; i < 8; ++i) PutThread(pid_, kDead + i, 100 + i);
  PidNamespace space(host_.Root(), 10, pid_, 4);
  EXPECT_TRUE(space.IsAlive({10, 10}));
  PutThread(pid_, thread.Tid(), 11);
  EXPECT_TRUE(space.IsAlive({10, 11}));
  EXPECT_EQ(space.Ours({10, 11}), (ThreadIds{pid_, thread.Tid()}));
  EXPECT_TRUE(space.IsAlive({10, 10}));
}

TEST_F(PidNamespaceTest, LivingThreadsLiveWhereAllThatAreKeptDoToo) {
  const std::vector<LivingThread> threads(6);
  for (size_t i = 0; i < threads.size(); ++i) PutThread(pid_, threads[i].Tid(), static_cast<int32_t>(100 + i));
  PidNamespace space(host_.Root(), 10, pid_, 2);
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < threads.size(); ++i) {
      const ThreadIds theirs{10, static_cast<int32_t>(100 + i)};
      EXPECT_TRUE(space.IsAlive(theirs)) << i;
      EXPECT_EQ(space.Ours(theirs), (ThreadIds{pid_, threads[i].Tid()})) << i;
    }
  }
}

TEST_F(PidNamespaceTest, ANumberThatComesAgainIsAnotherThreads) {
  PutThread(pid_, kDead, 11);
  PidNamespace space(host_.Root(), 10, pid_);
  EXPECT_EQ(space.Ours({10, 11}), (ThreadIds{pid_, kDead}));
  host_.Remove(fmt::format("/proc/{}/task/{}", pid_, kDead));
  EXPECT_FALSE(space.IsAlive({10, 11}));
  EXPECT_EQ(space.Ours({10, 11}), (ThreadIds{pid_, kDead})) << "its last records come now";
  const LivingThread thread;
  PutThread(pid_, thread.Tid(), 11);
  EXPECT_TRUE(space.IsAlive({10, 11}));
  EXPECT_EQ(space.Ours({10, 11}), (ThreadIds{pid_, thread.Tid()}));
}

TEST_F(PidNamespaceTest, ANumberIsAnotherThreadsOnceThatBegins) {
  const LivingThread first;
  PutThread(pid_, first.Tid(), 11);
  PidNamespace space(host_.Root(), 10, pid_);
  EXPECT_EQ(space.Ours({10, 11}).tid, first.Tid());
  EXPECT_EQ(space.Ours({10, 12}).tid, 12) << "gone";
  space.Begins({10, 11});
  EXPECT_EQ(space.Ours({10, 11}).tid, first.Tid()) << "it was the same";
  // Both numbers have come again: ours too.
  const LivingThread second;
  PutThread(pid_, first.Tid(), 12);
  PutThread(pid_, second.Tid(), 11);
  space.Begins({10, 11});
  space.Begins({10, 12});
  EXPECT_EQ(space.Ours({10, 11}).tid, second.Tid());
  EXPECT_EQ(space.Ours({10, 12}).tid, first.Tid());
}

TEST_F(PidNamespaceTest, AProcessHasANumberThatComesAgain) {
  PutProcess(kDead, 20);
  PidNamespace space(host_.Root(), 20, kDead);
  EXPECT_FALSE(space.IsAlive({20, 20}));
  host_.Remove(fmt::format("/proc/{}", kDead)).Remove(fmt::format("/proc/{}", pid_));
  PutProcess(pid_, 20);
  EXPECT_TRUE(space.IsAlive({20, 20}));
  EXPECT_EQ(space.Ours({20, 20}), (ThreadIds{pid_, pid_}));
}

TEST_F(PidNamespaceTest, LivesWhereProcCannotBeRead) {
  const LivingThread thread;
  PutThread(pid_, thread.Tid(), 11);
  PidNamespace space(host_.Root(), 10, pid_);
  // Reading a folder fails, and not with "no such file".
  host_.Remove(ThreadStatus(thread.Tid())).MakeFolder(ThreadStatus(thread.Tid()));
  EXPECT_TRUE(space.IsAlive({10, 11}));
  host_.Remove(fmt::format("/proc/{}/task", pid_)).Write(fmt::format("/proc/{}/task", pid_), "");
  EXPECT_TRUE(space.IsAlive({10, 12}));
  // hidepid=2: a process that lives is not there.
  host_.Remove(fmt::format("/proc/{}", pid_));
  EXPECT_TRUE(space.IsAlive({10, 13}));
  host_.Remove("/proc/1");
  EXPECT_TRUE(space.IsAlive({20, 20}));
}

TEST_F(PidNamespaceTest, LivesWhereTheNamespaceCannotBeRead) {
  PutProcess(kDead, 20);
  host_.Remove(fmt::format("/proc/{}/ns", kDead)).Write(fmt::format("/proc/{}/ns/pid", kDead), "no link");
  host_.Remove(fmt::format("/proc/{}/ns", pid_));
  PidNamespace space(host_.Root(), 10, pid_);
  EXPECT_TRUE(space.IsAlive({20, 21})) << "the process may be the one";
  EXPECT_FALSE(space.IsAlive({30, 30})) << "no process has that number in any namespace";
  // Once it can be read, all is certain.
  host_.Link(fmt::format("/proc/{}/ns/pid", pid_), "pid:[7]");
  host_.Remove(fmt::format("/proc/{}/ns", kDead)).Link(fmt::format("/proc/{}/ns/pid", kDead), "pid:[8]");
  space.LookAgain();
  EXPECT_FALSE(space.IsAlive({20, 21}));
}

TEST_F(PidNamespaceTest, LivesWhereDescriptorsAreUsedUp) {
  const LivingThread thread;
  PutThread(pid_, thread.Tid(), 11);
  PidNamespace space(host_.Root(), 10, pid_);
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none{0, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const bool thread_lives = space.IsAlive({10, 11});
  const bool process_lives = space.IsAlive({20, 20});
  const ThreadIds stand_in = space.Ours({10, 11});
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_TRUE(thread_lives);
  EXPECT_TRUE(process_lives);
  EXPECT_EQ(stand_in.tid, 11);
  space.LookAgain();
  EXPECT_EQ(space.Ours({10, 11}), (ThreadIds{pid_, thread.Tid()})) << "the failure is not kept";
  EXPECT_FALSE(space.IsAlive({20, 20}));
}

TEST_F(PidNamespaceTest, EndsWithItsFirstProcess) {
  PutProcess(kDead + 1, 1, "pid:[9]");  // of another namespace, perhaps: that cannot be read
  host_.Remove(fmt::format("/proc/{}/ns", kDead + 1)).Write(fmt::format("/proc/{}/ns/pid", kDead + 1), "no link");
  PidNamespace space(host_.Root(), 1, kDead);
  EXPECT_FALSE(space.IsAlive({1, 1}));
  EXPECT_FALSE(space.IsAlive({1, 5}));
}

TEST_F(PidNamespaceTest, CountsThreadsNotRecordsAndLooksForFewInARound) {
  PidNamespace space(host_.Root(), 10, pid_, 8);
  for (int record = 0; record < 3; ++record) {
    for (int32_t tid = 100; tid < 105; ++tid) EXPECT_EQ(space.Ours({10, tid}), (ThreadIds{pid_, tid}));
  }
  EXPECT_EQ(space.unknown(), 5u);
  // Beyond both limits no record costs a listing.
  for (int32_t tid = 1000; tid < 1100; ++tid) {
    for (int record = 0; record < 3; ++record) (void)space.Ours({10, tid});
  }
  const LivingThread thread;
  PutThread(pid_, thread.Tid(), 11);
  EXPECT_EQ(space.Ours({10, 11}), (ThreadIds{pid_, 11}));
  EXPECT_EQ(space.Ours({10, 11}), (ThreadIds{pid_, 11}));
  EXPECT_EQ(space.unknown(), 106u);
  space.LookAgain();
  EXPECT_EQ(space.Ours({10, 11}), (ThreadIds{pid_, thread.Tid()}));
  EXPECT_EQ(space.unknown(), 106u);
}

TEST_F(PidNamespaceTest, ComparesNamespacesNotNumbers) {
  host_.Link("/proc/self/ns/pid", "pid:[6]");
  EXPECT_FALSE(IsInOurPidNamespace(host_.Root(), pid_));
  host_.Remove("/proc/self").Link("/proc/self/ns/pid", "pid:[7]");
  EXPECT_TRUE(IsInOurPidNamespace(host_.Root(), pid_));
  EXPECT_TRUE(IsInOurPidNamespace(host_.Root(), kDead)) << "cannot be read";
}

TEST_F(PidNamespaceTest, SeesThatChildrenGetAnother) {
  EXPECT_FALSE(HasChildrenElsewhere(host_.Root(), pid_)) << "cannot be read";
  host_.Link(fmt::format("/proc/{}/ns/pid_for_children", pid_), "pid:[8]");
  EXPECT_TRUE(HasChildrenElsewhere(host_.Root(), pid_));
  host_.Remove(fmt::format("/proc/{}/ns/pid_for_children", pid_));
  host_.Link(fmt::format("/proc/{}/ns/pid_for_children", pid_), "pid:[7]");
  EXPECT_FALSE(HasChildrenElsewhere(host_.Root(), pid_));
}

}  // namespace
}  // namespace attune::track
