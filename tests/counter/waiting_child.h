#pragma once
/// Children whose events tests count.

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "base/host_root.h"
#include "base/unique_fd.h"

namespace attune::counter {

/// A child that waits until it is let go, then does this.
class WaitingChild {
 public:
  explicit WaitingChild(const std::function<void()>& work) {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    pid_ = fork();
    if (pid_ == 0) {
      close(ends[1]);
      char byte = 0;
      (void)!read(ends[0], &byte, 1);
      work();
      _exit(0);
    }
    close(ends[0]);
    go_ = UniqueFd(ends[1]);
    AwaitSleep();
  }
  pid_t pid() const { return pid_; }
  rusage Finish() {
    go_.reset();
    rusage usage{};
    EXPECT_EQ(wait4(pid_, nullptr, 0, &usage), pid_);
    return usage;
  }

 private:
  /// Until it waits: what it does before is of no count.
  void AwaitSleep() const {
    const std::string file = "/proc/" + std::to_string(pid_) + "/stat";
    while (true) {
      const std::string stat = HostRoot().ReadFile(file).value_or("");
      const size_t end = stat.rfind(") ");
      if (end == std::string::npos || stat[end + 2] == 'S') return;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  pid_t pid_ = -1;
  UniqueFd go_;
};

inline void TouchPages() {
  constexpr size_t kPages = 1000;
  const auto page = static_cast<size_t>(getpagesize());
  void* mapped = mmap(nullptr, kPages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(mapped, kPages * page, MADV_NOHUGEPAGE);  // where these are made unasked, one fault brings 512 pages
  auto* memory = static_cast<volatile char*>(mapped);
  for (size_t i = 0; i < kPages; ++i) memory[i * page] = 1;
}

}  // namespace attune::counter
