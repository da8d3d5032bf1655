// Heat flows through a plate: threads share the rows and meet at a barrier after each step.
//
// What the markers show: the time each thread computes and waits (regions), the heat that still moves (a counter), and
// a classic: the last thread has all rows that are left over by the division, so the others wait for it at the barrier.
// `--even` divides the rows fairly; compare the two reports.
//
//   attune run -- build/release/examples/example_heat [STEPS [THREADS]] [--even]

#include <attune/probe.h>

#include <algorithm>
#include <barrier>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kSize = 1023;  // rows and columns inside the border

class Plate {
 public:
  Plate() : now_((kSize + 2) * (kSize + 2)), next_(now_) {
    // The upper border is hot.
    std::fill(now_.begin(), now_.begin() + kSize + 2, 100.0);
    next_ = now_;
  }

  /// One step for rows first ... last-1. @return the largest change
  double Step(int first, int last) {
    ATTUNE_REGION("step");
    double change = 0;
    for (int row = first; row < last; ++row) {
      for (int column = 1; column <= kSize; ++column) {
        const size_t at = At(row, column);
        next_[at] = 0.25 * (now_[at - 1] + now_[at + 1] + now_[at - (kSize + 2)] + now_[at + (kSize + 2)]);
        change = std::max(change, std::abs(next_[at] - now_[at]));
      }
    }
    return change;
  }
  void Swap() { now_.swap(next_); }
  double Mean() const { return std::accumulate(now_.begin(), now_.end(), 0.0) / static_cast<double>(now_.size()); }

 private:
  static size_t At(int row, int column) { return static_cast<size_t>(row) * (kSize + 2) + static_cast<size_t>(column); }
  std::vector<double> now_;
  std::vector<double> next_;
};

struct Share {
  int first;
  int last;
};

/// Whole eighths of a fair share, the rest to the last thread; or fair.
Share ShareOf(int thread, int threads, bool even) {
  if (even) return {1 + kSize * thread / threads, 1 + kSize * (thread + 1) / threads};
  const int rows = std::max(1, kSize / threads * 7 / 8);
  return {1 + rows * thread, thread + 1 == threads ? kSize + 1 : 1 + rows * (thread + 1)};
}

void Run(int steps, int threads, bool even) {
  Plate plate;
  std::vector<double> changes(static_cast<size_t>(threads));
  std::barrier barrier(threads, [&]() noexcept {
    plate.Swap();
    // Counters are whole numbers; the name says the unit.
    ATTUNE_COUNTER("largest change, millidegrees",
                   std::lround(1000 * *std::max_element(changes.begin(), changes.end())));
  });
  const auto work = [&](int thread) {
    const attune::Region whole(("thread " + std::to_string(thread)).c_str());
    const Share share = ShareOf(thread, threads, even);
    for (int step = 0; step < steps; ++step) {
      changes[static_cast<size_t>(thread)] = plate.Step(share.first, share.last);
      ATTUNE_REGION("wait for the others");
      barrier.arrive_and_wait();
    }
  };
  std::vector<std::thread> others;
  for (int thread = 1; thread < threads; ++thread) others.emplace_back(work, thread);
  work(0);
  for (std::thread& other : others) other.join();
  ATTUNE_INSTANT("done");
  std::printf("%d steps, %d threads, mean temperature %.6f\n", steps, threads, plate.Mean());
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool even = std::erase(arguments, "--even") > 0;
  const int steps = !arguments.empty() ? std::atoi(arguments[0].c_str()) : 500;
  const int threads = arguments.size() > 1 ? std::atoi(arguments[1].c_str()) : 4;
  if (steps < 1 || threads < 1 || threads > 64) {
    std::fprintf(stderr, "usage: %s [STEPS [THREADS, at most 64]] [--even]\n", argv[0]);
    return 2;
  }
  Run(steps, threads, even);
  return 0;
}
