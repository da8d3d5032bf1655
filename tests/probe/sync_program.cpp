// What C++20 has to wait for, each by a thread that is known to sleep before it gets it.

#include <unistd.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <latch>
#include <mutex>
#include <semaphore>
#include <string>
#include <thread>

namespace {

bool Sleeps(pid_t tid) {
  std::ifstream file("/proc/self/task/" + std::to_string(tid) + "/stat");
  std::string text;
  if (!std::getline(file, text)) std::exit(4);
  return text.substr(text.rfind(')') + 2, 1) == "S";
}

/// Lets a thread wait, and gives it what it waits for when it sleeps.
void Wait(const char* name, const std::function<void()>& wait, const std::function<void()>& give) {
  std::atomic<pid_t> tid{0};
  std::thread thread([&] {
    tid = ::gettid();
    wait();
  });
  while (tid == 0 || !Sleeps(tid)) std::this_thread::yield();
  give();
  thread.join();
  std::puts(name);
}

}  // namespace

int main() {
  std::atomic<int> value{0};
  Wait(
      "atomic", [&] { value.wait(0); },
      [&] {
        value = 1;
        value.notify_one();
      });
  std::barrier<> barrier(2);
  Wait("barrier", [&] { barrier.arrive_and_wait(); }, [&] { (void)barrier.arrive(); });
  std::latch latch(1);
  Wait("latch", [&] { latch.wait(); }, [&] { latch.count_down(); });
  std::counting_semaphore<> semaphore(0);
  Wait("semaphore", [&] { semaphore.acquire(); }, [&] { semaphore.release(); });
  std::printf("in time: %d\n", semaphore.try_acquire_for(std::chrono::milliseconds(1)));
  return 0;
}
