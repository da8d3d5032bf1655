#include "base/thread_safety.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace attune {
namespace {

struct Shared {
  Mutex mutex;
  CondVar news;
  int value ATTUNE_GUARDED_BY(mutex) = 0;
};

void Set(Shared& shared, int value) {
  {
    const MutexLock lock(shared.mutex);
    shared.value = value;
  }
  shared.news.NotifyAll();
}

TEST(ThreadSafety, OthersTakeAMutexThatIsGivenUpInBetween) {
  Shared shared;
  MutexLock lock(shared.mutex);
  shared.value = 1;
  lock.Unlock();
  std::thread([&] { Set(shared, 2); }).join();
  lock.Lock();
  EXPECT_EQ(shared.value, 2);
}

TEST(ThreadSafety, WaitsReturnWhenThePredicateHolds) {
  Shared shared;
  const auto is_odd = [&]() ATTUNE_REQUIRES(shared.mutex) { return shared.value % 2 == 1; };
  std::thread setter([&] {
    for (int value = 1; value <= 3; ++value) Set(shared, value);
  });
  {
    MutexLock lock(shared.mutex);
    shared.news.Wait(lock, is_odd);
    EXPECT_TRUE(shared.news.WaitFor(lock, std::chrono::hours(1), is_odd));
    EXPECT_TRUE(shared.news.WaitUntil(lock, std::chrono::steady_clock::now() + std::chrono::hours(1), is_odd));
  }
  setter.join();
}

TEST(ThreadSafety, WaitsEndWithTheirTime) {
  Shared shared;
  MutexLock lock(shared.mutex);
  const auto is_set = [&]() ATTUNE_REQUIRES(shared.mutex) { return shared.value != 0; };
  EXPECT_FALSE(shared.news.WaitFor(lock, std::chrono::milliseconds(1), is_set));
  EXPECT_FALSE(shared.news.WaitUntil(lock, std::chrono::steady_clock::now(), is_set));
  shared.news.WaitFor(lock, std::chrono::milliseconds(1));
  shared.news.WaitUntil(lock, std::chrono::steady_clock::now());
  EXPECT_EQ(shared.value, 0);
}

}  // namespace
}  // namespace attune
