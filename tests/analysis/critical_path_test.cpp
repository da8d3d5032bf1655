// Critical path and what-ifs of programs whose waits were written down here.

#include "analysis/waits/critical_path.h"

#include <gmock/gmock.h>

#include "fake_source.h"

namespace attune::analysis::critical_path_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using wire::EventKind;
using wire::SyncKind;

/// A process of some threads that live from 0 to 1000, its first one `Main()`.
class Program : public FakeSource {
 public:
  explicit Program(int threads) {
    extent = {0, 1'000'000};
    process_ = AddElement(model::ElementKind::kProcess, "solver", 0, 100);
    meta.processes.push_back({.id = process_, .pid = 100, .start_ns = 0, .end_ns = 1000});
    for (int i = 0; i < threads; ++i) {
      threads_.push_back(AddElement(model::ElementKind::kThread, "", process_, 100 + i));
      lives_.push_back({threads_.back(), process_, 0, 1000});
    }
  }
  void Lives(int thread, int64_t start_ns, int64_t end_ns) {
    lives_[static_cast<size_t>(thread)].start_ns = start_ns;
    lives_[static_cast<size_t>(thread)].end_ns = end_ns;
  }
  void Waits(int thread, SyncKind kind, int64_t object, int64_t start_ns, int64_t end_ns) {
    events.push_back({end_ns, Id(thread), EventKind::kWait, object, end_ns - start_ns, 99, static_cast<int64_t>(kind)});
  }
  void HandsOver(int thread, int64_t object, int64_t t_ns) {
    events.push_back({t_ns, Id(thread), EventKind::kHandOver, object, 0, 98, static_cast<int64_t>(SyncKind::kMutex)});
  }
  int64_t Id(int thread) const { return threads_[static_cast<size_t>(thread)]; }

  WaitGraphBuilder Builder(size_t waits = 0) const { return WaitGraphBuilder(lives_, waits); }
  WaitGraph Graph() {
    WaitGraphBuilder builder = Builder();
    EXPECT_TRUE(ReadEvents({INT64_MIN, INT64_MAX}, [&](const model::EventBlock& block) {
                  builder.AddEvents(block);
                  return true;
                }).ok());
    return builder.Finish();
  }
  std::vector<std::pair<int64_t, int64_t>> Path() {
    std::vector<std::pair<int64_t, int64_t>> threads;
    for (const PathThread& thread : FindCriticalPath(Graph()).threads) threads.emplace_back(thread.thread, thread.ns);
    return threads;
  }

 private:
  model::ElementId process_ = 0;
  std::vector<model::ElementId> threads_;
  std::vector<ThreadLife> lives_;
};

constexpr int64_t kLock = 50, kBarrier = 51, kJoined = 52;

TEST(CriticalPath, GoesToWhoReleasedTheLock) {
  Program program(2);
  program.Lives(1, 0, 900);
  // 1 has it until 600; 0 goes on at 610, to the end.
  program.HandsOver(1, kLock, 600);
  program.Waits(0, SyncKind::kMutex, kLock, 200, 610);
  EXPECT_THAT(program.Path(), ElementsAre(std::pair(program.Id(1), 600), std::pair(program.Id(0), 390)));
  const CriticalPath path = FindCriticalPath(program.Graph());
  EXPECT_EQ(path.handing_over_ns, 10);
  EXPECT_EQ(path.unknown_ns, 0);
  ASSERT_EQ(path.objects.size(), 1u);
  EXPECT_EQ(path.objects[0].object, kLock);
  EXPECT_EQ(path.objects[0].times, 1);
}

TEST(CriticalPath, OfAProgramThatRunsBeginsWithTheThreadThatWentOnLast) {
  Program program(3);
  program.HandsOver(2, kLock, 600);
  program.Waits(1, SyncKind::kMutex, kLock, 200, 610);
  program.Waits(2, SyncKind::kMutex, kLock, 100, 300);  // nobody knows for whom
  EXPECT_THAT(program.Path(), ElementsAre(std::pair(program.Id(2), 400), std::pair(program.Id(1), 390)));
}

TEST(CriticalPath, GoesToWhoCameLastToTheBarrier) {
  Program program(3);
  // Two rounds; 1 is the last to come, then 2. In between, 0 comes for the second one while 1 has not gone on yet.
  program.Waits(0, SyncKind::kBarrier, kBarrier, 100, 410);
  program.Waits(1, SyncKind::kBarrier, kBarrier, 400, 430);
  program.Waits(2, SyncKind::kBarrier, kBarrier, 200, 411);
  program.Waits(0, SyncKind::kBarrier, kBarrier, 420, 805);
  program.Waits(1, SyncKind::kBarrier, kBarrier, 500, 806);
  program.Waits(2, SyncKind::kBarrier, kBarrier, 800, 801);
  for (int i = 1; i < 3; ++i) program.Lives(i, 0, 990);
  // 0 from 805 to the end; 2 from 411 to 800; 1 from 0 to 400.
  EXPECT_THAT(program.Path(),
              ElementsAre(std::pair(program.Id(1), 400), std::pair(program.Id(2), 389), std::pair(program.Id(0), 195)));
}

TEST(CriticalPath, GoesToTheThreadThatIsJoined) {
  Program program(2);
  program.Lives(1, 100, 700);
  program.Waits(0, SyncKind::kJoin, kJoined, 150, 705);
  EXPECT_THAT(program.Path(), ElementsAre(std::pair(program.Id(1), 600), std::pair(program.Id(0), 395)));
}

TEST(CriticalPath, SaysWhatIsNotKnown) {
  Program program(2);
  program.Waits(0, SyncKind::kMutex, kLock, 200, 500);
  program.Lives(1, 0, 900);
  const CriticalPath path = FindCriticalPath(program.Graph());
  EXPECT_EQ(path.unknown_ns, 300);
  EXPECT_THAT(program.Path(), ElementsAre(std::pair(program.Id(0), 700)));
}

TEST(CriticalPath, HoldsWhereThreadsReleaseEachOtherAtOnce) {
  Program program(2);
  program.HandsOver(0, kLock, 500);
  program.HandsOver(1, kLock, 500);
  program.Waits(0, SyncKind::kMutex, kLock, 400, 500);
  program.Waits(1, SyncKind::kMutex, kLock, 400, 500);
  const CriticalPath path = FindCriticalPath(program.Graph());
  int64_t sum = path.unknown_ns + path.handing_over_ns;
  for (const PathThread& thread : path.threads) sum += thread.ns;
  EXPECT_LE(sum, path.length_ns);
}

TEST(WhatIf, ALockThatDelaysTheEndIsSaved) {
  Program program(2);
  program.Lives(1, 0, 900);
  program.HandsOver(1, kLock, 600);
  program.Waits(0, SyncKind::kMutex, kLock, 200, 610);
  // 0 ends 410 earlier, at 590; then 1 is the last, at 900.
  EXPECT_EQ(SavedWithout(program.Graph(), kLock), 100);
}

TEST(WhatIf, OthersWhoWaitForTheSavedThreadAreEarlierToo) {
  Program program(2);
  program.Lives(1, 0, 1000);
  program.HandsOver(1, kLock, 300);
  program.Waits(0, SyncKind::kMutex, kLock, 100, 300);
  program.Waits(0, SyncKind::kBarrier, kBarrier, 700, 700);
  program.Waits(1, SyncKind::kBarrier, kBarrier, 400, 700);
  // 0 comes to the barrier at 500 then, 1 as ever at 400: both go on 200 earlier.
  EXPECT_EQ(SavedWithout(program.Graph(), kLock), 200);
}

TEST(WhatIf, TheNextLateOneBoundsWhatIsSavedAtABarrier) {
  Program program(2);
  program.HandsOver(1, kLock, 300);
  program.Waits(0, SyncKind::kMutex, kLock, 100, 300);
  program.Waits(0, SyncKind::kBarrier, kBarrier, 700, 700);
  program.Waits(1, SyncKind::kBarrier, kBarrier, 650, 700);
  EXPECT_EQ(SavedWithout(program.Graph(), kLock), 50);
}

TEST(WhatIf, NothingIsSavedOffTheCriticalPath) {
  Program program(2);
  program.Lives(1, 0, 700);
  program.HandsOver(0, kLock, 200);
  program.Waits(1, SyncKind::kMutex, kLock, 100, 200);
  EXPECT_EQ(SavedWithout(program.Graph(), kLock), 0);
}

TEST(WaitGraph, OfTooManyWaitsThereIsNone) {
  constexpr size_t kRows = 4096;
  Program program(2);
  WaitGraphBuilder builder = program.Builder(kMaxGraphWaits * 2);
  const auto all = [](int64_t value) { return std::vector<int64_t>(kRows, value); };
  const auto t_ns = all(500), thread = all(program.Id(1)), kind = all(static_cast<int64_t>(EventKind::kWait)),
             object = all(kLock), site = all(99), a = all(10), b = all(static_cast<int64_t>(SyncKind::kMutex));
  for (size_t i = 0; i <= kMaxGraphWaits / kRows; ++i) builder.AddEvents({t_ns, thread, kind, object, site, a, b});
  EXPECT_THAT(builder.Finish().waits, IsEmpty());
}

TEST(WaitGraph, IsEmptyForOneThread) {
  Program program(1);
  program.Waits(0, SyncKind::kMutex, kLock, 100, 200);
  EXPECT_THAT(program.Graph().waits, IsEmpty());
}

}  // namespace
}  // namespace attune::analysis::critical_path_test
